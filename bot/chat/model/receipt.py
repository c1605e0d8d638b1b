"""A payer's receipt as the service returns it, and the key of a receipt.

The key is a secret, because anyone who has it can see the delivered goods. It is never logged in
full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, get_args

from bot.chat.model import lenient, payment
from bot.core import errors
from bot.core.money import amounts
from bot.interface import answers, vocabulary

PAID, OVERSOLD, PAID_BACK = get_args(vocabulary.ReceiptStatus)
"""The states of a receipt's payment."""

_KEY = re.compile(r"r-([A-Za-z0-9]{1,40})-([A-Za-z0-9]{1,40})")


class ReceiptKey(NamedTuple):
    """The request id and transaction id of a payment."""

    request_id: str
    transaction_id: str


@dataclass(frozen=True, slots=True)
class Units:
    """The first and last number of the units that a payment bought."""

    first: int
    last: int
    total: int | None = None
    """Total units of the drop."""


@dataclass(frozen=True, slots=True)
class DeliveredFile:
    """A file that a payer may download."""

    name: str
    size: int
    """Bytes."""
    url: str


@dataclass(frozen=True, slots=True)
class DeliveredGoods:
    """The goods that a payment buys: a text, a file or codes."""

    waits: bool = False
    """True while some codes are missing."""
    text: str | None = None
    file: DeliveredFile | None = None
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt; times in epoch ms."""

    product: str
    amount: int
    """In minor units."""
    currency: str
    status: str
    """PAID, OVERSOLD or PAID_BACK."""
    url: str
    """URL of the receipt's page."""
    seller: str | None = None
    completed_at: int | None = None
    quantity: int = 1
    units: Units | None = None
    thanks: str | None = None
    marks: payment.PaymentMarks = payment.NO_MARKS
    delivery: DeliveredGoods | None = None
    """None if the request delivers nothing."""

    @property
    def awaited_unit(self) -> int | None:
        """Return the last unit that still waits for its code, or None."""
        if self.delivery is None or not self.delivery.waits:
            return None
        return self.units.last if self.units else 0


def read_key(payload: str) -> ReceiptKey | None:
    """Parse the payload of a receipt's deep link; None for other payloads."""
    found = _KEY.fullmatch(payload)
    return ReceiptKey(found[1], found[2]) if found else None


def read_receipt(data: object) -> Receipt:
    """Parse a receipt. Raises BadAnswer."""
    sent = lenient.read(answers.ReceiptAnswer, data, "receipt")
    try:
        amount = amounts.to_minor(sent.amount, sent.currency_code)
    except errors.MoneyError as error:
        raise errors.BadAnswer("the answer is no receipt") from error
    return Receipt(
        product=sent.product.name,
        amount=amount,
        currency=sent.currency_code,
        status=sent.status,
        url=sent.receipt_url,
        seller=sent.seller.name if sent.seller else None,
        completed_at=lenient.any_time(sent.completed_at),
        quantity=sent.quantity,
        units=_units(sent.units),
        thanks=sent.thanks,
        marks=payment.PaymentMarks(
            sent_at=lenient.any_time(sent.sent_at),
            sent_note=sent.sent_note,
            paid_back_at=lenient.any_time(sent.paid_back_at),
            paid_back_note=sent.paid_back_note,
        ),
        delivery=_goods(sent.delivery),
    )


def _units(sent: answers.UnitsAnswer | None) -> Units | None:
    return None if sent is None else Units(sent.first, sent.last, sent.total)


def _goods(sent: answers.ReceivedAnswer | None) -> DeliveredGoods | None:
    if sent is None:
        return None
    file = sent.file
    return DeliveredGoods(
        waits=sent.state is vocabulary.DeliveryProgress.WAITING,
        text=sent.text,
        file=None if file is None else DeliveredFile(file.name, file.size, file.url),
        codes=tuple(sent.codes or ()),
    )
