"""What an edit says to the service, what it makes of a spec, and how doubts are settled: tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.forms.flow import Change
from bot.chat.forms.request_fields import EDITS
from bot.chat.model.jobs import UnitCounts
from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.request_bodies import Addresses, edit_body
from bot.chat.payments.request_changes import (
    apply_edit,
    assume_edit,
    copy_spec,
    count_units,
    is_edit_made,
    removal_problem,
)
from bot.chat.store.link_rows import LIVE, PaymentLink
from tests.support.chat_harness import COFFEE, DROP, service_answer
from tests.support.service_harness import NOON

IMAGES = "https://bot.example.org/images"
ADDRESSES = Addresses("https://bot.example.org/webhooks", IMAGES)
PACK = {"name": "Stickers", "description": "A pack"}
HOOK = {
    "webhookUrl": "https://bot.example.org/webhooks/token",
    "customParameters": {"listing": "abcdefghij"},
}
LATER = NOON + 3_600_500


def link(spec: RequestSpec = DROP, **told: Any) -> PaymentLink:
    known = service_answer(**told) if told else None
    return PaymentLink("abcdefghij", 1, 1, "token", LIVE, spec, "r", known, 0, NOON)


def change(field: str, value: str | int | None) -> Change:
    return Change("abcdefghij", field, value)


@pytest.mark.parametrize(
    ("field", "value", "body"),
    [
        ("name", "Tea", {"product": {**PACK, "name": "Tea"}}),
        ("description", "Hot", {"product": {**PACK, "description": "Hot"}}),
        ("description", None, {"product": {**PACK, "description": None}}),
        ("picture", "ab12", {"product": {**PACK, "imageUrl": f"{IMAGES}/ab12"}}),
        ("picture", None, {"product": {**PACK, "imageUrl": None}}),
        ("redirect", "https://x.test/", {"redirectUrl": "https://x.test/"}),
        ("redirect", None, {"redirectUrl": None}),
        ("email", "a@b.example", {"notifications": {"email": "a@b.example", "webhook": HOOK}}),
        ("email", None, {"notifications": {"email": None, "webhook": HOOK}}),
        ("end", LATER, {"expirationInSeconds": 3601}),
        ("end", NOON - 1, {"expirationInSeconds": 1}),
        ("end", None, {"expirationInSeconds": None}),
        ("units", 2, {"decreaseRemainingUnits": 2}),
    ],
)
def test_each_field_is_sent_as_the_interface_has_it(
    field: str, value: str | int | None, body: dict[str, Any]
) -> None:
    """The rest of its object is sent along: a server may replace that object as a whole."""
    assert edit_body(change(field, value), link(), ADDRESSES, NOON) == body


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "Tea"), ("description", None), ("picture", "x"), ("end", LATER), ("email", "a@b")],
)
def test_an_edit_changes_only_its_field_of_the_spec(field: str, value: str | int | None) -> None:
    other: dict[str, Any] = {EDITS[field].attribute: value}
    assert apply_edit(DROP, change(field, value)) == replace(DROP, **other)


@pytest.mark.parametrize(("number", "left"), [(1, 4), (4, 1), (5, 1), (9, 1)])
def test_removed_units_are_subtracted_from_the_spec_which_keeps_at_least_one(
    number: int, left: int
) -> None:
    """A spec of 0 units could not be parsed any more."""
    assert apply_edit(DROP, change("units", number)).units == left


@pytest.mark.parametrize(
    ("number", "told", "problem"),
    [
        (2, {"remaining_units": 3}, None),
        (3, {"remaining_units": 3}, None),
        (4, {"remaining_units": 3}, "units-too-many"),
        (5, {"remaining_units": 5}, "units-all"),
        (4, {}, None),
        (6, {}, "units-too-many"),
    ],
)
def test_at_most_the_units_left_are_removed_and_never_all_of_a_drop(
    number: int, told: dict[str, Any], problem: str | None
) -> None:
    assert removal_problem(link(DROP, **told), change("units", number)) == problem


@pytest.mark.parametrize(
    ("before", "later", "gone"),
    [
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 6, None, 2), 2),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 8, None, 2), 0),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 5, None, 3), 2),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 5, None, 2), 3),
        (UnitCounts(10, 8, 2, 2), UnitCounts(10, 5, 3, 2), 2),
        (UnitCounts(10, 8, 2, 0), UnitCounts(10, 7, 3, 0), 0),
        (UnitCounts(10, 8, None, 2), UnitCounts(8, 5, None, 2), 2),
        (UnitCounts(10, None, None, 2), UnitCounts(10, 5, None, 2), None),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, None, None, 2), None),
    ],
)
def test_removed_units_are_distinguished_from_sold_ones(
    before: UnitCounts, later: UnitCounts, gone: int | None
) -> None:
    """Payments are subtracted, by the server's count or ours; a lower total is the exact answer."""
    assert before.removed_until(later) == gone


