"""Schemas of the service's answers, for the OpenAPI document.

Where the interface and HandCash Cloud name a field differently, an answer has both names.
Amounts are Decimals that `exact_json` writes as numbers.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from bot.core import brand
from bot.service.goods import contents
from bot.service.notifications import notification
from bot.service.payouts import payout_account
from bot.service.requests import request

Number: TypeAlias = Annotated[Decimal, WithJsonSchema({"type": "number"})]
Time: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Event: TypeAlias = Annotated[
    str, Field(json_schema_extra={"enum": ["payment", "checkout.claimed"]})
]
Id: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{24}$")]
DeliveryId: TypeAlias = Annotated[str, Field(pattern="^(webhook|email)-[0-9a-f]{28}$")]


def _never_null(schema: dict[str, Any]) -> None:
    """Remove null from a schema: fields without a value are left out of answers."""
    for field in schema["properties"].values():
        field.pop("default", None)
        kinds = [kind for kind in field.pop("anyOf", ()) if kind != {"type": "null"}]
        field.update(*kinds)


class AnswerModel(BaseModel):
    """JSON that the service writes; fields without a value are left out."""

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        json_schema_extra=_never_null,
    )


class ProductAnswer(AnswerModel):
    """The product that is paid for."""

    name: str
    description: str | None = None
    long_description: str | None = None
    image_url: str | None = None


class SellerAnswer(AnswerModel):
    """Who sells: `accentColor` is the colour of their pages."""

    name: str
    image_url: str | None = None
    contact: str | None = None
    accent_color: Annotated[str, Field(json_schema_extra={"enum": [*brand.COLOURS]})] | None = None
    description: str | None = None


class ReceiverAnswer(AnswerModel):
    """A receiver and its share, in `currencyCode`."""

    send_amount: Number
    currency_code: str
    destination: str
    tags: list[str] | None = None


class WebhookAnswer(AnswerModel):
    """Where payments are reported."""

    webhook_url: str
    custom_parameters: dict[str, Any] | None = None
    events: list[Event] | None = None


class NotificationsAnswer(AnswerModel):
    """Who gets reports of payments.

    `emailState`: the address is `unconfirmed` and gets no letters yet, was `confirmed` at
    `emailConfirmedAt`, or has unsubscribed (`ended`); left out if nobody has to confirm it.
    """

    webhook: WebhookAnswer | None = None
    email: str | None = None
    email_state: Literal["unconfirmed", "confirmed", "ended"] | None = None
    email_confirmed_at: Time | None = None


class PaymentAmount(AnswerModel):
    """What a payer pays: `amount` in `denominatedIn`, paid in `currencyCode`."""

    currency_code: str
    amount: Number
    denominated_in: str


class AmountChoiceAnswer(AnswerModel):
    """Amounts that a payer may choose; `paymentAmount` is the first suggestion, or the minimum."""

    minimum: Number
    suggested: list[Number]
    maximum: Number | None = None


class DeliveredFile(AnswerModel):
    """A file that payers get; `size` in bytes."""

    name: str
    media_type: str
    size: int


class CodesAnswer(AnswerModel):
    """Codes of a request: all, those of units that are sold, and sold units that wait for one."""

    total: int
    assigned: int
    waiting: int


class DeliveryAnswerOfRequest(AnswerModel):
    """What payers get, without its content."""

    kind: request.DeliveryKind
    file: DeliveredFile | None = None
    codes: CodesAnswer | None = None


class _PublicFields(AnswerModel):
    id: Id
    payment_request_url: str
    payment_request_qr_code_url: str
    is_enabled: bool
    status: Annotated[str, Field(json_schema_extra={"enum": [*request.Status, request.NO_PAYOUT]})]
    product: ProductAnswer
    payment_amount: PaymentAmount
    price_before_discount: Number | None = None
    requested_user_data: list[request.PayerField]
    redirect_url: str | None = None
    expiration_type: request.Kind
    total_units: int | None = None
    remaining_units: int | None = None
    reserved_units: int | None = None
    payments_count: int
    enabled_at: Time
    amount_choice: AmountChoiceAnswer | None = None
    goal: Number | None = None
    amount_raised: Number | None = None
    max_quantity: int | None = None
    delivers: request.DeliveryKind | None = None


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
    thanks: str | None = None
    keep_url: str | None = None
    delivery: DeliveryAnswerOfRequest | None = None


class RequestAnswer(_Request):
    """Payment request object (interface section 2.2)."""

    expires_at: Time | None = None


class RequestItem(_Request):
    """Item of the list (interface section 2.3): `expiresAt` in Unix seconds there."""

    expires_at: int | None = None


class RequestList(AnswerModel):
    """Requests of the application, newest first."""

    items: list[RequestItem]
    next_cursor: str | None = None


class PaidAnswer(AnswerModel):
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


class PaidByAnswer(AnswerModel):
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


class PaymentAnswer(AnswerModel):
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
    user_data: dict[request.PayerField, str]
    completed_at: Time
    paid: PaidAnswer | None = None
    settlement: Literal["late", "oversold", "underpaid"] | None = None
    checkout_id: Id | None = None
    paid_by: PaidByAnswer | None = None
    quantity: int | None = None
    first_unit: int | None = None
    total_units: int | None = None
    name: str | None = None
    message: str | None = None
    delivery: contents.DeliveryProgress | None = None
    message_hidden: Literal[True] | None = None
    sent_at: Time | None = None
    sent_note: str | None = None
    paid_back_at: Time | None = None
    paid_back_note: str | None = None


class MarkedPaymentAnswer(PaymentAnswer):
    """The payment with its marks; `payerNotified` where its payer gets a letter about them."""

    payer_notified: Literal["email"] | None = None


class PaymentList(AnswerModel):
    """Payments of one request, newest first."""

    items: list[PaymentAnswer]
    next_cursor: str | None = None


class StatsAnswer(AnswerModel):
    """Totals of a request; `totalVolume` is the sum of all payments, oversold ones too.

    `uniqueUsers` counts payers who entered who they are.
    """

    total_payments: int
    total_volume: Number
    currency_code: str
    unique_users: int


class WebhookEvent(AnswerModel):
    """Body of the webhook of a payment; `oversold` if too few units were left for it.

    `amount` is the sum of `quantity` pieces, which is left out where it is one. `name` and
    `message` are the payer's words, left out where there are none, and `codesWaiting` counts the
    units sold whose codes are still to come.

    `underpaid`, `checkoutId` and `paidBy` are for requests that name `events`. A payment that was
    `underpaid` is reported again under its `transactionId` when more of it arrives, and without
    `underpaid` once it is whole or confirmed. The amount is the sum of `quantity` pieces, 1 where
    it is left out; `name` and `message` are the payer's words, for nobody to trust.
    """

    payment_request_id: Id
    transaction_id: Id
    custom_parameters: dict[str, Any]
    user_data: dict[request.PayerField, str]
    amount: Number
    currency_code: str
    remaining_units: int | None = None
    reserved_units: int | None = None
    oversold: Literal[True] | None = None
    completed_at: Time
    underpaid: Literal[True] | None = None
    checkout_id: Id | None = None
    paid_by: PaidByAnswer | None = None
    quantity: Annotated[int, Field(ge=2)] | None = None
    name: str | None = None
    message: str | None = None
    codes_waiting: Annotated[int, Field(ge=1)] | None = None


class ClaimEvent(AnswerModel):
    """Body of the webhook of a claim: its payer says that the money was sent.

    The payer's network has `unprovenClaims` of this request that were not confirmed, this one among
    them; 1 where it is left out. Many of them are likely not to be honest.
    """

    event: Literal["checkout.claimed"]
    checkout_id: Id
    payment_request_id: Id
    kind: str
    amount: Number
    currency_code: str
    reference: str | None = None
    custom_parameters: dict[str, Any]
    claimed_at: Time
    unproven_claims: Annotated[int, Field(ge=2)] | None = None


class DeliveryItem(AnswerModel):
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
    state: notification.NotificationState
    attempts: int
    created_at: Time
    next_at: Time | None = None
    settled_at: Time | None = None
    note: str | None = None


class AttemptAnswer(AnswerModel):
    """One attempt: `status` and the first KiB of `answer`, or the `trouble` without an answer."""

    at: Time
    took_ms: int
    status: int | None = None
    answer: str | None = None
    trouble: str | None = None


class DeliveryAnswer(DeliveryItem):
    """A delivery with every attempt, also those before a retry."""

    log: list[AttemptAnswer]


class DeliveryList(AnswerModel):
    """Deliveries of the application, newest first."""

    items: list[DeliveryItem]
    next_cursor: str | None = None


class FieldProblemAnswer(AnswerModel):
    """A problem of one field; `code` only where it is about the details of a payout account."""

    field: str
    message: str
    code: payout_account.DetailError | None = None


class ErrorAnswer(AnswerModel):
    """An error: `code` for machines, `message` for people."""

    code: str
    message: str
    info: list[FieldProblemAnswer]
