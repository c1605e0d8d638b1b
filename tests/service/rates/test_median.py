"""The median: exact, of fresh sources that agree, or nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from statistics import median as plain_median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.service.rates.median import FRESH, Price, median

NOW = 1_000_000_000
PRICES = st.decimals(Decimal("0.000001"), Decimal(10) ** 15, places=6)


def prices(*values: str | Decimal, age: int = 0) -> list[Price]:
    return [Price(f"s{n}.com", Decimal(one), NOW - age) for n, one in enumerate(values)]


@given(st.lists(PRICES, min_size=1, max_size=5))
def test_the_median_is_exact(values: list[Decimal]) -> None:
    found = median(prices(*values), NOW, 1)
    assert found
    assert plain_median(map(Fraction, values)) == Fraction(found.price)
    wide = (Fraction(max(values)) - Fraction(min(values))) / Fraction(found.price)
    assert found.agrees == (wide <= Fraction(2, 100))


@pytest.mark.parametrize("values", [("100", "100", "102"), ("99", "100", "101"), ("100",)])
def test_sources_within_two_percent_of_the_median_agree(values: tuple[str, ...]) -> None:
    found = median(prices(*values), NOW, 1)
    assert found
    assert found.agrees


@pytest.mark.parametrize("values", [("100", "100", "102.01"), ("98.9", "100", "101")])
def test_sources_further_apart_do_not_agree(values: tuple[str, ...]) -> None:
    found = median(prices(*values), NOW, 1)
    assert found
    assert not found.agrees


def test_prices_older_than_ten_minutes_are_left_out() -> None:
    fresh, old = prices("100", "101", age=FRESH), prices("1", age=FRESH + 1)
    found = median([*fresh, *old], NOW, 3)
    assert found
    assert (found.price, found.at) == (Decimal("100.5"), NOW - FRESH)
    assert median(old, NOW, 1) is None
    assert median(prices("1", age=-FRESH - 1), NOW, 1) is None


def test_two_fresh_sources_are_needed_where_two_or_more_are_configured() -> None:
    assert median(prices("100"), NOW, 1)
    assert median(prices("100"), NOW, 2) is None
    assert median(prices("100"), NOW, 3) is None
    assert median(prices("100", "101"), NOW, 3)
    assert median([], NOW, 1) is None


@pytest.mark.parametrize(
    ("number", "source"),
    [
        (1, "s0.com"),
        (2, "median of s0.com and s1.com"),
        (3, "median of s0.com, s1.com and s2.com"),
    ],
)
def test_the_publishers_are_named(number: int, source: str) -> None:
    found = median(prices(*["100"] * number), NOW, number)
    assert found
    assert found.source == source
