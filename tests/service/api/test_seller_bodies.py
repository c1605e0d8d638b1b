"""The seller and the choice of amounts in bodies, checked field by field."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from bot.core import exact_json
from bot.core.brand import COLOURS
from bot.interface.answers import PublicAnswer, RequestAnswer, RequestList
from bot.interface.parts import AmountChoice
from bot.service.requests.changes import Edit, SellerEdit
from bot.service.requests.request import SellerProfile
from tests.support.service_harness import (
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    refusal_code,
    refused_fields,
)
from tests.support.wire_bodies import body, read_create, read_edit, refused

WHOLE = {
    "name": "Anna's Bakery",
    "imageUrl": "https://i.example/anna.png",
    "contact": "@anna_bakes",
    "accentColor": "teal",
    "description": "Bread since 1987",
}


def seller_of(**fields: Any) -> SellerProfile | None:
    return read_create(body(seller={"name": "Anna"} | fields)).terms.seller


def edit_of(seller: Any) -> Any:
    return read_edit(exact_json.dumps({"seller": seller})).seller


def test_every_field_is_read() -> None:
    assert seller_of(**WHOLE) == SellerProfile(
        "Anna's Bakery",
        "https://i.example/anna.png",
        "@anna_bakes",
        "Bread since 1987",
        "teal",
    )


def test_only_the_name_is_needed() -> None:
    assert seller_of(contact=None, imageUrl=None) == SellerProfile("Anna")
    assert read_create(body(seller=None)).terms.seller is None
    assert read_create(body()).terms.seller is None


@pytest.mark.parametrize(
    ("contact", "url"),
    [
        ("@anna_", "https://t.me/anna_"),
        ("@Anna4", "https://t.me/Anna4"),
        ("@" + "a" * 32, "https://t.me/" + "a" * 32),
        ("anna@example.org", "mailto:anna@example.org"),
        ("anna@bücher.example", "mailto:anna@xn--bcher-kva.example"),
        ("https://example.org/anna?a=1", "https://example.org/anna?a=1"),
        ("HTTP://example.org", "HTTP://example.org"),
    ],
)
def test_a_contact_is_a_username_an_address_or_a_link(contact: str, url: str) -> None:
    found = seller_of(contact=contact)
    assert found
    assert (found.contact, found.contact_url) == (contact, url)


def test_without_a_contact_there_is_nothing_to_open() -> None:
    assert SellerProfile("Anna").contact_url is None


@pytest.mark.parametrize(
    "contact",
    [
        *("@anna", "anna_bakes", "@" + "a" * 33, "@anna-b", "@anna.b", "@änna_", "@anna_\n"),
        *("anna@", "@example.org", "anna@example.org\r\nBcc: x@example.org", "anna @example.org"),
        *("ftp://example.org", "javascript:alert(1)", "tel:+491234", "example.org"),
        *("https://", "https://a b.example", "https://anna:word@example.org", "", " "),
        "https://example.org/" + "a" * 235,
    ],
)
def test_any_other_contact_is_refused_by_name(contact: str) -> None:
    assert list(refused(body(seller={"name": "Anna", "contact": contact}))) == ["seller.contact"]


@pytest.mark.parametrize("accent", COLOURS)
def test_an_accent_is_one_of_eight_names(accent: str) -> None:
    found = seller_of(accentColor=accent)
    assert found
    assert found.accent == accent


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("name", value) for value in ("", " ", "a" * 101, "a\nb", "a\x00b", 5, None)),
        *(("imageUrl", value) for value in ("", "data:image/png;base64,AA", "/anna.png")),
        *(("accentColor", value) for value in ("Blue", "#1558d6", "", "black", 3)),
        *(("description", value) for value in ("a" * 161, "a\nb", "a\x85b", 5)),
        ("email", "anna@example.org"),
        ("accent", "blue"),
        ("colour", "blue"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(field: str, value: Any) -> None:
    assert list(refused(body(seller={"name": "Anna"} | {field: value}))) == [f"seller.{field}"]
    assert list(refused(exact_json.dumps({"seller": {field: value}}), edit=True)) == [
        f"seller.{field}"
    ]


@pytest.mark.parametrize(
    ("seller", "field"), [({}, "seller.name"), ([], "seller"), ("A", "seller")]
)
def test_a_new_seller_needs_its_name(seller: Any, field: str) -> None:
    assert list(refused(body(seller=seller))) == [field]


def test_the_refusal_says_what_a_contact_and_a_colour_are() -> None:
    said = refused(body(seller={"name": "Anna", "contact": "anna", "accentColor": "black"}))
    assert said == {
        "seller.contact": (
            "must be an @username of Telegram (5 to 32 letters, digits or _), an email address"
            " or a link such as https://example.org"
        ),
        "seller.accentColor": ("must be one of blue, teal, green, orange, red, pink, purple, grey"),
    }


def test_the_longest_values_are_taken() -> None:
    name, line, contact = "a" * 100, "b" * 160, "https://example.org/" + "a" * 234
    assert seller_of(name=name, description=line, contact=contact) == SellerProfile(
        name, contact=contact, description=line
    )


def test_an_edit_has_only_the_fields_of_its_body() -> None:
    assert read_edit('{"seller":null}') == Edit(seller=None)
    assert read_edit('{"seller":{}}') == Edit(seller=SellerEdit())
    assert edit_of({"name": "Anna"}) == SellerEdit(name="Anna")
    assert edit_of({"accentColor": "red", "contact": None}) == SellerEdit(
        accent="red", contact=None
    )
    assert edit_of(WHOLE) == SellerEdit(
        name="Anna's Bakery",
        image_url="https://i.example/anna.png",
        contact="@anna_bakes",
        description="Bread since 1987",
        accent="teal",
    )


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


async def test_amounts_that_do_not_fit_each_other_or_the_price_are_refused(
    service: ServiceHarness,
) -> None:
    for fields, problem in (
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
    ):
        answer = await service.seller.post(REQUESTS_PATH, json=NEW | fields)
        assert refusal_code(answer) == (400, "invalidBody"), fields
        assert answer.json()["message"] == problem, fields
        assert refused_fields(answer) == [problem.partition(":")[0]], fields
        assert await service.rows("payment_requests") == [], fields


async def test_every_answer_has_the_choice_beside_its_first_amount_as_the_price(
    service: ServiceHarness,
) -> None:
    """A client that knows nothing of choices shows an amount that may be paid."""
    for choice, said in (
        (
            {"suggested": [10, 5], "maximum": 50},
            {"minimum": 5, "suggested": [10, 5], "maximum": 50},
        ),
        ({"minimum": 10}, {"minimum": 10, "suggested": []}),
    ):
        service.clock.advance(1)
        made = await service.create(receivers=TO_ALICE_AND_BOB, amountChoice=choice)
        found = await service.get(made["id"])
        listed = (await service.seller.get(REQUESTS_PATH)).json()
        public = (await service.anyone.get(f"{REQUESTS_PATH}/public/{made['id']}")).json()
        RequestAnswer.model_validate(found)
        RequestList.model_validate(listed)
        PublicAnswer.model_validate(public)
        for answer in (made, found, listed["items"][0], public):
            assert answer["amountChoice"] == said, choice
            assert answer["paymentAmount"]["amount"] == 10, choice
            assert answer["amountRaised"] == 0, choice


async def test_an_edit_of_the_choice_is_refused(service: ServiceHarness) -> None:
    made = await service.create(amountChoice={"minimum": 5})
    answer = await service.edit(made["id"], {"amountChoice": {"minimum": 3}})
    assert refused_fields(answer) == ["amountChoice"]
    assert (await service.get(made["id"]))["amountChoice"]["minimum"] == 5
