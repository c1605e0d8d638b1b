"""The median of the sources that are fresh and agree; a price is never a guess.

The largest group of sources that agree counts if it is a majority: one broken source of three is
left out, and two sources that contradict each other sell nothing.
"""

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
    """The median price, of which sources, as of the oldest of them; `spread` is a fraction.

    `outliers` are the fresh prices that are too far from it and have no part in it.
    """

    price: Decimal
    sources: tuple[str, ...]
    at: int
    spread: Decimal
    outliers: tuple[Price, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether the sources are close enough to each other to sell at the median."""
        return self.spread <= MOST_SPREAD

    @property
    def source(self) -> str:
        """Return who publishes it."""
        return rate_source(self.sources)


def median(prices: Sequence[Price], now: int, configured: int) -> Median | None:
    """Return the median of the fresh prices that agree, None if there are too few fresh ones.

    Where no majority agrees it is the median of all, which says so: see `agrees`. `configured` is
    the number of sources that the operator named. A price from the future is as stale as an old
    one: a clock was set back.
    """
    fresh = sorted((one for one in prices if abs(now - one.at) <= FRESH), key=lambda one: one.price)
    least = max(1, min(configured, LEAST_SOURCES))
    if len(fresh) < least:
        return None
    for size in range(len(fresh), max(least, len(fresh) // 2 + 1) - 1, -1):
        starts = range(len(fresh) - size + 1)
        groups = [_of_group(fresh, start, start + size) for start in starts]
        if agreed := [one for one in groups if one.agrees]:
            return min(agreed, key=lambda one: one.spread)
    return _of_group(fresh, 0, len(fresh))


def _of_group(fresh: Sequence[Price], start: int, end: int) -> Median:
    """Return the median of some of the prices, which are sorted; the others are outliers."""
    group = fresh[start:end]
    low, high = group[(len(group) - 1) // 2].price, group[len(group) // 2].price
    middle = low if low == high else (low + high) / 2
    spread = (group[-1].price - group[0].price) / middle
    names = tuple(sorted(one.source for one in group))
    outliers = (*fresh[:start], *fresh[end:])
    return Median(middle, names, min(one.at for one in group), spread, outliers)
