"""What one currency is worth in another: an exchange says, with its source and time.

The sandbox's come from `rates.json` beside this file: made-up figures, marked as such on every
payment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_UP, Context, Decimal
from functools import cache
from pathlib import Path
from typing import Protocol

from bot.core.errors import MoneyError
from bot.core.money import amounts
from bot.service.model.request import ExchangeRate

DIGITS = 28
"""Significant digits of a crossed rate; far finer than the largest amount can tell."""

_DATA = Path(__file__).with_name("rates.json")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Exchange(Protocol):
    """Where rates come from."""

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        """Give how many units of the instrument one unit of the denomination buys.

        None where both are one currency; MoneyError unknownCurrency where nobody knows.
        It is asked within a transaction, so it does no I/O.
        """


class SandboxExchange:
    """The rates of the table that comes with the project, crossed over the US dollar."""

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        """Give the rate as the table has it, whatever the day."""
        if denomination == instrument:
            return None
        table = _table()
        rate = _crossed(table.price(instrument), table.price(denomination))
        return ExchangeRate(rate, table.source, table.at)


@dataclass(frozen=True, slots=True)
class _Table:
    """How many units of each currency one US dollar buys; `at` in epoch ms."""

    source: str
    at: int
    per_dollar: dict[str, Decimal]

    def price(self, currency: str) -> Decimal:
        """Units that a dollar buys."""
        try:
            return self.per_dollar[currency]
        except KeyError:
            message = f"No exchange rate of {currency[: amounts.MAX_TEXT]!r} is known here"
            raise MoneyError("unknownCurrency", message) from None


@cache
def _table() -> _Table:
    """Read the file, once."""
    told = json.loads(_DATA.read_text("utf-8"))
    at = (datetime.fromisoformat(told["at"]) - _EPOCH) // timedelta(milliseconds=1)
    per_dollar = {code: Decimal(price) for code, price in told["perDollar"].items()}
    return _Table(told["source"], at, per_dollar)


def _crossed(bought: Decimal, sold: Decimal) -> Decimal:
    """Divide two prices in dollars: exact where it ends within DIGITS, else a hair more.

    More, so that what comes to a whole or a half minor unit is not just short of it.
    """
    context = Context(prec=DIGITS, rounding=ROUND_UP)
    return Decimal(f"{context.divide(bought, sold).normalize(context):f}")
