"""Answers of sources: four known shapes, and nothing of them is trusted."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import BadAnswer
from bot.service.rails import exchange_rates
from tests.support.rate_sources import bitpay, coinbase, kraken, yadio

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
