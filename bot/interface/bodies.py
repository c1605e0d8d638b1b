"""Bodies of calls: create and edit (interface sections 2.1 and 4.3), marks, codes, payout accounts.

FastAPI reads them with these models and documents them; the service then makes its own types of
them (service/api/from_bodies.py). The bodies of webhooks, which the service writes, are here too.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bot.interface import answers, fields, parts, vocabulary

KIB = 1024


class Body(BaseModel):
    """JSON from an application: no value is converted, no unknown field ignored."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=False,
    )

    most_bytes: ClassVar[int] = 64 * KIB
    """The size of the whole body."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Leave out defaults, since a field that an edit omits keeps its value, and titles."""
        schema = handler(core_schema)
        for field in handler.resolve_ref_schema(schema)["properties"].values():
            field.pop("default", None)
            field.pop("title", None)
        return schema


# Conditions on several fields, in the words of JSON Schema.


def _given(field: str) -> JsonDict:
    return {"required": [field], "properties": {field: {"not": {"type": "null"}}}}


def _absent(field: str) -> JsonDict:
    return {"properties": {field: {"type": "null"}}}


def _one(*names: str) -> JsonDict:
    """Return the schema of an object that has exactly one of these fields."""
    return {
        "oneOf": [
            {"allOf": [_given(name), *(_absent(other) for other in names if other != name)]}
            for name in names
        ]
    }


def _kinds(*kinds: str) -> JsonDict:
    return {"properties": {"expirationType": {"enum": [*kinds]}}}


_A_CURRENCY: JsonDict = {"anyOf": [_given("instrumentCurrencyCode"), _given("currencyCode")]}
_UNITS_OF_A_DROP: JsonDict = {
    "anyOf": [
        {"allOf": [_kinds("limit"), _given("totalUnits")]},
        {"allOf": [_kinds("never", "onPaymentCompleted"), _absent("totalUnits")]},
    ]
}
_GOAL: JsonDict = {"anyOf": [_kinds("never"), _absent("goal")]}
_QUANTITY: JsonDict = {"anyOf": [_kinds("limit"), _absent("maxQuantity")]}
_ONE_PRICE: JsonDict = {"anyOf": [_absent("amountChoice"), _absent("priceBeforeDiscount")]}
_ONE_END: JsonDict = {"anyOf": [_absent("expirationInSeconds"), _absent("expiresAt")]}

# Create.


class ProductBody(Body):
    """The product that is paid for."""

    name: fields.Name
    description: fields.Text | None = None
    long_description: fields.Text | None = None
    image_url: fields.PictureUrl | None = None


class ReceiverBody(Body):
    """A receiver and its share, in the denomination currency if one is given."""

    send_amount: fields.Amount
    destination: fields.Destination
    tags: Annotated[list[fields.Tag], Field(max_length=fields.MAX_TAGS)] | None = None


class WebhookBody(Body):
    """Where payments are reported; with `events`, how they were paid too.

    `checkout.claimed`: a payer says that the money was sent, and the seller has to confirm it.
    """

    webhook_url: fields.WebhookUrl
    custom_parameters: fields.Parameters | None = None
    events: fields.Events | None = None


class AmountChoiceBody(Body):
    """Amounts that a payer may choose, in the currency of the receivers' shares.

    At least one of `minimum` and `suggested` is needed; without a minimum the smallest suggestion
    is the minimum. The receivers' shares add up to the first suggestion, or to the minimum without
    one.
    """

    minimum: fields.Amount | None = None
    suggested: (
        Annotated[
            list[fields.Amount],
            AfterValidator(fields.check_distinct),
            Field(max_length=parts.MAX_SUGGESTIONS, json_schema_extra={"uniqueItems": True}),
        ]
        | None
    ) = None
    maximum: fields.Amount | None = None


