"""Prices in one currency paid in another: quoted, paid and stored with the rate, or refused."""

from __future__ import annotations

import ast
import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bot.core import stored_json
from bot.core.errors import MoneyError
from bot.core.money.amounts import MAX_MINOR, exponent
from bot.interface.vocabulary import Kind
from bot.service.checkouts import order
from bot.service.pages.app import create_app
from bot.service.requests.request import ExchangeRate, Product, Quote, Receiver, Terms
from tests.support.service_harness import DROP, ServiceHarness, client, make_service
from tests.support.source_tree import ROOT, parsed

AT = 1_800_000_000_000
CODES = st.sampled_from(["JPY", "SAT", "USD", "EUR", "KWD", "CLF", "MNEE", "BSV", "BTC"])
AMOUNTS = st.lists(st.integers(1, 10**17), min_size=1, max_size=100)
RATES = st.decimals("1E-12", "1E+12", allow_nan=False).filter(bool)
EXACT = [
    ("bot/service/checkouts/order.py", "quote split_amount"),
    ("bot/service/rails/exchange_rates.py", "Exchange SandboxExchange crossed"),
]
"""Functions and classes that compute with money, by file."""


def terms(amounts: list[int], denomination: str | None, instrument: str) -> Terms:
    receivers = tuple(Receiver(f"r{place}", amount) for place, amount in enumerate(amounts))
    return Terms(Kind.NEVER, Product("Coffee"), receivers, instrument, denomination)


def rated(rate: str | Decimal) -> ExchangeRate:
    return ExchangeRate(Decimal(rate), "a test", AT)


@pytest.mark.parametrize("denomination", [None, "USD"])
def test_a_price_in_the_payers_currency_is_not_converted(denomination: str | None) -> None:
    """No rate is stored, also if one is given."""
    asked = terms([300, 200], denomination, "USD")
    assert Quote(500, "USD", (300, 200)) == order.quote(asked, None)
    assert Quote(500, "USD", (300, 200)) == order.quote(asked, rated("2"))


@pytest.mark.parametrize(
    ("denomination", "instrument", "rate", "amounts", "shares"),
    [
        # from 2 decimals to 0, 2, 3, 8, and back
        ("USD", "JPY", "150", [500], (750,)),
        ("USD", "EUR", "0.85", [999], (849,)),
        ("USD", "KWD", "0.3", [999], (2_997,)),
        ("USD", "BSV", "0.05", [999], (49_950_000,)),
        ("BSV", "USD", "20", [49_950_000], (999,)),
        # between the others
        ("JPY", "KWD", "0.002", [1_234], (2_468,)),
        ("KWD", "BSV", "0.16666666667", [6], (100_000,)),
        ("BTC", "SAT", "100000000", [123_456_789], (123_456_789,)),
        # half up
        ("USD", "EUR", "0.5", [1], (1,)),
        ("USD", "EUR", "0.5", [3], (2,)),
        ("USD", "EUR", "0.4999999999999999999999999999999999999", [5], (2,)),
        # beyond what a float, or a context of 28 digits, could tell
        ("BSV", "BTC", "1.00000000000000000000000000001", [10**17], (10**17,)),
        ("BSV", "BTC", "1.000000000000000005", [10**17], (100_000_000_000_000_001,)),
        ("BSV", "BTC", "1.00000000000000000499999999999", [10**17], (10**17,)),
        # several receivers: one total is rounded, who loses most is rounded up
        ("USD", "JPY", "1", [50, 50], (1, 0)),
        ("USD", "JPY", "1", [100, 100, 100], (1, 1, 1)),
        ("USD", "EUR", "0.5", [1, 1, 1], (1, 1, 0)),
        ("USD", "EUR", "0.3", [1, 2, 3], (0, 1, 1)),
        ("USD", "EUR", "0.3", [3, 2, 1], (1, 1, 0)),
        ("USD", "JPY", "1", [133, 133, 134], (1, 1, 2)),
        ("USD", "JPY", "150", [33, 33, 34], (50, 49, 51)),
        ("USD", "JPY", "1", [110, 190], (1, 2)),
        ("USD", "JPY", "1", [100, 40, 60], (1, 0, 1)),
    ],
)
def test_prices_are_converted_exactly(
    denomination: str, instrument: str, rate: str, amounts: list[int], shares: tuple[int, ...]
) -> None:
    """Currencies of 0, 2, 3 and 8 decimals; the rate, its source and its time are stored."""
    asked = terms(amounts, denomination, instrument)
    expected = Quote(sum(shares), instrument, shares, rated(rate))
    assert expected == order.quote(asked, rated(rate))


