"""Amounts to choose from, as they are typed: read exactly, or asked about."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.forms.shares_and_amounts import read_amounts, usual_choice
from bot.chat.forms.typed_text import AmbiguousAmount, Price
from bot.chat.model.replies import Problem
from bot.chat.model.request_spec import spelled
from bot.core.money.amounts import currencies, format_money, to_minor
from bot.core.text.translations import languages
from bot.interface.parts import AmountChoice

CHOICES = [
    ("5/10/20 EUR", "5", ["5", "10", "20"], None, "EUR"),
    ("20/5/10 EUR", "5", ["20", "5", "10"], None, "EUR"),
    ("€5/10/20", "5", ["5", "10", "20"], None, "EUR"),
    ("5/10/20€", "5", ["5", "10", "20"], None, "EUR"),
    ("5€/10€/20 EUR", "5", ["5", "10", "20"], None, "EUR"),
    ("EUR 5 / 10 / 20", "5", ["5", "10", "20"], None, "EUR"),
    ("3+ EUR", "3", [], None, "EUR"),
    ("€3+", "3", [], None, "EUR"),
    ("3€+", "3", [], None, "EUR"),
    ("3 EUR +", "3", [], None, "EUR"),
    ("3+ 5/10/20 EUR", "3", ["5", "10", "20"], None, "EUR"),
    ("€3+ €5/10", "3", ["5", "10"], None, "EUR"),
    ("3+5/10 EUR", "3", ["5", "10"], None, "EUR"),
    ("3-500 EUR", "3", [], "500", "EUR"),
    ("€3 – €500", "3", [], "500", "EUR"),
    ("3-500 5/10 EUR", "3", ["5", "10"], "500", "EUR"),
    ("2.50/5 EUR", "2.50", ["2.50", "5"], None, "EUR"),
    ("2,50/5,00 €", "2.50", ["2.50", "5.00"], None, "EUR"),
    ("$.50/1", "0.50", ["0.50", "1"], None, "USD"),
    ("$5/10 MXN", "5", ["5", "10"], None, "MXN"),
    ("10'000/20'000 CHF", "10000", ["10000", "20000"], None, "CHF"),
    ("٥/١٠ EUR", "5", ["5", "10"], None, "EUR"),
    ("５／１０ EUR", "5", ["5", "10"], None, "EUR"),
    ("0.001/0.002 BTC", "0.001", ["0.001", "0.002"], None, "BTC"),
    ("5/10/20", "5", ["5", "10", "20"], None, None),
]


@pytest.mark.parametrize(("text", "minimum", "suggested", "maximum", "currency"), CHOICES)
def test_amounts_with_slashes_plus_or_dash_are_a_choice(
    text: str, minimum: str, suggested: list[str], maximum: str | None, currency: str | None
) -> None:
    price = read_amounts(text, None)
    assert isinstance(price, Price)
    assert price.choice
    amounts = [Decimal(each) for each in suggested]
    assert [*price.choice.suggested] == amounts
    assert price.choice.minimum == Decimal(minimum)
    assert price.choice.maximum == (maximum and Decimal(maximum))
    assert (price.amount, price.currency) == ((*amounts, Decimal(minimum))[0], currency)


def test_a_currency_that_is_not_named_is_the_usual_one() -> None:
    price = read_amounts("5/10", "EUR")
    assert isinstance(price, Price)
    assert price.currency == "EUR"


PROBLEMS = [
    ("5 10 20 EUR", "problem-choice-bare"),
    ("5, 10, 20 EUR", "problem-choice-bare"),
    ("1 000/2 000 EUR", "problem-choice-bare"),
    ("5 + 10 EUR", "problem-choice-bare"),
    ("3+ 5 EUR", "problem-choice-bare"),
    ("1/2/3/4/5 EUR", "problem-choice-many"),
    ("5/10/5 EUR", "problem-choice-twice"),
    ("5/5.00 EUR", "problem-choice-twice"),
    ("5+ 3/10 EUR", "problem-choice-low"),
    ("3-10 5/20 EUR", "problem-choice-high"),
    ("10-3 EUR", "problem-choice-range"),
    ("3-3 EUR", "problem-choice-range"),
    ("€5/$10", "problem-choice-mixed"),
    ("5 EUR/10 USD/20 GBP", "problem-choice-mixed"),
    ("1.000/2.000 EUR", "problem-choice-unclear"),
    ("5.001/10 EUR", "problem-choice-unclear"),
    ("5/10 foo", "problem-currency"),
    ("5/10 kr", "problem-currency"),
    ("0/5 EUR", "problem-amount-notPositive"),
    ("-5/10 EUR", "problem-amount-notPositive"),
    ("5/2000000000 EUR", "problem-amount-tooLarge"),
    ("2.5555/5 EUR", "problem-amount-decimals"),
    ("1/2.5 JPY", "problem-amount-decimals"),
    ("5²/10 EUR", "problem-amount"),
    ("5//10 EUR", "problem-amount"),
    ("/5 EUR", "problem-amount"),
]


@pytest.mark.parametrize(("text", "key"), PROBLEMS)
def test_any_other_amounts_are_asked_about(text: str, key: str) -> None:
    problem = read_amounts(text, None)
    assert isinstance(problem, Problem)
    assert problem.key == key
    for language in languages():
        assert problem.text(language).startswith("⚠")


FIXED = ["5 EUR", "€5", "1 000 EUR", "500/- INR", "500/= KES", "5,- EUR", "12€50"]


@pytest.mark.parametrize("text", FIXED)
def test_a_price_stays_one_price(text: str) -> None:
    price = read_amounts(text, None)
    assert isinstance(price, Price)
    assert price.choice is None


def test_a_price_with_two_readings_is_still_asked_about() -> None:
    assert isinstance(read_amounts("1.000 EUR", None), AmbiguousAmount)


@pytest.mark.parametrize("text", ["5/10 EUR", "3+ EUR", "3-10 EUR", "€3+ 5/10"])
def test_at_another_service_a_choice_gets_a_plain_answer(text: str) -> None:
    problem = read_amounts(text, None, may_choose=False)
    assert isinstance(problem, Problem)
    assert problem.key == "problem-choice-elsewhere"


@pytest.mark.parametrize("currency", sorted(currencies()))
def test_the_usual_choice_of_each_currency_is_sound(currency: str) -> None:
    choice = usual_choice(currency)
    assert choice.is_sound
    assert len(choice.suggested) == 3
    assert [format_money(to_minor(each, currency), currency, "en") for each in choice.amounts]


@given(st.sets(st.decimals("0.01", "999", places=2), min_size=1, max_size=6), st.booleans())
def test_a_choice_is_read_as_it_is_spelled(amounts: set[Decimal], has_maximum: bool) -> None:  # noqa: FBT001
    minimum, *rest = sorted(amounts)
    maximum = rest.pop() if has_maximum and rest else None
    suggested = () if len(rest) == 1 else (*rest[:4],)
    choice = AmountChoice(minimum, suggested, maximum)
    price = read_amounts(f"{spelled(choice)} EUR", None)
    assert price == Price(choice.first, "EUR", choice)


@given(st.text(st.sampled_from("0159.,/+- €$EURk'\u066b٣٤/½²\n"), max_size=40))
def test_whatever_is_typed_is_read_or_asked_about(text: str) -> None:
    found = read_amounts(text, "EUR")
    if isinstance(found, Price) and found.choice:
        assert found.choice.is_sound
        assert found.choice.first == found.amount
