"""What only the embedded service answers: read where it is sound, left out where it is not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bot.chat.model.remote_request import RemoteRequest, read_request
from bot.chat.model.request_spec import CodeCounts
from bot.core import exact_json, stored_json
from bot.interface.parts import AmountChoice

PLAIN = {
    "id": "r", "paymentRequestUrl": "https://pay.example/r", "currencyCode": "EUR",
    "paymentAmount": {"amount": 5, "currencyCode": "EUR", "denominatedIn": "EUR"},
}  # fmt: skip
CHOICE = {"minimum": 3, "suggested": [5, Decimal("10.50")], "maximum": 500}
FULL = {
    "amountChoice": CHOICE, "goal": 1000, "amountRaised": Decimal("1040.50"), "maxQuantity": 3,
    "delivers": "codes", "delivery": {"codes": {"total": 9, "assigned": 4, "waiting": 0}},
}  # fmt: skip


def read(**more: object) -> RemoteRequest:
    return read_request(exact_json.loads(exact_json.dumps({**PLAIN, **more})), is_embedded=True)


def test_all_of_it_is_read_in_minor_units_and_stored() -> None:
    answer = read(**FULL)
    assert answer.choice == AmountChoice(300, (500, 1050), 50_000)
    assert (answer.goal, answer.raised, answer.max_quantity) == (100_000, 104_050, 3)
    assert (answer.delivers, answer.codes) == ("codes", CodeCounts(9, 4, 0))
    assert answer.is_embedded
    assert stored_json.read(RemoteRequest, stored_json.write(RemoteRequest, answer)) == answer


def test_an_answer_without_any_of_it_is_whole() -> None:
    answer = read()
    assert (answer.choice, answer.goal, answer.raised, answer.codes) == (None,) * 4
    assert stored_json.read(RemoteRequest, stored_json.write(RemoteRequest, answer)) == answer


def test_sums_may_be_nothing_or_more_than_one_payment_can_be() -> None:
    assert read(amountRaised=0).raised == 0
    assert read(amountRaised=5_000_000_000).raised == 500_000_000_000


@pytest.mark.parametrize(
    "odd",
    [
        None, "5", True, [], {}, {"minimum": 0}, {"minimum": "3"}, {"suggested": [5]},
        {"minimum": 3, "suggested": [2]}, {"minimum": 3, "suggested": [5, 5]},
        {"minimum": 3, "suggested": "5"}, {"minimum": 3, "suggested": [None]},
        {"minimum": 3, "maximum": 2}, {"minimum": 3, "maximum": "x"},
        {"minimum": 1, "suggested": [1, 2, 3, 4, 5]}, {"minimum": Decimal("3.001")},
    ],
)  # fmt: skip
def test_a_choice_of_another_form_is_left_out(odd: object) -> None:
    assert read(amountChoice=odd).choice is None


@pytest.mark.parametrize("odd", [None, "x", True, [], {}, -1, Decimal("0.001"), 10**30])
def test_other_values_of_another_form_are_left_out(odd: object) -> None:
    answer = read(goal=odd, amountRaised=odd, maxQuantity=odd, delivers=odd, delivery=odd)
    assert (answer.goal, answer.raised, answer.max_quantity) == (None, None, None)
    assert (answer.delivers, answer.codes) == (None, None)


def test_amounts_without_a_currency_are_left_out() -> None:
    bare = {"id": "r", "paymentRequestUrl": "https://pay.example/r", **FULL}
    answer = read_request(exact_json.loads(exact_json.dumps(bare)))
    assert (answer.choice, answer.goal, answer.raised) == (None, None, None)
