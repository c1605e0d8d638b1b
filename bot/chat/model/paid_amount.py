"""The amount of a payment, in whatever form its server sends it.

A payment is never withheld from its seller because of the form of its amount: where that can't be
read, the request's price stands for it, and the alert quotes the server.
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
_LONGEST = 40  # characters of a server's amount that are quoted


@dataclass(frozen=True, slots=True)
class PaidAmount:
    """An amount in minor units of `currency`.

    `named` quotes the server where it sent no amount that can have been paid.
    """

    minor: int
    currency: str
    named: str | None = None


def amount_of_payment(raw: Any, currency: Any, wish: Wish) -> PaidAmount:
    """Return the amount of a payment, from the `amount` and `currencyCode` that its server sent.

    That is the price where it sent no amount (HandCash never does) or one that can't be read, and
    0 where it sent none above 0. A number without a currency is in the price's.
    """
    if raw is None:
        return PaidAmount(wish.amount, wish.currency)
    named = _quoted(raw, currency)
    amount = read_number(raw)
    if amount is not None and amount <= 0:
        return PaidAmount(0, wish.currency, named)
    code = wish.currency if currency is None else currency
    if amount is None or not isinstance(code, str):
        return PaidAmount(wish.amount, wish.currency, named)
    try:
        return PaidAmount(amounts.to_minor(amount, code), code)
    except MoneyError:
        return PaidAmount(wish.amount, wish.currency, named)


def read_number(raw: Any) -> Decimal | None:
    """Return a number as servers write it, also as a string; None for anything else."""
    if isinstance(raw, str) and _NUMBER.fullmatch(raw):
        return Decimal(raw)
    return None if isinstance(raw, bool) or not isinstance(raw, int | Decimal) else Decimal(raw)


def _quoted(raw: Any, currency: Any) -> str:
    return f"{str(raw)[:_LONGEST]} {'' if currency is None else str(currency)[:_LONGEST]}".strip()
