"""Exchange rates: an invented table, or the exact median of fresh sources that agree."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import floor
from pathlib import Path
from statistics import median as plain_median

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.core.errors import BadAnswer, MoneyError
from bot.core.money import amounts
from bot.interface.vocabulary import Kind
from bot.service.checkouts import order
from bot.service.rails import exchange_rates
from bot.service.rails.exchange_rates import (
    FRESH,
    Exchange,
    Price,
    SandboxExchange,
    StoredRates,
    median,
)
from bot.service.requests.request import ExchangeRate, Product, Receiver, Terms
from tests.support.rate_sources import bitpay, coinbase, kraken, yadio

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


SHAPES = [coinbase, bitpay, kraken, yadio]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_read_exactly(shape: object) -> None:
    body = shape(EUR="72000.10000000000001", USD="84278")  # type: ignore[operator]
    expected = {"EUR": Decimal("72000.10000000000001"), "USD": Decimal(84278)}
    assert exchange_rates.read_prices(body) == expected


def test_other_forms_of_the_same_sources_are_read() -> None:
    """BitPay's bare list, and the pairs that Kraken names otherwise."""
    assert exchange_rates.read_prices(b'[{"code": "EUR", "rate": 5}]') == {"EUR": Decimal(5)}
    body = b'{"result": {"XBTCHF": {"c": ["6", "1"]}, "XETHZEUR": {"c": ["1"]}}}'
    assert exchange_rates.read_prices(body) == {"CHF": Decimal(6)}


@pytest.mark.parametrize(
    "price",
    ['"-5"', "0", '"NaN"', '"Infinity"', "1e999", '"1e-9"', "true", "null", "[5]", '"5,0"', '"x"'],
)
def test_an_implausible_price_is_left_out(price: str) -> None:
    body = f'{{"data": {{"currency": "BTC", "rates": {{"EUR": {price}, "USD": "7"}}}}}}'
    assert exchange_rates.read_prices(body.encode()) == {"USD": Decimal(7)}


@pytest.mark.parametrize("code", ["BTC", "SAT", "1INCH", "eur", "XYZ", "", "EUR\n"])
def test_an_unknown_currency_is_left_out(code: str) -> None:
    assert exchange_rates.read_prices(coinbase(**{code: "5", "USD": "7"})) == {"USD": Decimal(7)}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"[]",
        b"5",
        b"null",
        b'{"data": {"currency": "ETH", "rates": {"EUR": "5"}}}',
        b'{"data": {"rates": {"EUR": "5"}}}',
        b'{"BTC": {"EUR": 5}, "base": "USD"}',
        b'{"BTC": {"EUR": NaN}, "base": "BTC"}',
        b'{"BTC": {"EUR": "72000.1' + b"0" * 50 + b'"}, "base": "BTC"}',
        b'{"error": ["EQuery:Unknown asset pair"]}',
        b'{"result": {"XXBTZEUR": {"c": []}}}',
        b'{"result": {"XXBTZEUR": 5}}',
        b'{"data": [5]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_an_answer_without_prices_is_refused(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        exchange_rates.read_prices(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just("EUR"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "rates", "currency", "BTC", "result", "XXBTZEUR", "c", "code"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_answer_raises_anything_else(value: object) -> None:
    with suppress(BadAnswer):
        exchange_rates.read_prices(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.coinbase.com/v2/exchange-rates?currency=BTC", "coinbase.com"),
        ("https://api.kraken.com/0/public/Ticker?pair=XBTEUR", "kraken.com"),
        ("https://www.bitpay.com/rates", "bitpay.com"),
        ("https://user:secret@rates.example.com:8443/x", "rates.example.com:8443"),
        ("http://127.0.0.1:9000/", "127.0.0.1:9000"),
    ],
)
def test_a_source_is_known_by_its_host(url: str, name: str) -> None:
    assert exchange_rates.name_of(url) == name


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
    ("values", "agrees"),
    [
        (("100",), True),
        (("100", "100", "102"), True),
        (("99", "100", "101"), True),
        (("100", "103"), False),
        (("100", "1000"), False),
        (("100", "110", "120"), False),
        (("100", "100", "900", "900"), False),
        (("100", "101", "50", "900"), False),
        (("100", "101", "50", "900", "901"), False),
    ],
)
def test_sources_agree_within_two_percent_and_only_as_a_majority(
    values: tuple[str, ...], *, agrees: bool
) -> None:
    found = median(prices(*values), NOW, len(values))
    assert found
    assert (found.agrees, found.outliers) == (agrees, ())


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


NEAR_PRICES = st.decimals(Decimal("0.01"), Decimal(10) ** 12, places=6)


@given(
    st.integers(1, 10**11),
    NEAR_PRICES,
    NEAR_PRICES,
    NEAR_PRICES,
    st.sampled_from(["EUR", "JPY", "KWD", "INR"]),
)
def test_a_total_is_that_of_fractions_rounded_half_up(
    amount: int, first: Decimal, second: Decimal, third: Decimal, currency: str
) -> None:
    rates = StoredRates(["a", "b", "c"], lambda: 0)
    near = [first, first * (1 + second / 10**14), first * (1 + third / 10**14)]
    rates.replace({name: (0, {currency: price}) for name, price in zip("abc", near, strict=True)})
    middle = Fraction(sorted(near)[1])
    exact = Fraction(amount, 10 ** amounts.exponent(currency)) * 10**8 / middle
    expected = floor(exact + Fraction(1, 2))
    assume(0 < expected <= amounts.MAX_MINOR)
    terms = Terms(Kind.NEVER, Product("Tea"), (Receiver("x", amount),), "SAT", currency)
    assert order.quote(terms, rates.rate(currency, "SAT")).amount == expected


def test_prices_in_bitcoin_are_the_same_number_of_satoshi() -> None:
    rates = StoredRates([], lambda: 0)
    terms = Terms(Kind.NEVER, Product("Tea"), (Receiver("x", 123_456_789),), "SAT", "BTC")
    assert order.quote(terms, rates.rate("BTC", "SAT")).amount == 123_456_789