class DeliveryBody(Body):
    """What a payer gets on the receipt: exactly one of these.

    A text, an uploaded file, or a code for each unit that is sold: the codes are listed here, or in
    an uploaded text file (UTF-8) with one code a line.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [_one("text", "fileId", "codes", "codesFileId")],
            "examples": [{"text": "https://example.org/album"}, {"codes": ["AAAA-1", "AAAA-2"]}],
        }
    )

    text: fields.DeliveredText | None = None
    file_id: fields.FileId | None = None
    codes: fields.Codes | None = None
    codes_file_id: fields.FileId | None = None


class NotificationsBody(Body):
    """Who gets reports of payments."""

    webhook: WebhookBody | None = None
    email: fields.Email | None = None


class SellerBody(Body):
    """Who sells, as the pay page, the receipt and letters show it.

    `contact`: an `@username` of Telegram with its sign, an email address, or a link of the web.
    `description`: a line about them.
    """

    name: fields.Name
    image_url: fields.PictureUrl | None = None
    contact: fields.Contact | None = None
    accent_color: fields.AccentColor | None = None
    description: fields.About | None = None


class CreateBody(Body):
    """Creation parameters; one spelling of each currency is enough.

    `totalUnits` and `maxQuantity` belong to `limit` alone, `goal` to `never`; `amountChoice` and
    `priceBeforeDiscount` exclude each other, and so do `expirationInSeconds` and `expiresAt`.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [_A_CURRENCY, _UNITS_OF_A_DROP, _GOAL, _QUANTITY, _ONE_PRICE, _ONE_END],
            "examples": [
                {
                    "product": {"name": "Sticker pack", "description": "Ten of them"},
                    "instrumentCurrencyCode": "USD",
                    "receivers": [{"sendAmount": 2.5, "destination": "alice"}],
                    "expirationType": "limit",
                    "totalUnits": 100,
                }
            ],
        }
    )

    product: ProductBody
    instrument_currency_code: fields.Currency | None = None
    denomination_currency_code: fields.Currency | None = None
    currency_code: fields.Currency | None = None
    denominated_in: fields.Currency | None = None
    currency: fields.Currency | None = None
    receivers: Annotated[
        list[ReceiverBody],
        Field(
            min_length=1,
            max_length=fields.MAX_RECEIVERS,
            examples=[[{"sendAmount": 2.5, "destination": "alice"}]],
        ),
    ]
    price_before_discount: Annotated[fields.Amount | None, Field(examples=[7.5])] = None
    requested_user_data: fields.PayerFields | None = None
    payment_methods: Annotated[list[fields.Method], Field(min_length=1)] | None = None
    redirect_url: fields.RedirectUrl | None = None
    notifications: NotificationsBody | None = None
    seller: SellerBody | None = None
    shop: fields.Shop | None = None
    expiration_type: Literal["limit", "never", "onPaymentCompleted"]
    total_units: fields.Units | None = None
    amount_choice: AmountChoiceBody | None = None
    goal: fields.Amount | None = None
    max_quantity: fields.Quantity | None = None
    thanks: fields.Text | None = None
    keep_url: fields.KeepUrl | None = None
    delivery: DeliveryBody | None = None
    expiration_in_seconds: fields.Seconds | None = None
    expires_at: fields.Moment | None = None
    enabled_at: fields.Moment | None = None


# Edit: a field that is left out keeps its value, so the defaults are never read.


class ProductEdit(ProductBody):
    """The fields of the product to change."""

    name: fields.Name = ""


class WebhookEdit(WebhookBody):
    """The fields of the webhook to change."""

    webhook_url: fields.WebhookUrl = ""


class NotificationsEdit(Body):
    """The fields of the notifications to change."""

    webhook: WebhookEdit | None = None
    email: fields.Email | None = None


class SellerEditBody(SellerBody):
    """The fields of the seller to change; the name is needed where there is no seller yet."""

    name: fields.Name = ""


