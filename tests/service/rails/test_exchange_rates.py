"""Exchange rates of the sandbox: complete, consistent, and marked as invented."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import MoneyError
from bot.core.money import amounts
from bot.interface.vocabulary import Kind
from bot.service.checkouts import order
from bot.service.rails import exchange_rates
from bot.service.rails.exchange_rates import Exchange, SandboxExchange
from bot.service.requests.request import ExchangeRate, Product, Receiver, Terms

FILE = Path(exchange_rates.__file__).with_name("rates.json")
TABLE = json.loads(FILE.read_text("utf-8"))
SOURCE = "sandbox table of made-up figures, not market rates"
AT = 1_767_225_600_000
CODES = st.sampled_from(sorted(amounts.currencies()))


def rate_of(denomination: str, instrument: str) -> ExchangeRate:
    found = SandboxExchange().rate(denomination, instrument)
    assert found
    return found


def paid(amount: int, denomination: str, instrument: str) -> int:
    """Return the minor units of a price converted by the table."""
    receivers = (Receiver("alice", amount),)
    terms = Terms(Kind.NEVER, Product("Coffee"), receivers, instrument, denomination)
    return order.quote(terms, SandboxExchange().rate(denomination, instrument)).amount


def test_every_currency_has_a_positive_price_in_dollars() -> None:
    """Each currency of the interface can be paid in each other one."""
    for code in amounts.currencies():
        assert Decimal(TABLE["perDollar"][code]) > 0, code
    assert Decimal(TABLE["perDollar"]["USD"]) == 1


def test_figures_are_written_as_strings_in_order() -> None:
    """JSON readers may make a number a float; a string stays exact."""
    figures = TABLE["perDollar"]
    assert all(isinstance(figure, str) for figure in figures.values())
    assert sorted(figures) == list(figures)


def test_the_table_is_marked_as_invented() -> None:
    """Every rate has the table's source and time, so nobody takes it for a market's."""
    assert TABLE["source"] == SOURCE
    found = rate_of("USD", "EUR")
    assert (found.source, found.at) == (SOURCE, AT)


@pytest.mark.parametrize(
    ("denomination", "instrument", "rate"),
    [
        ("BTC", "SAT", "100000000"),
        ("SAT", "BTC", "0.00000001"),
        ("USD", "MNEE", "1"),
        ("MNEE", "USD", "1"),
        ("USD", "JPY", "150"),
        ("USD", "BSV", "0.05"),
        ("BSV", "USD", "20"),
        ("BTC", "USD", "100000"),
        ("BSV", "SAT", "20000"),
        ("JPY", "USD", "0.006666666666666666666666666667"),
        ("KWD", "USD", "3.333333333333333333333333334"),
        ("EUR", "USD", "1.176470588235294117647058824"),
    ],
)
def test_rates_are_crossed_over_the_dollar(denomination: str, instrument: str, rate: str) -> None:
    """Exact where the division ends, else 28 digits, the last one up."""
    assert Decimal(rate) == rate_of(denomination, instrument).rate


@given(CODES, CODES)
def test_crossed_rates_are_of_28_digits(denomination: str, instrument: str) -> None:
    """No rate is off by more than one in its 28th digit, and none is too small."""
    if denomination == instrument:
        return
    table = TABLE["perDollar"]
    exact = Fraction(table[instrument]) / Fraction(table[denomination])
    off = Fraction(rate_of(denomination, instrument).rate) / exact - 1
    assert 0 <= off < Fraction(1, 10 ** (exchange_rates.RATE_DIGITS - 1))


@pytest.mark.parametrize(
    ("amount", "denomination", "instrument", "minor"),
    [
        (1, "USD", "JPY", 2),  # 1.5 yen
        (99, "USD", "JPY", 149),  # 148.5
        (500, "USD", "JPY", 750),
        (1, "JPY", "USD", 1),  # 0.67 cents
        (150, "JPY", "USD", 100),
        (1_000, "JPY", "USD", 667),
        (500, "USD", "KWD", 1_500),
        (5, "USD", "KWD", 15),
        (1_500, "KWD", "USD", 500),
        (1, "JPY", "KWD", 2),
        (1, "KWD", "JPY", 1),  # half a yen
        (3, "KWD", "JPY", 2),  # one and a half
        (500, "USD", "BSV", 25_000_000),
        (1, "USD", "BSV", 50_000),
        (250_000, "BSV", "USD", 5),
        (25_000, "BSV", "USD", 1),  # half a cent
        (1, "JPY", "BSV", 33_333),
        (33_333, "BSV", "JPY", 1),
        (1, "KWD", "BSV", 16_667),
        (16_667, "BSV", "KWD", 1),
        (499, "USD", "BTC", 4_990),
        (4_990, "BTC", "USD", 499),
        (1, "BTC", "SAT", 1),
        (123_456_789, "SAT", "BTC", 123_456_789),
        (99_999_999_999, "USD", "MNEE", 99_999_999_999_000),
        (10**17, "BTC", "SAT", 10**17),
        (10**17 - 1, "BSV", "BTC", 2 * 10**13),
        (10**17 + 1, "BTC", "BSV", 500_000_000_000_000_005_000),
    ],
)
def test_prices_are_converted_to_exact_amounts(
    amount: int, denomination: str, instrument: str, minor: int
) -> None:
    """Currencies of 0, 2, 3, 5 and 8 decimals, in both directions, half up."""
    if minor > amounts.MAX_MINOR:
        with pytest.raises(MoneyError) as caught:
            paid(amount, denomination, instrument)
        assert caught.value.reason == "tooLarge"
    else:
        assert minor == paid(amount, denomination, instrument)


@given(CODES, CODES, st.integers(1, 10**11))
def test_a_rate_of_28_digits_costs_no_minor_unit(
    denomination: str, instrument: str, amount: int
) -> None:
    """The converted price is the same as without the rounding of the rate."""
    table = TABLE["perDollar"]
    decimals = amounts.exponent(instrument) - amounts.exponent(denomination)
    exact = amount * Fraction(table[instrument]) / Fraction(table[denomination])
    expected = (2 * exact * Fraction(10) ** decimals + 1) // 2
    if 0 < expected <= amounts.MAX_MINOR:
        assert expected == paid(amount, denomination, instrument)


def test_one_currency_needs_no_rate() -> None:
    """Nothing is converted within one currency."""
    assert SandboxExchange().rate("USD", "USD") is None


@pytest.mark.parametrize("pair", [("ZZZ", "USD"), ("USD", "ZZZ"), ("usd", "USD"), ("", "USD")])
def test_unknown_currencies_have_no_rate(pair: tuple[str, str]) -> None:
    """An unknown rate is an error, never 1."""
    source: Exchange = SandboxExchange()
    with pytest.raises(MoneyError) as caught:
        source.rate(*pair)
    assert caught.value.reason == "unknownCurrency"