def test_a_quote_ignores_the_decimal_context_of_its_caller() -> None:
    """A small precision elsewhere in the process must not cost a cent."""
    asked = terms([123_456_789, 1], "USD", "BSV")
    with localcontext(prec=3):
        found = order.quote(asked, rated("0.0512345678"))
    assert found == order.quote(asked, rated("0.0512345678"))
    assert found.amount == 6_325_255_277_625


@pytest.mark.parametrize(
    ("amount", "rate", "reason"),
    [
        (1, "0.0049", "notPositive"),
        (1, "0", "notPositive"),
        (1, "-1", "notPositive"),
        (1, "1E-999999", "notPositive"),
        (MAX_MINOR, "101", "tooLarge"),
        (1, "1E+999999", "tooLarge"),
        (1, "NaN", "notAnAmount"),
        (1, "Infinity", "notAnAmount"),
    ],
)
def test_a_price_that_converts_to_no_valid_amount_is_refused(
    amount: int, rate: str, reason: str
) -> None:
    """A price that rounds to 0, or needs more than 64 bits, can't be paid."""
    with pytest.raises(MoneyError) as caught:
        order.quote(terms([amount], "USD", "JPY"), rated(rate))
    assert reason == caught.value.reason
    assert len(str(caught.value)) < 100


def test_the_largest_amount_is_64_bits() -> None:
    """The largest value of the column is taken, one more is refused."""
    largest = order.quote(terms([MAX_MINOR], "BTC", "SAT"), rated("1E+8"))
    assert largest.amount == MAX_MINOR
    with pytest.raises(MoneyError) as caught:
        order.quote(terms([MAX_MINOR, 1], "BTC", "SAT"), rated("1E+8"))
    assert caught.value.reason == "tooLarge"


def test_a_missing_rate_is_an_error() -> None:
    """Two currencies without a rate between them have no price."""
    with pytest.raises(MoneyError) as caught:
        order.quote(terms([500], "USD", "JPY"), None)
    assert caught.value.reason == "unknownCurrency"


@given(AMOUNTS, CODES, CODES, RATES)
@example([1] * 100, "USD", "JPY", Decimal(50))
@example([1, 10**17], "JPY", "USD", Decimal("0.006666666666666666666666666667"))
def test_shares_are_fair_and_sum_to_the_amount(
    amounts: list[int], denomination: str, instrument: str, rate: Decimal
) -> None:
    """The sum is exact, each share within a unit of its exact value; ties go to the earlier."""
    assume(denomination != instrument)
    factor = Fraction(rate) * Fraction(10) ** (exponent(instrument) - exponent(denomination))
    total = math.floor(sum(amounts) * factor + Fraction(1, 2))
    asked = terms(amounts, denomination, instrument)
    if not 0 < total <= MAX_MINOR:
        with pytest.raises(MoneyError):
            order.quote(asked, rated(rate))
        return
    found = order.quote(asked, rated(rate))
    assert total == found.amount == sum(found.shares)
    assert len(amounts) == len(found.shares)
    ups = []
    for amount, share in zip(amounts, found.shares, strict=True):
        assert abs(share - amount * factor) < 1
        ups.append((amount * factor % 1, share > amount * factor))
    _assert_order(ups)


def _assert_order(ups: list[tuple[Fraction, bool]]) -> None:
    """No share is rounded up before one with a larger remainder, or with the same and earlier."""
    order = sorted((rest for rest in ups if rest[0]), key=lambda up: up[0], reverse=True)
    assert sorted((up for _, up in order), reverse=True) == [up for _, up in order]


@given(AMOUNTS, st.sampled_from(["a", "ü ☕", '"', "\n"]), RATES, st.integers(0, 2**53))
def test_a_written_quote_is_read_unchanged(
    shares: list[int], source: str, rate: Decimal, at: int
) -> None:
    """A quote read from its column has all of its digits."""
    kept = Quote(sum(shares), "BSV", tuple(shares), ExchangeRate(rate, source, at))
    read = stored_json.read(Quote, stored_json.write(Quote, kept))
    assert kept == read
    assert read.rate
    assert rate.as_tuple() == read.rate.rate.as_tuple()


def test_a_quote_is_written_as_json() -> None:
    """The rate is a number with all of its digits."""
    plain = Quote(500, "USD", (300, 200))
    rate = ',"rate":{"rate":0.050,"source":"a test","at":1800000000000}}'
    start = '{"amount":500,"currency":"USD","shares":[300,200]'
    assert f"{start}}}" == stored_json.write(Quote, plain)
    assert plain == stored_json.read(Quote, stored_json.write(Quote, plain))
    converted = Quote(500, "USD", (300, 200), rated("0.050"))
    assert start + rate == stored_json.write(Quote, converted)


