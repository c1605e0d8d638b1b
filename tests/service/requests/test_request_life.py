"""The request's life: ids, kinds, states, units and time rules, edits."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import InvalidBody, NotEnoughUnits, NotLimited
from bot.interface.vocabulary import Kind, Status
from bot.service.checkouts import order
from bot.service.requests import changes
from bot.service.requests.changes import Creation, Edit
from bot.service.requests.request import (
    RESERVED,
    PaymentRequest,
    Product,
    Receiver,
    Terms,
    Units,
    Webhook,
)
from bot.service.requests.request_rows import SECOND_OF_ID, TIME_DIGITS, new_id

NOW = 1_800_000_000_000


def terms(kind: Kind = Kind.NEVER, **given: Any) -> Terms:
    product, receivers = Product("Coffee"), (Receiver("alice", 500),)
    return Terms(kind, product, receivers, "USD", **given)


def request(kind: Kind = Kind.NEVER, **given: Any) -> PaymentRequest:
    return PaymentRequest("id", "app", NOW, terms(kind), **given)


def drop(remaining: int, reserved: int = 0, total: int = 3) -> PaymentRequest:
    return request(Kind.LIMIT, units=Units(total, remaining, reserved))


@pytest.mark.parametrize(
    ("it", "status", "hindrance"),
    [
        (request(), Status.ACTIVE, None),
        (request(enabled_at=NOW + 1), Status.SCHEDULED, "scheduled"),
        (request(enabled_at=NOW), Status.ACTIVE, None),
        (request(expires_at=NOW), Status.EXPIRED, "expired"),
        (request(expires_at=NOW + 1), Status.ACTIVE, None),
        (request(enabled_at=NOW + 9, expires_at=NOW), Status.EXPIRED, "expired"),
        (request(Kind.ONCE, units=Units(1, 1)), Status.ACTIVE, None),
        (request(Kind.ONCE, units=Units(1, 0, 1)), Status.ACTIVE, RESERVED),
        (request(Kind.ONCE, units=Units(1, 0)), Status.COMPLETED, "completed"),
        (drop(1), Status.ACTIVE, None),
        (drop(0, reserved=2), Status.ACTIVE, RESERVED),
        (drop(0), Status.SOLD_OUT, "soldOut"),
        (replace(drop(0), expires_at=NOW), Status.SOLD_OUT, "soldOut"),
        (replace(drop(0, reserved=1), expires_at=NOW), Status.EXPIRED, "expired"),
    ],
)
def test_the_status_follows_from_times_and_units(
    it: PaymentRequest, status: Status, hindrance: str | None
) -> None:
    """isEnabled is true exactly while the request can be paid."""
    assert it.status(NOW) is status
    assert it.hindrance(NOW) == hindrance
    assert it.is_enabled(NOW) is (hindrance is None)


@pytest.mark.parametrize(
    ("kind", "total", "units"),
    [
        (Kind.NEVER, None, None),
        (Kind.ONCE, None, Units(1, 1)),
        (Kind.LIMIT, 7, Units(7, 7)),
    ],
)
def test_each_kind_has_its_units(kind: Kind, total: int | None, units: Units | None) -> None:
    """A one-off is a request of one unit, a donation has no units."""
    made = changes.create(Creation(terms(kind), total), "id", "app", "", NOW)
    assert made.units == units
    assert made.created_at == NOW
    assert made.paid_count == 0


@pytest.mark.parametrize(("kind", "total"), [(Kind.LIMIT, None), (Kind.ONCE, 1), (Kind.NEVER, 5)])
def test_only_the_limit_kind_takes_total_units(kind: Kind, total: int | None) -> None:
    with pytest.raises(InvalidBody) as refusal:
        changes.create(Creation(terms(kind), total), "id", "app", "", NOW)
    assert [one.field for one in refusal.value.info] == ["totalUnits"]


def test_an_edit_that_names_nothing_changes_nothing() -> None:
    it = request(expires_at=NOW, units=None)
    assert changes.edit(it, Edit()) == it


def test_an_edit_changes_what_it_names_and_clears_with_none() -> None:
    it = PaymentRequest(
        "id",
        "app",
        NOW,
        replace(
            terms(redirect_url="https://a.example", webhook=Webhook("https://h.example", "{}")),
            product=Product("Coffee", "Hot", None, "https://i.example/a.png"),
        ),
    )
    edited = changes.edit(it, Edit(name="Tea", image_url=None, redirect_url=None)).terms
    assert edited.product == Product("Tea", "Hot", None, None)
    assert edited.redirect_url is None
    assert edited.webhook == Webhook("https://h.example", "{}")


@pytest.mark.parametrize(
    ("change", "webhook"),
    [
        (Edit(), Webhook("https://h.example", '{"a":1}')),
        (Edit(webhook_url="https://n.example"), Webhook("https://n.example", '{"a":1}')),
        (Edit(custom_parameters=None), Webhook("https://h.example", None)),
        (Edit(webhook_url=None), None),
    ],
)
def test_the_webhook_is_edited_part_by_part(change: Edit, webhook: Webhook | None) -> None:
    it = PaymentRequest("id", "app", NOW, terms(webhook=Webhook("https://h.example", '{"a":1}')))
    assert changes.edit(it, change).terms.webhook == webhook


def test_parameters_need_a_webhook_to_go_to() -> None:
    with pytest.raises(InvalidBody) as refusal:
        changes.edit(request(), Edit(custom_parameters="{}"))
    assert refusal.value.info[0].field == "notifications.webhook.webhookUrl"


def test_an_edit_revives_a_request_that_only_expired() -> None:
    """A sold one stays as it is."""
    over = request(expires_at=NOW)
    assert changes.edit(over, Edit(expires_at=NOW + 1)).is_enabled(NOW)
    assert changes.edit(over, Edit(expires_at=None)).is_enabled(NOW)
    sold = replace(drop(0), expires_at=NOW)
    assert changes.edit(sold, Edit(expires_at=None)).status(NOW) is Status.SOLD_OUT


def test_an_edit_removes_remaining_units() -> None:
    it = drop(2, reserved=1, total=5)
    assert changes.edit(it, Edit(decrease=2)).units == Units(5, 0, 1, 2)
    with pytest.raises(NotEnoughUnits, match="2 units remain, 3 were"):
        changes.edit(it, Edit(decrease=3))


@pytest.mark.parametrize("it", [request(), request(Kind.ONCE, units=Units(1, 1))])
def test_only_a_limited_drop_has_units_to_remove(it: PaymentRequest) -> None:
    with pytest.raises(NotLimited):
        changes.edit(it, Edit(decrease=1))


def test_a_price_is_read_in_the_currency_of_the_request() -> None:
    assert changes.edit(request(), Edit(price_before_discount=Decimal("9.99"))).terms == terms(
        price_before_discount=999
    )
    with pytest.raises(InvalidBody, match="priceBeforeDiscount"):
        changes.edit(request(), Edit(price_before_discount=Decimal("9.999")))


@given(
    total=st.integers(1, 50),
    steps=st.lists(st.tuples(st.sampled_from(["decrease", "end", "revive"]), st.integers(1, 60))),
)
def test_edits_keep_the_units_balanced(total: int, steps: list[tuple[str, int]]) -> None:
    """Whatever is edited: 0 <= remaining <= total, and paid + remaining + decreased = total."""
    it = request(Kind.LIMIT, units=Units(total, total))
    for step, number in steps:
        change = {
            "decrease": Edit(decrease=number),
            "end": Edit(expires_at=NOW),
            "revive": Edit(expires_at=NOW + number),
        }[step]
        before = it
        try:
            it = changes.edit(it, change)
        except NotEnoughUnits:
            assert before.units is not None
            assert number > before.units.remaining
    assert it.units is not None
    assert 0 <= it.units.remaining <= total
    assert it.units.remaining + it.units.decreased == total
    assert it.units.paid == 0


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({}, None),
        ({"phoneNumber": "+1"}, "+1"),
        ({"email": "A@b.example", "phoneNumber": "+1"}, "a@b.example"),
        ({"paymail": "P@b.example", "email": "a@b.example"}, "p@b.example"),
    ],
)
def test_payers_are_identified_by_the_data_they_entered(
    data: dict[Any, str], name: str | None
) -> None:
    assert order.payer_key(data) == name


SECOND = 1 << SECOND_OF_ID
"""In ms."""


def test_an_id_has_24_lower_case_hex_digits_at_any_time() -> None:
    assert all(re.fullmatch("[0-9a-f]{24}", new_id(now)) for now in (0, SECOND, 2**41, 2**62))


def test_ids_of_the_same_second_begin_alike_and_later_ones_follow() -> None:
    begun = 1_000 * SECOND
    first, last, later = (
        new_id(now)[:TIME_DIGITS] for now in (begun, begun + SECOND - 1, begun + SECOND)
    )
    assert first == last < later


def test_the_time_begins_again_after_twelve_days() -> None:
    round_ = SECOND << 4 * TIME_DIGITS
    assert 12 < round_ / 86_400_000 < 13
    assert new_id(round_ - 1)[:TIME_DIGITS] == "f" * TIME_DIGITS
    assert new_id(round_)[:TIME_DIGITS] == "0" * TIME_DIGITS


def test_all_digits_behind_the_time_are_random() -> None:
    """Each has several values among a thousand."""
    ids = [new_id(0)[TIME_DIGITS:] for _ in range(1_000)]
    assert len(set(ids)) == len(ids)
    assert all(len(set(column)) > 10 for column in zip(*ids, strict=True))