def test_reserved_units_do_not_count_as_removed() -> None:
    before = count_units(service_answer(total_units=5, remaining_units=5), 0)
    later = count_units(service_answer(total_units=5, remaining_units=2, reserved_units=1), 0)
    assert before.removed_until(later) == 2


@pytest.mark.parametrize(
    ("edited", "told", "made"),
    [
        (change("name", "Tea"), {"product": {"name": "Tea", "imageUrl": None}}, True),
        (change("name", "Tea"), {"product": {"name": "Coffee"}}, False),
        (change("name", "Tea"), {}, False),
        (change("description", None), {"product": {"name": "Coffee", "description": ""}}, True),
        (change("description", None), {"product": {"name": "Coffee"}}, True),
        (change("description", None), {"product": {"name": "Coffee", "description": "x"}}, False),
        (change("picture", "x"), {"product": {"name": "Coffee"}}, False),
        (change("email", "a@b"), {"notifications": {"email": "a@b", "webhook": {}}}, True),
        (change("email", None), {"notifications": {"webhook": HOOK}}, True),
        (change("redirect", None), {"redirectUrl": "https://x.test"}, False),
    ],
)
def test_an_edit_counts_as_made_if_the_server_has_its_values(
    edited: Change, told: dict[str, Any], *, made: bool
) -> None:
    body = edit_body(edited, link(COFFEE), ADDRESSES, NOON)
    assert is_edit_made(edited, body, service_answer(), told) is made


@pytest.mark.parametrize(
    ("value", "ends", "made"),
    [(None, None, True), (None, LATER, False), (LATER, None, False), (LATER, LATER + 900, True),
     (LATER, LATER + 900_000, False)],
)  # fmt: skip
def test_an_end_counts_as_made_if_the_servers_end_is_near(
    value: int | None, ends: int | None, *, made: bool
) -> None:
    edited = change("end", value)
    body = edit_body(edited, link(), ADDRESSES, NOON)
    assert is_edit_made(edited, body, service_answer(expires_at=ends), {}) is made


def test_a_confirmed_edit_is_assumed_in_the_known_answer() -> None:
    known = service_answer(remaining_units=3, expires_at=NOON, is_enabled=False)
    assert assume_edit(known, change("units", 2)).remaining_units == 1
    assert assume_edit(known, change("end", None)) == replace(
        known, expires_at=None, is_enabled=True
    )
    assert assume_edit(known, change("name", "Tea")) == known


def test_a_duplicate_has_no_times_that_have_passed() -> None:
    """Otherwise it would have ended as soon as it is created."""
    past = replace(COFFEE, starts_at=NOON - 2, ends_at=NOON - 1)
    ahead = replace(COFFEE, starts_at=NOON + 1, ends_at=NOON + 2)
    assert (copy_spec(past, NOON), copy_spec(ahead, NOON)) == (COFFEE, ahead)
