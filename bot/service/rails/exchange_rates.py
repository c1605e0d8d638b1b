"""Exchange rates, each with its source and time.

The sandbox's rates are those of `rates.json` beside this file: invented figures, marked as such on
every payment.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import ROUND_UP, Context, Decimal
from functools import cache
from pathlib import Path
from typing import Protocol

from bot.core.errors import MoneyError
from bot.core.money import amounts
from bot.service.model.request import ExchangeRate

DIGITS = 28
"""Significant digits of a crossed rate, more than the largest amount needs."""

_DATA = Path(__file__).with_name("rates.json")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Exchange(Protocol):
    """A source of exchange rates."""

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        """Return how many units of the instrument one unit of the denomination buys.

        Returns None for one currency; raises MoneyError unknownCurrency. Called within a
        transaction, so it does no I/O.
        """


class SandboxExchange:
    """The rates of the packaged table, crossed over the US dollar."""

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        """Return the table's rate, which never changes."""
        if denomination == instrument:
            return None
        source, at, per_dollar = _table()
        for currency in (instrument, denomination):
            if currency not in per_dollar:
                message = f"No exchange rate of {currency[: amounts.MAX_TEXT]!r} is known here"
                raise MoneyError("unknownCurrency", message)
        return ExchangeRate(crossed(per_dollar[instrument], per_dollar[denomination]), source, at)


@cache
def _table() -> tuple[str, int, dict[str, Decimal]]:
    """Return the source and time (epoch ms) of the rates, and what one US dollar buys."""
    data = json.loads(_DATA.read_text("utf-8"))
    at = (datetime.fromisoformat(data["at"]) - _EPOCH) // timedelta(milliseconds=1)
    per_dollar = {code: Decimal(price) for code, price in data["perDollar"].items()}
    return data["source"], at, per_dollar


def crossed(bought: Decimal, sold: Decimal) -> Decimal:
    """Divide two prices in the same currency, rounded up to DIGITS.

    Rounded down, a product of exactly a whole or half minor unit would fall below it.
    """
    context = Context(prec=DIGITS, rounding=ROUND_UP)
    return Decimal(f"{context.divide(bought, sold).normalize(context):f}")
