"""Schemas of answers about files, codes and receipts, for the OpenAPI document."""

from typing import Annotated, Literal

from pydantic import Field

from bot.service.model.goods.delivered import DeliveryProgress
from bot.service.wire.answer_schemas import (
    Answer,
    CodesAnswer,
    DeliveredFile,
    Id,
    Number,
    ProductAnswer,
    SellerAnswer,
    Time,
)


class FileAnswer(Answer):
    """An uploaded file; deleted after 7 days unless a payment request delivers it."""

    id: Id
    name: str
    media_type: str
    size: int


class AddedCodesAnswer(CodesAnswer):
    """The same after codes were added; `added` of them are new."""

    added: int


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

    state: DeliveryProgress
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
    status: Literal["paid", "oversold", "paidBack"]
    thanks: str | None = None
    sent_at: Time | None = None
    sent_note: str | None = None
    paid_back_at: Time | None = None
    paid_back_note: str | None = None
    receipt_url: Annotated[str, Field(examples=["https://pay.example/pay/…/receipt/…"])]
    delivery: ReceivedAnswer | None = None
