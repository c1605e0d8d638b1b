"""Schemas of the bodies of create and edit (interface sections 2.1 and 4.3)."""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from bot.service.requests import request
from bot.service.wire import field_types

T = TypeVar("T")

ON_CHAIN = "onChain"
"""HandCash Cloud's name of a payment in the instrument currency, its default."""


def _distinct(values: list[T]) -> list[T]:
    if len(set(values)) < len(values):
        raise ValueError("names one twice")
    return values


def _event(value: Any) -> Any:
    if value not in [*request.WebhookEvent]:
        raise ValueError(f"must be one of {', '.join(request.WebhookEvent)}")
    return request.WebhookEvent(value)


Events: TypeAlias = Annotated[
    list[
        Annotated[
            request.WebhookEvent,
            BeforeValidator(_event),
            WithJsonSchema({"type": "string", "enum": [*request.WebhookEvent]}),
        ]
    ],
    AfterValidator(_distinct),
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
]


def _method(value: Any) -> Any:
    if value != ON_CHAIN:
        named = str(value)[: field_types.MAX_NAME]
        raise ValueError(f"must be {ON_CHAIN}: {named!r} is no payment method of this service")
    return value


class Body(BaseModel):
    """JSON from an application: no value is converted, no unknown field ignored."""

    model_config = ConfigDict(
        defer_build=True,
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=False,
    )


class ProductBody(Body):
    """The product that is paid for."""

    name: field_types.Name
    description: field_types.Text | None = None
    long_description: field_types.Text | None = None
    image_url: field_types.PictureUrl | None = None


class ReceiverBody(Body):
    """A receiver and its share, in the denomination currency if one is given."""

    send_amount: field_types.Amount
    destination: field_types.Destination
    tags: Annotated[list[field_types.Tag], Field(max_length=field_types.MAX_TAGS)] | None = None


class WebhookBody(Body):
    """Where payments are reported; with `events`, how they were paid too.

    `checkout.claimed`: a payer says that the money was sent, and the seller has to confirm it.
    """

    webhook_url: field_types.WebhookUrl
    custom_parameters: field_types.Parameters | None = None
    events: Events | None = None


class AmountChoiceBody(Body):
    """Amounts that a payer may choose, in the currency of the receivers' shares.

    At least one of `minimum` and `suggested` is needed; without a minimum the smallest suggestion
    is the minimum. The receivers' shares add up to the first suggestion, or to the minimum without
    one.
    """

    minimum: field_types.Amount | None = None
    suggested: (
        Annotated[
            list[field_types.Amount],
            AfterValidator(_distinct),
            Field(max_length=request.SUGGESTIONS, json_schema_extra={"uniqueItems": True}),
        ]
        | None
    ) = None
    maximum: field_types.Amount | None = None


def _given(field: str) -> JsonDict:
    return {"required": [field], "properties": {field: {"not": {"type": "null"}}}}


def _absent(field: str) -> JsonDict:
    return {"properties": {field: {"type": "null"}}}


def _one(*fields: str) -> JsonDict:
    """Return the schema of an object that has exactly one of these fields."""
    return {
        "oneOf": [
            {"allOf": [_given(one), *(_absent(other) for other in fields if other != one)]}
            for one in fields
        ]
    }


class DeliveryBody(Body):
    """What a payer gets on the receipt: exactly one of these.

    A text, an uploaded file, or a code for each unit that is sold: the codes are listed here, or in
    an uploaded text file (UTF-8) with one code a line.
    """

    model_config = ConfigDict(
        json_schema_extra={
            **_one("text", "fileId", "codes", "codesFileId"),
            "examples": [{"text": "https://example.org/album"}, {"codes": ["AAAA-1", "AAAA-2"]}],
        }
    )

    text: field_types.DeliveredText | None = None
    file_id: field_types.FileId | None = None
    codes: field_types.Codes | None = None
    codes_file_id: field_types.FileId | None = None


class CodesBody(Body):
    """Codes to add; those that the request has already are not added again."""

    codes: field_types.Codes


