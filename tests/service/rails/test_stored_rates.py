"""Prices converted to satoshi: each total is exact, and rounded once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import floor

from hypothesis import assume, given
from hypothesis import strategies as st

from bot.core.money import amounts
from bot.interface.vocabulary import Kind
from bot.service.checkouts import order
from bot.service.rails.exchange_rates import StoredRates
from bot.service.requests.request import Product, Receiver, Terms

PRICES = st.decimals(Decimal("0.01"), Decimal(10) ** 12, places=6)


@given(
    st.integers(1, 10**11), PRICES, PRICES, PRICES, st.sampled_from(["EUR", "JPY", "KWD", "INR"])
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
