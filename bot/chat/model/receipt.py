"""A payer's receipt as the service returns it, and the key of a receipt.

The key is a secret, because anyone who has it can see the delivered goods. It is never logged in
full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from bot.chat.model import remote_request
from bot.core import errors
from bot.core.money import amounts

PAID, OVERSOLD, PAID_BACK = "paid", "oversold", "paidBack"
"""The states of a receipt's payment."""

WAITING = "waiting"
"""The state of a delivery that has not been made yet."""

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
    sent_at: int | None = None
    sent_note: str | None = None
    paid_back_at: int | None = None
    paid_back_note: str | None = None
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


def read_receipt(data: Any) -> Receipt:
    """Parse a receipt. Raises BadAnswer."""
    try:
        return Receipt(
            product=_name(data["product"]) or "",
            amount=amounts.to_minor(Decimal(data["amount"]), data["currencyCode"]),
            currency=data["currencyCode"],
            status=str(data["status"]),
            url=str(data.get("receiptUrl") or ""),
            seller=_name(data.get("seller")),
            completed_at=remote_request.any_time(data.get("completedAt")),
            quantity=int(data.get("quantity") or 1),
            units=_units(data.get("units")),
            thanks=_text(data.get("thanks")),
            sent_at=remote_request.any_time(data.get("sentAt")),
            sent_note=_text(data.get("sentNote")),
            paid_back_at=remote_request.any_time(data.get("paidBackAt")),
            paid_back_note=_text(data.get("paidBackNote")),
            delivery=_delivery(data.get("delivery")),
        )
    except (
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        ArithmeticError,
        errors.MoneyError,
    ) as error:
        raise errors.BadAnswer("the answer is no receipt") from error


def _delivery(data: Any) -> DeliveredGoods | None:
    if data is None:
        return None
    file = data.get("file")
    return DeliveredGoods(
        waits=data["state"] == WAITING,
        text=_text(data.get("text")),
        file=file and DeliveredFile(str(file["name"]), int(file["size"]), str(file["url"])),
        codes=tuple(str(code) for code in data.get("codes") or ()),
    )


def _units(data: Any) -> Units | None:
    if data is None:
        return None
    total = data.get("total")
    return Units(int(data["first"]), int(data["last"]), None if total is None else int(total))


def _name(value: Any) -> str | None:
    """Return a name, given as text or as an object with a name."""
    return _text(value.get("name") if isinstance(value, dict) else value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
