"""Answers of calls.

If the interface and HandCash Cloud name a field differently, an answer has both names.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from bot.core import brand, exact_json
from bot.interface import fields, vocabulary


def _schema(**extra: Any) -> Any:
    return Field(json_schema_extra=extra)


Number: TypeAlias = Annotated[Decimal, WithJsonSchema({"type": "number"})]
Time: TypeAlias = Annotated[str, _schema(format="date-time")]
Id: TypeAlias = Annotated[str, _schema(pattern=fields.ID_PATTERN)]
DeliveryId: TypeAlias = Annotated[str, _schema(pattern=fields.DELIVERY_ID_PATTERN)]
Owner: TypeAlias = Annotated[str, _schema(pattern=fields.OWNER_PATTERN)]
AccentColor: TypeAlias = Annotated[str, _schema(enum=[*brand.COLOURS])]
EmailState: TypeAlias = Annotated[str, _schema(enum=["unconfirmed", "confirmed", "ended"])]
PayoutKind: TypeAlias = Annotated[str, _schema(enum=[*vocabulary.PAYOUT_KINDS])]
Event: TypeAlias = Annotated[str, _schema(enum=[*vocabulary.WebhookEvent])]
Status: TypeAlias = Annotated[str, _schema(enum=[*vocabulary.Status, vocabulary.NO_PAYOUT])]


def _never_null(schema: dict[str, Any]) -> None:
    """Remove null from a schema: fields without a value are left out of answers."""
    for field in schema["properties"].values():
        field.pop("default", None)
        kinds = [kind for kind in field.pop("anyOf", ()) if kind != {"type": "null"}]
        field.update(*kinds)


class Answer(BaseModel):
    """JSON that the service writes; fields without a value are left out.

    Amounts are Decimals, never floats, and are written as numbers with all their digits. A part may
    be any object whose attributes have the names of its fields.
    """

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        frozen=True,
        from_attributes=True,
        alias_generator=to_camel,
        validate_by_name=True,
        json_schema_extra=_never_null,
    )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, for `exact_json`."""
        return self.model_dump(by_alias=True, exclude_none=True)

    def json_text(self) -> str:
        """Return the JSON text."""
        return exact_json.dumps(self.to_json())


# Parts of requests.


class ProductAnswer(Answer):
    """The product that is paid for."""

    name: str
    description: str | None = None
    long_description: str | None = None
    image_url: str | None = None


class SellerAnswer(Answer):
    """Who sells: `accentColor` is the colour of their pages."""

    name: str
    image_url: str | None = None
    contact: str | None = None
    accent_color: AccentColor | None = None
    description: str | None = None


class ReceiverAnswer(Answer):
    """A receiver and its share, in `currencyCode`."""

    send_amount: Number
    currency_code: str
    destination: str
    tags: list[str] | None = None


class WebhookAnswer(Answer):
    """Where payments are reported."""

    webhook_url: str
    custom_parameters: dict[str, Any] | None = None
    events: list[Event] | None = None


class NotificationsAnswer(Answer):
    """Who gets reports of payments.

    `emailState`: the address is `unconfirmed` and gets no letters yet, was `confirmed` at
    `emailConfirmedAt`, or has unsubscribed (`ended`); left out if nobody has to confirm it.
    """

    webhook: WebhookAnswer | None = None
    email: str | None = None
    email_state: EmailState | None = None
    email_confirmed_at: Time | None = None


class PaymentAmount(Answer):
    """What a payer pays: `amount` in `denominatedIn`, paid in `currencyCode`."""

    currency_code: str
    amount: Number
    denominated_in: str


class AmountChoiceAnswer(Answer):
    """Amounts that a payer may choose; `paymentAmount` is the first suggestion, or the minimum."""

    minimum: Number
    suggested: list[Number]
    maximum: Number | None = None


class DeliveredFile(Answer):
    """A file that payers get; `size` in bytes."""

    name: str
    media_type: str
    size: int


class CodesAnswer(Answer):
    """Codes of a request: all, those of units that are sold, and sold units that wait for one."""

    total: int
    assigned: int
    waiting: int


class DeliveryAnswerOfRequest(Answer):
    """What payers get, without its content."""

    kind: vocabulary.DeliveryKind
    file: DeliveredFile | None = None
    codes: CodesAnswer | None = None


# Requests.


