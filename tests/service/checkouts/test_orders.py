"""What a payer takes: units, amounts and shares as tables."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import InvalidBody
from bot.core.money import amounts
from bot.interface.parts import AmountChoice
from bot.interface.vocabulary import Kind
from bot.service.checkouts.order import (
    ONE,
    Order,
    check_bounds,
    check_quantity,
    split_amount,
    unsure_share,
)
from bot.service.requests.request import Product, Receiver, Terms

BILLION_USD = 100_000_000_000
terms_of = partial(Terms, Kind.LIMIT, Product("Coffee"))
FIXED = terms_of((Receiver("a", 300), Receiver("b", 200)), "USD", max_quantity=3)
CHOICE = terms_of(
    (Receiver("a", 300), Receiver("b", 200)),
    "USD",
    max_quantity=3,
    choice=AmountChoice(100, (500, 1000)),
)
BOUNDED = terms_of((Receiver("a", 500),), "USD", choice=AmountChoice(100, (500,), 2000))


def code_of(refused: pytest.ExceptionInfo[InvalidBody]) -> tuple[str, str | None]:
    (problem,) = refused.value.info
    return problem.field, problem.code


@pytest.mark.parametrize(
    ("terms", "order", "kept"),
    [
        (FIXED, ONE, ONE),
        (FIXED, Order(500, 3), Order(None, 3)),
        (CHOICE, ONE, Order(500)),
        (CHOICE, Order(100, 2), Order(100, 2)),
        (CHOICE, Order(BILLION_USD), Order(BILLION_USD)),
        (BOUNDED, Order(2000), Order(2000)),
    ],
)
def test_a_price_is_kept_only_where_the_payer_chooses(
    terms: Terms, order: Order, kept: Order
) -> None:
    assert order.settled(terms) == kept


@pytest.mark.parametrize(
    ("terms", "order", "field", "code"),
    [
        (FIXED, Order(501), "amount", "notOffered"),
        (FIXED, Order(None, 4), "quantity", "tooLarge"),
        (FIXED, Order(None, 0), "quantity", "tooSmall"),
        (CHOICE, Order(99), "amount", "tooSmall"),
        (CHOICE, Order(BILLION_USD + 1), "amount", "tooLarge"),
        (CHOICE, Order(BILLION_USD, 2), "amount", "tooLarge"),
        (BOUNDED, Order(2001), "amount", "tooLarge"),
        (BOUNDED, Order(500, 2), "quantity", "tooLarge"),
    ],
)
def test_what_a_payer_may_not_take_is_refused_by_its_field(
    terms: Terms, order: Order, field: str, code: str
) -> None:
    with pytest.raises(InvalidBody) as refused:
        order.settled(terms)
    assert code_of(refused) == (field, code)


def test_a_refusal_names_the_bound_in_plain_decimals() -> None:
    with pytest.raises(InvalidBody, match=r"amount: must be at least 1\.00 USD"):
        Order(1).settled(CHOICE)
    with pytest.raises(InvalidBody, match=r"amount: must be at most 500000000\.00 USD"):
        Order(BILLION_USD, 2).settled(CHOICE)
    with pytest.raises(InvalidBody, match="quantity: must be a number from 1 to 1"):
        check_quantity(BOUNDED, 2)


@pytest.mark.parametrize(
    "order", [Order(0), Order(-5), Order(None, 0), Order(None, -1), Order(2**63), Order(2**62, 2)]
)
def test_no_order_of_nothing_or_beyond_64_bits_reaches_the_database(order: Order) -> None:
    with pytest.raises(InvalidBody):
        check_bounds(order)


def test_the_largest_order_fits_in_64_bits() -> None:
    check_bounds(Order(2**63 - 1))
    check_bounds(Order(amounts.MAX_MINOR // 100, 100))


@pytest.mark.parametrize("code", ["USD", "JPY", "BTC", "KWD", "SAT"])
def test_no_currency_s_bound_is_beyond_64_bits(code: str) -> None:
    most = amounts.most_minor(code)
    assert most <= amounts.MAX_MINOR
    assert amounts.to_minor(amounts.from_minor(most, code), code) == most


@given(
    st.lists(st.integers(1, 2**62), min_size=1, max_size=30),
    st.integers(1, amounts.MAX_MINOR),
)
def test_shares_add_up_to_the_amount_and_are_less_than_one_unit_off(
    weights: list[int], amount: int
) -> None:
    shares, whole = split_amount(weights, amount), sum(weights)
    assert sum(shares) == amount
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share * whole - weight * amount) < whole


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=9), st.integers(1, 100))
def test_units_multiply_each_share_exactly(shares: list[int], quantity: int) -> None:
    terms = terms_of(tuple(Receiver("a", share) for share in shares), "USD")
    taken = Order(None, quantity).terms(terms)
    assert [one.amount for one in taken.receivers] == [share * quantity for share in shares]
    assert taken.amount == Order(None, quantity).amount(terms)


def test_a_tie_goes_to_the_first_receiver() -> None:
    assert split_amount([1, 1], 101) == (51, 50)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=6),
    st.integers(1, 400),
    st.integers(0, 400),
)
def test_who_has_a_sure_share_gets_something_of_each_larger_amount(
    weights: list[int], least: int, more: int
) -> None:
    terms = terms_of(tuple(Receiver("a", weight) for weight in weights), "USD")
    if unsure_share(terms, least, None) is None:
        assert 0 not in split_amount(weights, least + more)


def test_a_share_that_was_rounded_up_is_not_sure() -> None:
    """Of 3 cents the third receiver gets one, and of 4 none."""
    assert split_amount([3, 3, 1], 3) == (1, 1, 1)
    assert split_amount([3, 3, 1], 4) == (2, 2, 0)
    terms = terms_of(tuple(Receiver("a", weight) for weight in (3, 3, 1)), "USD")
    assert [unsure_share(terms, least, None) for least in (3, 6, 7)] == [2, 2, None]