class NotificationsBody(Body):
    """Who gets reports of payments."""

    webhook: WebhookBody | None = None
    email: field_types.Email | None = None


class SellerBody(Body):
    """Who sells, as the pay page, the receipt and letters show it.

    `contact`: an `@username` of Telegram with its sign, an email address, or a link of the web.
    `description`: a line about them.
    """

    name: field_types.Name
    image_url: field_types.PictureUrl | None = None
    contact: field_types.Contact | None = None
    accent_color: field_types.AccentColor | None = None
    description: field_types.About | None = None


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
    instrument_currency_code: field_types.Currency | None = None
    denomination_currency_code: field_types.Currency | None = None
    currency_code: field_types.Currency | None = None
    denominated_in: field_types.Currency | None = None
    currency: field_types.Currency | None = None
    receivers: Annotated[
        list[ReceiverBody],
        Field(
            min_length=1,
            max_length=field_types.MAX_RECEIVERS,
            examples=[[{"sendAmount": 2.5, "destination": "alice"}]],
        ),
    ]
    price_before_discount: Annotated[field_types.Amount | None, Field(examples=[7.5])] = None
    requested_user_data: (
        Annotated[
            list[request.PayerField],
            AfterValidator(_distinct),
            Field(json_schema_extra={"uniqueItems": True}),
        ]
        | None
    ) = None
    payment_methods: (
        Annotated[
            list[Annotated[Literal["onChain"], BeforeValidator(_method)]],
            Field(min_length=1),
        ]
        | None
    ) = None
    redirect_url: field_types.RedirectUrl | None = None
    notifications: NotificationsBody | None = None
    seller: SellerBody | None = None
    expiration_type: Literal["limit", "never", "onPaymentCompleted"]
    total_units: field_types.Units | None = None
    amount_choice: AmountChoiceBody | None = None
    goal: field_types.Amount | None = None
    max_quantity: field_types.Quantity | None = None
    thanks: field_types.Text | None = None
    keep_url: field_types.KeepUrl | None = None
    delivery: DeliveryBody | None = None
    expiration_in_seconds: field_types.Seconds | None = None
    expires_at: field_types.Moment | None = None
    enabled_at: field_types.Moment | None = None


class ProductEdit(Body):
    """The fields of the product to change."""

    name: field_types.Name = ""
    description: field_types.Text | None = None
    long_description: field_types.Text | None = None
    image_url: field_types.PictureUrl | None = None


class WebhookEdit(Body):
    """The fields of the webhook to change."""

    webhook_url: field_types.WebhookUrl = ""
    custom_parameters: field_types.Parameters | None = None
    events: Events | None = None


class NotificationsEdit(Body):
    """The fields of the notifications to change."""

    webhook: WebhookEdit | None = None
    email: field_types.Email | None = None


class SellerEditBody(Body):
    """The fields of the seller to change; the name is needed where there is no seller yet."""

    name: field_types.Name = ""
    image_url: field_types.PictureUrl | None = None
    contact: field_types.Contact | None = None
    accent_color: field_types.AccentColor | None = None
    description: field_types.About | None = None


class EditBody(Body):
    """The fields to change: a field left out stays, null clears an optional one."""

    model_config = ConfigDict(
        json_schema_extra={
            **_ONE_END,
            "examples": [{"product": {"name": "Two packs"}, "decreaseRemainingUnits": 5}],
        }
    )

    product: ProductEdit = ProductEdit()
    price_before_discount: Annotated[field_types.Amount | None, Field(examples=[7.5])] = None
    redirect_url: field_types.RedirectUrl | None = None
    notifications: NotificationsEdit | None = None
    seller: SellerEditBody | None = None
    expiration_in_seconds: field_types.Seconds | None = None
    expires_at: field_types.Moment | None = None
    goal: field_types.Amount | None = None
    max_quantity: field_types.Quantity | None = None
    thanks: field_types.Text | None = None
    keep_url: field_types.KeepUrl | None = None
    delivery: DeliveryBody | None = None
    decrease_remaining_units: Annotated[field_types.Whole, Field(examples=[5])] = 1
