"""The rates that a checkout is quoted at, from memory: the job puts them there."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from bot.core.errors import MoneyError
from bot.core.money.amounts import MAX_TEXT
from bot.core.text.rate_sources import BY_DEFINITION
from bot.service.model.request import ExchangeRate
from bot.service.rails.exchange_rates import crossed
from bot.service.rates.median import Median, Price, median
from bot.service.rates.sources import BITCOIN, SATOSHI

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

UNITS = {BITCOIN: Decimal(1), SATOSHI: Decimal(10**8)}
"""What one bitcoin is, in the currencies that are paid."""


class StoredRates:
    """Converts prices to bitcoin at the median of `sources`, which are names; `now` in epoch ms.

    It does no I/O, and may be asked from any thread.
    """

    def __init__(self, sources: Sequence[str], now: Callable[[], int]) -> None:
        self._sources = tuple(sources)
        self._now = now
        self._prices: Mapping[str, tuple[int, Mapping[str, Decimal]]] = {}

    def replace(self, prices: Mapping[str, tuple[int, Mapping[str, Decimal]]]) -> None:
        """Take over when each source answered last, and its prices."""
        self._prices = {name: prices[name] for name in self._sources if name in prices}

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        """Return what one unit of a price's currency is in bitcoin or satoshi.

        Raises MoneyError unknownCurrency if the rate is unknown, stale, or if the sources are too
        far apart, and for every other instrument.
        """
        if denomination == instrument:
            return None
        units = UNITS.get(instrument)
        if units is None:
            raise MoneyError("unknownCurrency", f"Nothing is converted to {instrument[:MAX_TEXT]}")
        if denomination in UNITS:
            return ExchangeRate(crossed(units, UNITS[denomination]), BY_DEFINITION, self._now())
        found = self.median(denomination)
        if found is None or not found.agrees:
            message = f"No rate from {denomination[:MAX_TEXT]} to {instrument} can be relied on now"
            raise MoneyError("unknownCurrency", message)
        return ExchangeRate(crossed(units, found.price), found.source, found.at)

    def median(self, currency: str) -> Median | None:
        """Return the median price of one bitcoin, None where too few sources are fresh."""
        prices = [
            Price(source, known[currency], at)
            for source, (at, known) in self._prices.items()
            if currency in known
        ]
        return median(prices, self._now(), len(self._sources))

    def medians(self) -> dict[str, Median]:
        """Return the median of each currency that enough fresh sources have."""
        currencies = sorted({code for _, known in self._prices.values() for code in known})
        return {code: found for code in currencies if (found := self.median(code))}

    def count_usable(self) -> int:
        """Return the number of currencies whose prices can be converted now."""
        return sum(1 for found in self.medians().values() if found.agrees)

    def outlying(self) -> dict[str, list[str]]:
        """Return, for each source, the currencies whose prices are used without it."""
        found: dict[str, list[str]] = {name: [] for name in self._sources}
        for currency, agreed in self.medians().items():
            for outlier in agreed.outliers:
                found[outlier.source].append(currency)
        return found

    def answered(self) -> dict[str, int | None]:
        """Return when each source answered last, None for never."""
        return {name: self._prices.get(name, (None, {}))[0] for name in self._sources}
