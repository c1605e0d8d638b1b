"""The median of several sources, if they are fresh and agree; a price is never a guess."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.core.text.rate_sources import rate_source

if TYPE_CHECKING:
    from collections.abc import Sequence

FRESH = 10 * 60_000
"""Milliseconds after which a price is no longer used."""

MOST_SPREAD = Decimal("0.02")
"""Of the median, by which the highest price may exceed the lowest."""

LEAST_SOURCES = 2
"""Fresh sources that are needed where as many are configured."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one bitcoin at a source, read at `at` (epoch ms)."""

    source: str
    price: Decimal
    at: int


@dataclass(frozen=True, slots=True)
class Median:
    """The median price, of which sources, as of the oldest of them; `spread` is a fraction."""

    price: Decimal
    sources: tuple[str, ...]
    at: int
    spread: Decimal

    @property
    def agrees(self) -> bool:
        """Return whether the sources are close enough to each other to sell at the median."""
        return self.spread <= MOST_SPREAD

    @property
    def source(self) -> str:
        """Return who publishes it."""
        return rate_source(self.sources)


def median(prices: Sequence[Price], now: int, configured: int) -> Median | None:
    """Return the median of the fresh prices, None if there are too few; see `agrees`.

    `configured` is the number of sources that the operator named. A price from the future is as
    stale as an old one: a clock was set back.
    """
    fresh = sorted((one for one in prices if abs(now - one.at) <= FRESH), key=lambda one: one.price)
    if len(fresh) < max(1, min(configured, LEAST_SOURCES)):
        return None
    low, high = fresh[(len(fresh) - 1) // 2].price, fresh[len(fresh) // 2].price
    middle = low if low == high else (low + high) / 2
    spread = (fresh[-1].price - fresh[0].price) / middle
    names = tuple(sorted(one.source for one in fresh))
    return Median(middle, names, min(one.at for one in fresh), spread)
