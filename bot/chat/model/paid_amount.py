"""What a payment counts for, whatever its server names.

A payment is never kept from its seller because another server writes amounts in its own way: what
can't be read is told as it was named, and the price stands for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bot.core.errors import MoneyError
from bot.core.money import amounts

if TYPE_CHECKING:
    from bot.chat.model.wish import Wish

_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_LONGEST = 40  # characters of what a server names; more says nothing


@dataclass(frozen=True, slots=True)
class PaidAmount:
    """An amount in minor units of `currency`.

    `named` is what the server named where that is no amount of money that can have come.
    """

    minor: int
    currency: str
    named: str | None = None


def amount_of_payment(told: Any, currency: Any, wish: Wish) -> PaidAmount:
    """Return what a payment counts for, by the `amount` and `currencyCode` that its server names.

    The price where it names no amount (HandCash never does) or one that can't be read, and
    nothing where it says that nothing came. A number without a currency is in the price's.
    """
    if told is None:
        return PaidAmount(wish.amount, wish.currency)
    named = _named(told, currency)
    amount = read_number(told)
    if amount is not None and amount <= 0:
        return PaidAmount(0, wish.currency, named)
    code = wish.currency if currency is None else currency
    if amount is None or not isinstance(code, str):
        return PaidAmount(wish.amount, wish.currency, named)
    try:
        return PaidAmount(amounts.to_minor(amount, code), code)
    except MoneyError:
        return PaidAmount(wish.amount, wish.currency, named)


def read_number(told: Any) -> Decimal | None:
    """Return a number as servers write it, also as a string; None for anything else."""
    if isinstance(told, str) and _NUMBER.fullmatch(told):
        return Decimal(told)
    return None if isinstance(told, bool) or not isinstance(told, int | Decimal) else Decimal(told)


def _named(told: Any, currency: Any) -> str:
    return f"{str(told)[:_LONGEST]} {'' if currency is None else str(currency)[:_LONGEST]}".strip()
