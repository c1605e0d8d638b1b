"""How a payment was paid, where its server says so: the rail, the payer's amount and the rate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from bot.core.errors import MoneyError
from bot.core.money.amounts import exponent, to_minor

if TYPE_CHECKING:
    from collections.abc import Callable

BANK = "bank"
TEST_MONEY = "sandbox"
LIGHTNING_KINDS = frozenset(["lightning", "lnbits", "nwc"])

LONGEST_TEXT = 200
"""Characters of a kind, a reference, a rate or a source; a longer one is not believed."""


@dataclass(frozen=True, slots=True)
class PaidBy:
    """A payer's side of a payment; `amount` in minor units of `currency` is what arrived.

    `reference` is the bank transfer's, or the invoice. One unit of the price's currency bought
    `rate` units of this one, by `source`; both are None where the two are the same. `rated_at` in
    epoch ms.
    """

    kind: str
    amount: int
    currency: str
    reference: str | None = None
    rate: str | None = None
    source: str | None = None
    rated_at: int | None = None

    def asked(self, price: int, currency: str) -> int | None:
        """Return what was asked for a price in minor units, None where it can't be computed."""
        if currency == self.currency:
            return price
        if self.rate is None:
            return None
        try:
            shift = exponent(self.currency) - exponent(currency)
            exact = (Decimal(self.rate) * price).scaleb(shift)
            return int(exact.to_integral_value(ROUND_HALF_UP))
        except (MoneyError, ArithmeticError, ValueError):
            return None

    def surplus(self, price: int, currency: str) -> int:
        """Return how much more than asked arrived for a price, less than 0 where it is too little.

        0 where that can't be known.
        """
        asked = self.asked(price, currency)
        return 0 if asked is None else self.amount - asked


def read_paid_by(raw: Any, read_time: Callable[[Any], int | None]) -> PaidBy | None:
    """Parse `paidBy` of a payment; None where it is missing or can't be read."""
    if not isinstance(raw, dict):
        return None
    kind, code, amount = _text(raw.get("kind")), raw.get("currencyCode"), raw.get("amount")
    if kind is None or not isinstance(code, str) or isinstance(amount, bool):
        return None
    if not isinstance(amount, int | Decimal | str):
        return None
    try:
        minor = to_minor(Decimal(amount), code)
        rate = raw.get("rate")
        known = None if rate is None else _text(f"{Decimal(rate):f}")
    except (MoneyError, ArithmeticError, ValueError, TypeError):
        return None
    return PaidBy(
        kind=kind,
        amount=minor,
        currency=code,
        reference=_text(raw.get("reference")),
        rate=known,
        source=_text(raw.get("rateSource")) if known else None,
        rated_at=read_time(raw.get("ratedAt")) if known else None,
    )


def _text(value: Any) -> str | None:
    is_text = isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and value.isprintable()
    return value if is_text else None