@pytest.mark.parametrize(("path", "names"), EXACT)
def test_what_computes_with_money_uses_no_float(path: str, names: str) -> None:
    """No float is named, written or made by a division of integers."""
    found = {
        node.name: node
        for node in parsed(ROOT / path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    nodes = [node for name in names.split() for node in ast.walk(found[name])]
    for node in nodes:
        assert not (isinstance(node, ast.Name) and node.id == "float")
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            assert isinstance(node.right, ast.Constant)  # a path
            assert isinstance(node.right.value, str)


HOOK = {"notifications": {"webhook": {"webhookUrl": "https://h.example/w"}}}


async def test_a_price_in_another_currency_is_quoted_paid_and_kept(service: ServiceHarness) -> None:
    """With the rate, its time and source, and shares with an exact sum."""
    made = await service.create(
        instrumentCurrencyCode="JPY",
        denominationCurrencyCode="USD",
        receivers=[
            {"sendAmount": 1.01, "destination": "a"},
            {"sendAmount": 1.01, "destination": "b"},
            {"sendAmount": 1.01, "destination": "c"},
        ],
        **HOOK,
    )
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    assert "made-up rate for testing" in page
    receipt = await service.anyone.post(
        f"/pay/{made['id']}", data={"token": "t" * 32}, follow_redirects=True
    )
    assert "1 USD = " in receipt.text
    (row,) = await service.rows("payments")
    shares = json.loads(row["instrument_shares"])
    assert (row["amount"], row["currency"]) == (303, "USD")
    assert (sum(shares), row["instrument_currency"]) == (row["instrument_amount"], "JPY")
    assert max(shares) - min(shares) <= 1
    (owed,) = await service.rows("outbox")
    event = json.loads(owed["body"])
    assert (event["amount"], event["currency"]) == (303, "USD")
    url = f"/v3/paymentRequests/{made['id']}/payments/{row['id']}"
    paid = (await service.seller.get(url)).json()["paid"]
    assert (paid["currencyCode"], sum(paid["shares"])) == ("JPY", paid["amount"])
    assert "sandbox" in paid["rateSource"]
    assert paid["ratedAt"].endswith("Z")
    assert Decimal(str(paid["rate"])) == Decimal(row["rate"])


async def test_a_price_too_small_for_the_instrument_is_refused_at_create(
    service: ServiceHarness,
) -> None:
    body = {
        "product": {"name": "Dust"},
        "instrumentCurrencyCode": "KWD",
        "denominationCurrencyCode": "SAT",
        "receivers": [{"sendAmount": 1, "destination": "alice"}],
        "expirationType": "never",
    }
    answer = await service.seller.post("/v3/paymentRequests", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalidBody")
    assert answer.json()["info"][0]["field"] == "denominationCurrencyCode"


async def test_a_share_too_small_for_the_instrument_is_refused_at_create(
    service: ServiceHarness,
) -> None:
    receivers = [{"sendAmount": 100, "destination": "a"}, {"sendAmount": 1, "destination": "b"}]
    answer = await service.seller.post(
        "/v3/paymentRequests",
        json={
            "product": {"name": "Crumbs"},
            "instrumentCurrencyCode": "JPY",
            "denominationCurrencyCode": "SAT",
            "receivers": receivers,
            "expirationType": "never",
        },
    )
    assert (answer.status_code, answer.json()["info"][0]) == (
        400,
        {"field": "receivers.1.sendAmount", "message": "comes to nothing in JPY"},
    )


async def test_a_price_in_the_instrument_currency_is_not_converted(service: ServiceHarness) -> None:
    made = await service.create()
    await service.pay(made["id"])
    (row,) = await service.rows("payments")
    assert (row["instrument_amount"], row["instrument_currency"], row["rate"]) == (500, "USD", None)
    url = f"/v3/paymentRequests/{made['id']}/payments/{row['id']}"
    assert "paid" not in (await service.seller.get(url)).json()


class Closed:
    """An exchange without rates."""

    def rate(self, denomination: str, instrument: str) -> ExchangeRate | None:
        raise MoneyError("unknownCurrency", f"{denomination} to {instrument}")


async def test_a_missing_rate_is_shown_and_nothing_is_paid(service: ServiceHarness) -> None:
    """The request was created while there was a rate."""
    made = await service.create(
        **DROP, instrumentCurrencyCode="BSV", denominationCurrencyCode="USD"
    )
    app = create_app(make_service(service.db, service.clock, exchange=Closed()))
    async with client(app) as payer:
        page = await payer.get(f"/pay/{made['id']}")
        assert (page.status_code, "Price unavailable" in page.text) == (200, True)
        assert "<form" not in page.text
        answer = await payer.post(f"/pay/{made['id']}", data={"token": "t" * 32})
        assert (answer.status_code, "Price unavailable" in answer.text) == (409, True)
    (row,) = await service.rows("payment_requests")
    assert (row["remaining_units"], row["reserved_units"], row["paid_count"]) == (3, 0, 0)
    assert await service.rows("checkouts") == []
