"""How currencies are spelled, and when a price is the seller's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.model.remote_request import ServerPrice
from bot.chat.payments.create_attempt import (
    DIALECTS,
    dialects_to_try,
    is_about_spelling,
    is_price_right,
)
from bot.core.errors import FieldProblem
from bot.interface.parts import AmountChoice
from tests.support.chat_harness import COFFEE, service_answer


@pytest.mark.parametrize(
    ("known", "names"),
    [
        (None, ["typed", "corrected", "sample"]),
        ("corrected", ["corrected", "typed", "sample"]),
        ("sample", ["sample", "typed", "corrected"]),
        ("of a later version", ["typed", "corrected", "sample"]),
    ],
)
def test_the_known_dialect_is_tried_first(known: str | None, names: list[str]) -> None:
    assert [one.name for one in dialects_to_try(known, COFFEE, "BSV")] == names


def test_dialects_that_spell_a_spec_alike_are_tried_once() -> None:
    """A price in the instrument currency needs no denomination."""
    tried = dialects_to_try(None, COFFEE, "USD")
    assert [one.spell(COFFEE, "USD") for one in tried] == [
        {"instrumentCurrencyCode": "USD"},
        {"currencyCode": "USD"},
    ]


def test_each_dialect_names_both_currencies() -> None:
    assert [one.spell(COFFEE, "BSV") for one in DIALECTS] == [
        {"instrumentCurrencyCode": "BSV", "denominationCurrencyCode": "USD"},
        {"instrumentCurrencyCode": "BSV", "currency": "USD"},
        {"currencyCode": "BSV", "denominatedIn": "USD"},
    ]


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (None, None),
        (ServerPrice("5", "USD", "BSV"), True),
        (ServerPrice("5.000", "USD"), True),
        (ServerPrice("5", "BSV", "BSV"), False),
        (ServerPrice("5.01", "USD", "BSV"), False),
        (ServerPrice("0", "USD", "BSV"), False),
        (ServerPrice("5", "USD", "MNEE"), False),
        (ServerPrice("1E+999999", "USD", "BSV"), False),
    ],
)
def test_a_price_is_right_to_the_last_decimal_and_in_both_currencies(
    price: ServerPrice | None, *, said: bool | None
) -> None:
    assert is_price_right(replace(service_answer(), price=price), COFFEE, "BSV") is said


def test_a_price_is_right_only_with_the_choice_that_was_wished_for() -> None:
    price, choice = ServerPrice("5", "USD", "BSV"), AmountChoice(300, (500, 1000))
    chosen = replace(COFFEE, choice=choice)
    answer = replace(service_answer(), price=price)
    assert is_price_right(answer, chosen, "BSV") is False
    assert is_price_right(replace(answer, choice=choice), chosen, "BSV") is True
    assert is_price_right(replace(answer, choice=choice), COFFEE, "BSV") is False
    other = replace(answer, choice=AmountChoice(300, (500, 900)))
    assert is_price_right(other, chosen, "BSV") is False


@pytest.mark.parametrize(
    ("field", "message", "expected"),
    [
        ("currency", "is not allowed", True),
        ("body.denominatedIn", "is not allowed", True),
        ("instrumentCurrencyCode", "is required", True),
        ("", "Unknown denomination", True),
        ("", "The currencies differ", True),
        ("", "Bad request", False),
        ("product.name", "names a currency", False),
        ("receivers.0.sendAmount", "is too small", False),
    ],
)
def test_only_a_refusal_about_currencies_may_be_about_their_spelling(
    field: str, message: str, *, expected: bool
) -> None:
    assert is_about_spelling(FieldProblem(field, message)) is expected
