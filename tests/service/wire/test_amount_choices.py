"""`amountChoice`: which choices a request may have, and what answers say of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from bot.interface.answers import PublicAnswer, RequestAnswer, RequestList
from bot.interface.parts import AmountChoice
from tests.support.service_harness import (
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    refusal_code,
    refused_fields,
)
from tests.support.wire_bodies import body, read_create, refused

TO_ALICE_AND_BOB = [
    {"sendAmount": 6, "destination": "alice"},
    {"sendAmount": 4, "destination": "bob"},
]
"""Receivers whose shares add up to 10."""


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        ({"suggested": [10, 5]}, AmountChoice(500, (1000, 500))),
        ({"minimum": None, "suggested": [10, 5]}, AmountChoice(500, (1000, 500))),
        ({"minimum": 3, "suggested": [5]}, AmountChoice(300, (500,))),
        ({"minimum": 5}, AmountChoice(500)),
        ({"minimum": 5, "suggested": []}, AmountChoice(500)),
        ({"minimum": 5, "maximum": 5}, AmountChoice(500, (), 500)),
        (
            {"suggested": [5, 10, 20, 50], "maximum": Decimal("50.01")},
            AmountChoice(500, (500, 1000, 2000, 5000), 5001),
        ),
    ],
)
def test_a_choice_is_read_with_the_smallest_suggestion_as_its_minimum(
    choice: dict[str, Any], read: AmountChoice[int]
) -> None:
    """The suggestions keep their order: the first one is the price."""
    assert read_create(body(amountChoice=choice)).terms.choice == read


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        ({}, "amountChoice.minimum"),
        ({"suggested": []}, "amountChoice.minimum"),
        ({"maximum": 5}, "amountChoice.minimum"),
        ({"minimum": 0}, "amountChoice.minimum"),
        ({"minimum": "5"}, "amountChoice.minimum"),
        ({"minimum": Decimal("5.001")}, "amountChoice.minimum"),
        ({"minimum": 5, "maximum": 10**9 + 1}, "amountChoice.maximum"),
        ({"suggested": [5, 6, 7, 8, 9]}, "amountChoice.suggested"),
        ({"suggested": [5, 10, 5]}, "amountChoice.suggested"),
        ({"suggested": [5, Decimal("5.00")]}, "amountChoice.suggested"),
        ({"suggested": [5, -1]}, "amountChoice.suggested.1"),
        ({"suggested": 5}, "amountChoice.suggested"),
        ({"minimum": 5, "step": 1}, "amountChoice.step"),
        (5, "amountChoice"),
    ],
)
def test_what_is_no_choice_is_refused_by_its_field(choice: Any, field: str) -> None:
    assert list(refused(body(amountChoice=choice))) == [field]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"amountChoice": {"suggested": [10, 5]}},
            "receivers: must add up to the first suggestion of amountChoice",
        ),
        ({"amountChoice": {"minimum": 3}}, "receivers: must add up to the minimum of amountChoice"),
        (
            {"amountChoice": {"minimum": 5, "maximum": 4}},
            "amountChoice.maximum: is less than the minimum",
        ),
        (
            {"amountChoice": {"minimum": 3, "suggested": [5, 2]}},
            "amountChoice.suggested.1: does not lie between the minimum and the maximum",
        ),
        (
            {"amountChoice": {"suggested": [5, 10], "maximum": 9}},
            "amountChoice.suggested.1: does not lie between the minimum and the maximum",
        ),
        (
            {"amountChoice": {"minimum": 5}, "priceBeforeDiscount": 7},
            "priceBeforeDiscount: does not go together with amountChoice",
        ),
    ],
)
async def test_amounts_that_do_not_fit_each_other_or_the_price_are_refused(
    service: ServiceHarness, fields: dict[str, Any], problem: str
) -> None:
    answer = await service.seller.post(REQUESTS_PATH, json=NEW | fields)
    assert refusal_code(answer) == (400, "invalidBody")
    assert answer.json()["message"] == problem
    assert refused_fields(answer) == [problem.partition(":")[0]]
    assert await service.rows("payment_requests") == []


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (
            {"suggested": [10, 5], "maximum": 50},
            {"minimum": 5, "suggested": [10, 5], "maximum": 50},
        ),
        ({"minimum": 10}, {"minimum": 10, "suggested": []}),
    ],
)
async def test_every_answer_has_the_choice_beside_its_first_amount_as_the_price(
    service: ServiceHarness, choice: dict[str, Any], said: dict[str, Any]
) -> None:
    """A client that knows nothing of choices shows an amount that may be paid."""
    made = await service.create(receivers=TO_ALICE_AND_BOB, amountChoice=choice)
    found = await service.get(made["id"])
    listed = (await service.seller.get(REQUESTS_PATH)).json()
    public = (await service.anyone.get(f"{REQUESTS_PATH}/public/{made['id']}")).json()
    RequestAnswer.model_validate(found)
    RequestList.model_validate(listed)
    PublicAnswer.model_validate(public)
    for answer in (made, found, listed["items"][0], public):
        assert answer["amountChoice"] == said
        assert answer["paymentAmount"]["amount"] == 10
        assert answer["amountRaised"] == 0


async def test_an_edit_of_the_choice_is_refused(service: ServiceHarness) -> None:
    made = await service.create(amountChoice={"minimum": 5})
    answer = await service.edit(made["id"], {"amountChoice": {"minimum": 3}})
    assert refused_fields(answer) == ["amountChoice"]
    assert (await service.get(made["id"]))["amountChoice"]["minimum"] == 5