class EditBody(Body):
    """The fields to change: a field left out stays, null clears an optional one."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [_ONE_END],
            "examples": [{"product": {"name": "Two packs"}, "decreaseRemainingUnits": 5}],
        }
    )

    product: ProductEdit = ProductEdit()
    price_before_discount: Annotated[fields.Amount | None, Field(examples=[7.5])] = None
    redirect_url: fields.RedirectUrl | None = None
    notifications: NotificationsEdit | None = None
    seller: SellerEditBody | None = None
    expiration_in_seconds: fields.Seconds | None = None
    expires_at: fields.Moment | None = None
    goal: fields.Amount | None = None
    max_quantity: fields.Quantity | None = None
    thanks: fields.Text | None = None
    keep_url: fields.KeepUrl | None = None
    delivery: DeliveryBody | None = None
    decrease_remaining_units: Annotated[fields.Whole, Field(examples=[5])] = 1


# Codes, marks of payments, payout accounts.


class CodesBody(Body):
    """Codes to add; those that the request has already are not added again."""

    most_bytes: ClassVar[int] = KIB * KIB

    codes: fields.Codes


class MarkBody(Body):
    """A mark to set; `note` is for the payer: a tracking number, or a few words."""

    note: fields.Note | None = None


class MarksBody(Body):
    """The marks to change: one left out stays, null takes it back.

    Without a `note`, the note of a mark that is set already stays. The payer gets an email about
    what is new unless `notifyPayer` is false. `messageHidden` keeps the payer's name and message
    out of emails and exports; both stay stored, and this interface still answers with them.
    """

    sent: MarkBody | None = None
    paid_back: MarkBody | None = None
    message_hidden: bool = False
    notify_payer: bool = True


class PayoutBody(Body):
    """An account to connect; the fields of `details` depend on `kind` and `scheme`.

    `bank`: `scheme` `sepa` (`iban`, `name`, outside the EEA `bic`), `pix` (`key`, `name`, `city`),
    `upi` (`id`, `name`) or `swiss` (`iban`, `name`, `address`). `lightning`: `address`. `lnbits`:
    `url`, `key`, which must be an invoice key. `nwc`: `connection`, which must not be able to pay.
    A `dryRun` checks all of it, asks the wallet, and connects nothing.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "owner": "anna",
                    "kind": "bank",
                    "details": {
                        "scheme": "sepa",
                        "iban": "DE89370400440532013000",
                        "name": "Anna Ott",
                    },
                }
            ]
        }
    )

    owner: fields.Owner
    kind: Annotated[str, Field(json_schema_extra={"enum": [*vocabulary.PAYOUT_KINDS]})]
    details: dict[str, Any]
    dry_run: bool = False


# Webhooks, whose bodies the service writes.


class WebhookEvent(answers.Answer):
    """Body of the webhook of a payment; `oversold` if too few units were left for it.

    `amount` is the sum of `quantity` pieces, which is left out where it is one. `name` and
    `message` are the payer's words, left out where there are none, and `codesWaiting` counts the
    units sold whose codes are still to come.

    `underpaid`, `checkoutId` and `paidBy` are for requests that name `events`. A payment that was
    `underpaid` is reported again under its `transactionId` when more of it arrives, and without
    `underpaid` once it is whole or confirmed. The amount is the sum of `quantity` pieces, 1 where
    it is left out; `name` and `message` are the payer's words, for nobody to trust.
    """

    payment_request_id: answers.Id
    transaction_id: answers.Id
    custom_parameters: dict[str, Any]
    user_data: dict[vocabulary.PayerField, str]
    amount: answers.Number
    currency_code: str
    remaining_units: int | None = None
    reserved_units: int | None = None
    oversold: Literal[True] | None = None
    completed_at: answers.Time
    underpaid: Literal[True] | None = None
    checkout_id: answers.Id | None = None
    paid_by: answers.PaidByAnswer | None = None
    quantity: Annotated[int, Field(ge=2)] | None = None
    name: str | None = None
    message: str | None = None
    codes_waiting: Annotated[int, Field(ge=1)] | None = None


class ClaimEvent(answers.Answer):
    """Body of the webhook of a claim: its payer says that the money was sent.

    The payer's network has `unprovenClaims` of this request that were not confirmed, this one among
    them; 1 where it is left out. Many of them are likely not to be honest.
    """

    event: Literal["checkout.claimed"]
    checkout_id: answers.Id
    payment_request_id: answers.Id
    kind: str
    amount: answers.Number
    currency_code: str
    reference: str | None = None
    custom_parameters: dict[str, Any]
    claimed_at: answers.Time
    unproven_claims: Annotated[int, Field(ge=2)] | None = None
