"""What the service answers: shapes for the schema, written from the model.

Where the interface and HandCash Cloud name a thing twice, both names are there.
Amounts are Decimals that `exact_json` writes as numbers.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from bot.service.model.request import Kind, PayerField, Status

Number: TypeAlias = Annotated[Decimal, WithJsonSchema({"type": "number"})]
Time: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Id: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{24}$")]


def _never_null(schema: dict[str, Any]) -> None:
    """Say that what was not given is left out; pydantic takes None for an answer, too."""
    for field in schema["properties"].values():
        field.pop("default", None)
        kinds = [kind for kind in field.pop("anyOf", ()) if kind != {"type": "null"}]
        field.update(*kinds)


class Answer(BaseModel):
    """JSON that we write; fields that were not given are left out."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        json_schema_extra=_never_null,
    )


class ProductAnswer(Answer):
    """What is paid for."""

    name: str
    description: str | None = None
    long_description: str | None = None
    image_url: str | None = None


class ReceiverAnswer(Answer):
    """Who gets how much, in the currency beside it."""

    send_amount: Number
    currency_code: str
    destination: str
    tags: list[str] | None = None


class WebhookAnswer(Answer):
    """Where payments are told."""

    webhook_url: str
    custom_parameters: dict[str, Any] | None = None


class NotificationsAnswer(Answer):
    """Who is told of payments.

    `emailState`: the address awaits its holder's confirmation and gets nothing yet, was confirmed
    at `emailConfirmedAt`, or wants no more; not there where nobody has to confirm it.
    """

    webhook: WebhookAnswer | None = None
    email: str | None = None
    email_state: Literal["unconfirmed", "confirmed", "ended"] | None = None
    email_confirmed_at: Time | None = None


class PaymentAmount(Answer):
    """What a payer pays: `amount` in `denominatedIn`, paid in `currencyCode`."""

    currency_code: str
    amount: Number
    denominated_in: str


class PublicAnswer(Answer):
    """What anybody may see of a request: what its pay page shows."""

    id: Id
    payment_request_url: str
    payment_request_qr_code_url: str
    is_enabled: bool
    status: Status
    product: ProductAnswer
    payment_amount: PaymentAmount
    price_before_discount: Number | None = None
    requested_user_data: list[PayerField]
    redirect_url: str | None = None
    expiration_type: Kind
    total_units: int | None = None
    remaining_units: int | None = None
    reserved_units: int | None = None
    payments_count: int
    enabled_at: Time
    expires_at: Time | None = None


class _Request(Answer):
    id: Id
    payment_request_url: str
    payment_request_qr_code_url: str
    is_enabled: bool
    status: Status
    product: ProductAnswer
    currency_code: str
    payment_amount: PaymentAmount
    price_before_discount: Number | None = None
    receivers: list[ReceiverAnswer]
    notifications: NotificationsAnswer
    custom_parameters: dict[str, Any]
    requested_user_data: list[PayerField]
    redirect_url: str | None = None
    expiration_type: Kind
    total_units: int | None = None
    remaining_units: int | None = None
    reserved_units: int | None = None
    payments_count: int
    enabled_at: Time
    created_at: Time


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


class PaidAnswer(Answer):
    """What the payer gave where it is of another currency than the price.

    `shares` are the receivers' in their order and sum to `amount`; one unit of the price's
    currency bought `rate` units of this one, by the word of `rateSource` at `ratedAt`.
    """

    amount: Number
    currency_code: str
    shares: list[Number]
    rate: Number
    rate_source: str
    rated_at: Time


class PaymentAnswer(Answer):
    """A payment; amounts in `currencyCode`.

    `settlement` says what is out of the ordinary: the money came `late`, after its reservation
    had lapsed, or `oversold`, when no unit was left for it.
    """

    transaction_id: Id
    amount: Number
    currency_code: str
    receivers: list[ReceiverAnswer]
    user_data: dict[PayerField, str]
    completed_at: Time
    paid: PaidAnswer | None = None
    settlement: Literal["late", "oversold"] | None = None


class PaymentList(Answer):
    """Payments of one request, newest first."""

    items: list[PaymentAnswer]
    next_cursor: str | None = None


class StatsAnswer(Answer):
    """What a request brought in; `uniqueUsers` counts payers who said who they are."""

    total_payments: int
    total_volume: Number
    currency_code: str
    unique_users: int


class WebhookEvent(Answer):
    """Body of the webhook of a payment; `oversold` where no unit was left for its money."""

    payment_request_id: Id
    transaction_id: Id
    custom_parameters: dict[str, Any]
    user_data: dict[PayerField, str]
    amount: Number
    currency_code: str
    remaining_units: int | None = None
    reserved_units: int | None = None
    oversold: Literal[True] | None = None
    completed_at: Time


class FieldProblemAnswer(Answer):
    """What is wrong with one field."""

    field: str
    message: str


class ErrorAnswer(Answer):
    """Why it was not done: `code` for machines, `message` for people."""

    code: str
    message: str
    info: list[FieldProblemAnswer]