class _PublicFields(Answer):
    id: Id
    payment_request_url: str
    payment_request_qr_code_url: str
    is_enabled: bool
    status: Status
    product: ProductAnswer
    payment_amount: PaymentAmount
    price_before_discount: Number | None = None
    requested_user_data: list[vocabulary.PayerField]
    redirect_url: str | None = None
    expiration_type: vocabulary.Kind
    total_units: int | None = None
    remaining_units: int | None = None
    reserved_units: int | None = None
    payments_count: int
    enabled_at: Time
    amount_choice: AmountChoiceAnswer | None = None
    goal: Number | None = None
    amount_raised: Number | None = None
    max_quantity: int | None = None
    delivers: vocabulary.DeliveryKind | None = None


class PublicAnswer(_PublicFields):
    """The public part of a request, which its pay page shows.

    `seller` is the request's own, or else that of its application.
    """

    expires_at: Time | None = None
    seller: SellerAnswer | None = None


class _Request(_PublicFields):
    currency_code: str
    receivers: list[ReceiverAnswer]
    notifications: NotificationsAnswer
    custom_parameters: dict[str, Any]
    created_at: Time
    seller: SellerAnswer | None = None
    shop: dict[str, Any] | None = None
    thanks: str | None = None
    keep_url: str | None = None
    delivery: DeliveryAnswerOfRequest | None = None


class RequestAnswer(_Request):
    """Payment request object (interface section 2.2)."""

    expires_at: Time | None = None


class RequestItem(_Request):
    """Item of the list (interface section 2.3): `expiresAt` in Unix seconds there."""

    expires_at: int | None = None


class RequestList(Answer):
    """Requests of the application, newest first."""

    items: list[RequestItem]
    next_cursor: str | None = None


class StatsAnswer(Answer):
    """Totals of a request; `totalVolume` is the sum of all payments, oversold ones too.

    `uniqueUsers` counts payers who entered who they are.
    """

    total_payments: int
    total_volume: Number
    currency_code: str
    unique_users: int


# Payments.


class PaidAnswer(Answer):
    """What the payer paid, if in another currency than the price.

    `shares` are those of the receivers in their order; their sum is `amount`. One unit of the
    price's currency bought `rate` units of this one, according to `rateSource` at `ratedAt`.
    """

    amount: Number
    currency_code: str
    shares: list[Number]
    rate: Number
    rate_source: str
    rated_at: Time


class PaidByAnswer(Answer):
    """How money came: `amount` in `currencyCode`, the payer's.

    `reference` is that of the bank transfer, or the invoice. The rate is left out if the price is
    in this currency.
    """

    kind: str
    amount: Number
    currency_code: str
    reference: str
    rate: Number | None = None
    rate_source: str | None = None
    rated_at: Time | None = None


class PaymentAnswer(Answer):
    """A payment; amounts in `currencyCode`.

    `settlement` is set for money that came `late`, after its reservation had lapsed, that is
    `oversold`: no unit was left for it, or `underpaid`: it was less than the price and took none.
    `paidBy` is how it came, by the checkout `checkoutId`; test money that came whole and without a
    claim has neither. The amount is the sum of `quantity` pieces, 1 where it is left out; those of
    a drop of `totalUnits` are numbered from `firstUnit`. `name` and `message` are the payer's
    words, and what follows them the seller's marks. `delivery` says whether the payer has
    everything, or waits for a code.
    """

    transaction_id: Id
    amount: Number
    currency_code: str
    receivers: list[ReceiverAnswer]
    user_data: dict[vocabulary.PayerField, str]
    completed_at: Time
    paid: PaidAnswer | None = None
    settlement: vocabulary.Settlement | None = None
    checkout_id: Id | None = None
    paid_by: PaidByAnswer | None = None
    quantity: int | None = None
    first_unit: int | None = None
    total_units: int | None = None
    name: str | None = None
    message: str | None = None
    delivery: vocabulary.DeliveryProgress | None = None
    message_hidden: Literal[True] | None = None
    sent_at: Time | None = None
    sent_note: str | None = None
    paid_back_at: Time | None = None
    paid_back_note: str | None = None


class MarkedPaymentAnswer(PaymentAnswer):
    """The payment with its marks; `payerNotified` where its payer gets a letter about them."""

    payer_notified: Literal["email"] | None = None


class PaymentList(Answer):
    """Payments of one request, newest first."""

    items: list[PaymentAnswer]
    next_cursor: str | None = None


# Receipts, files and codes.


class UnitsAnswer(Answer):
    """The numbers of the units that were bought, of how many in all."""

    first: int
    last: int
    total: int


