"""The median: exact, of fresh sources that agree, or nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from statistics import median as plain_median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.service.rails.exchange_rates import FRESH, Price, median

NOW = 1_000_000_000
PRICES = st.decimals(Decimal("0.000001"), Decimal(10) ** 15, places=6)


def prices(*values: str | Decimal, age: int = 0) -> list[Price]:
    return [Price(f"s{n}.com", Decimal(one), NOW - age) for n, one in enumerate(values)]


@given(st.lists(PRICES, min_size=1, max_size=5))
def test_the_median_is_exact_and_of_a_majority_that_agrees_or_of_all(values: list[Decimal]) -> None:
    found = median(prices(*values), NOW, 1)
    assert found
    out = sorted(one.price for one in found.outliers)
    used = sorted(values)
    for one in out:
        used.remove(one)
    assert plain_median(map(Fraction, used)) == Fraction(found.price)
    wide = (Fraction(max(used)) - Fraction(min(used))) / Fraction(found.price)
    assert found.agrees == (wide <= Fraction(2, 100))
    assert len(used) * 2 > len(values)
    assert found.agrees or not out


@pytest.mark.parametrize("values", [("100", "100", "102"), ("99", "100", "101"), ("100",)])
def test_sources_within_two_percent_of_the_median_agree(values: tuple[str, ...]) -> None:
    found = median(prices(*values), NOW, 1)
    assert found
    assert (found.agrees, found.outliers) == (True, ())


@pytest.mark.parametrize(
    ("values", "price", "out"),
    [
        (("100", "101", "1000"), "100.5", ["1000"]),
        (("100", "101", "10"), "100.5", ["10"]),
        (("100", "101", "1"), "100.5", ["1"]),
        (("100", "101", "10000000000"), "100.5", ["10000000000"]),
        (("100", "101", "0.000001"), "100.5", ["0.000001"]),
        (("100", "100", "102.01"), "100", ["102.01"]),
        (("98.9", "100", "101"), "100.5", ["98.9"]),
        (("100", "101", "100.5", "5"), "100.5", ["5"]),
        (("100", "101", "100.5", "5", "900"), "100.5", ["5", "900"]),
        (("100", "101", "100.5", "900", "900"), "100.5", ["900", "900"]),
        (("100", "101", "5", "100", "101.9"), "100.5", ["5"]),
    ],
)
def test_a_majority_that_agrees_counts_without_the_others(
    values: tuple[str, ...], price: str, out: list[str]
) -> None:
    given = prices(*values)
    found = median(given, NOW, len(values))
    assert found
    assert found.agrees
    assert found.price == Decimal(price)
    assert [str(one.price) for one in found.outliers] == out
    assert {*found.sources} == {one.source for one in given} - {
        one.source for one in found.outliers
    }


@pytest.mark.parametrize(
    "values",
    [
        ("100", "103"),
        ("100", "1000"),
        ("100", "110", "120"),
        ("100", "100", "900", "900"),
        ("100", "101", "50", "900"),
        ("100", "101", "50", "900", "901"),
    ],
)
def test_without_a_majority_nothing_agrees(values: tuple[str, ...]) -> None:
    found = median(prices(*values), NOW, len(values))
    assert found
    assert (found.agrees, found.outliers) == (False, ())


def test_one_source_of_several_is_never_enough_to_outvote_the_other() -> None:
    assert median(prices("100"), NOW, 2) is None
    found = median(prices("100", "1000"), NOW, 1)
    assert found
    assert not found.agrees


def test_the_age_is_that_of_the_sources_that_count() -> None:
    outlier = Price("old.com", Decimal(1000), NOW - FRESH)
    found = median([*prices("100", "101", age=5), outlier], NOW, 3)
    assert found
    assert found.at == NOW - 5
    stale = Price("stale.com", Decimal(100), NOW - FRESH - 1)
    split = median([*prices("100", "1000"), stale], NOW, 3)
    assert split
    assert not split.agrees


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