class ReceivedFile(DeliveredFile):
    """A file to download at `url`."""

    url: str


class ReceivedAnswer(Answer):
    """What was bought; `waiting` while a code is still to come."""

    state: vocabulary.DeliveryProgress
    text: str | None = None
    file: ReceivedFile | None = None
    codes: list[str] | None = None


class ReceiptAnswer(Answer):
    """A payer's receipt; the amount is the sum of `quantity` pieces, in `currencyCode`."""

    product: ProductAnswer
    seller: SellerAnswer | None = None
    amount: Number
    currency_code: str
    quantity: int
    units: UnitsAnswer | None = None
    completed_at: Time
    status: vocabulary.ReceiptStatus
    thanks: str | None = None
    sent_at: Time | None = None
    sent_note: str | None = None
    paid_back_at: Time | None = None
    paid_back_note: str | None = None
    receipt_url: Annotated[str, Field(examples=["https://pay.example/pay/…/receipt/…"])]
    delivery: ReceivedAnswer | None = None


class FileAnswer(Answer):
    """An uploaded file; deleted after 7 days unless a payment request delivers it."""

    id: Id
    name: str
    media_type: str
    size: int


class AddedCodesAnswer(CodesAnswer):
    """The same after codes were added; `added` of them are new."""

    added: int


# Payout accounts and checkouts.


class PayoutAnswer(Answer):
    """An owner's account; its secrets are never shown.

    `automatic`: payments are reported by themselves; otherwise the seller confirms each. `label`
    names it to people. `currency` is that of its money, the first of `currencies`. After a dry run
    there is neither an `id` nor a time.
    """

    id: Id | None = None
    owner: Owner
    kind: PayoutKind
    scheme: str | None = None
    automatic: bool
    currency: str
    currencies: list[str]
    label: str
    created_at: Time | None = None


class PayoutList(Answer):
    """The owner's accounts; payers are offered the first way first."""

    items: list[PayoutAnswer]


class PayWithAnswer(Answer):
    """What the payer pays with: an invoice, or the text of a bank code's picture."""

    lightning_invoice: str | None = None
    qr_text: str | None = None


class CheckoutAnswer(Answer):
    """An attempt to pay; `amount` in `currencyCode`, the payer's.

    `opening`: the wallet is asked for an invoice, and `payWith` is null until then. `claimed`: its
    payer says that the money was sent, under `reference`; the seller confirms or rejects it. It
    ends at `expiresAt`, and may hold no unit until then.
    """

    id: Id
    payment_request_id: Id
    kind: str
    state: vocabulary.CheckoutState
    amount: Number
    currency_code: str
    expires_at: Time
    reference: str | None = None
    pay_with: Annotated[
        PayWithAnswer | None,
        WithJsonSchema(
            {"oneOf": [{"$ref": "#/components/schemas/PayWithAnswer"}, {"type": "null"}]}
        ),
    ]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; `payWith` is the only field of an answer that may be null."""
        written = super().to_json()
        return written | {"payWith": written.get("payWith")}


# Deliveries of webhooks and letters.


class DeliveryItem(Answer):
    """A report of a payment, or of the claim of a checkout.

    `attempts` counts from the first, or from the last retry.

    `nextAt` is set while it waits, `settledAt` afterwards.
    """

    id: DeliveryId
    payment_request_id: Id
    transaction_id: Id | None = None
    checkout_id: Id | None = None
    channel: Literal["webhook", "email"]
    address: str
    state: vocabulary.NotificationState
    attempts: int
    created_at: Time
    next_at: Time | None = None
    settled_at: Time | None = None
    note: str | None = None


class AttemptAnswer(Answer):
    """One attempt: `status` and the first KiB of `answer`, or the `trouble` without an answer."""

    at: Time
    took_ms: int
    status: int | None = None
    answer: str | None = None
    trouble: str | None = None


class DeliveryAnswer(DeliveryItem):
    """A delivery with every attempt, also those before a retry."""

    log: list[AttemptAnswer]


class DeliveryList(Answer):
    """Deliveries of the application, newest first."""

    items: list[DeliveryItem]
    next_cursor: str | None = None


# Refusals.


class FieldProblemAnswer(Answer):
    """A problem of one field; `code` only where it is about the details of a payout account."""

    field: str
    message: str
    code: vocabulary.DetailError | None = None


class ErrorAnswer(Answer):
    """An error: `code` for machines, `message` for people."""

    code: str
    message: str
    info: list[FieldProblemAnswer]
