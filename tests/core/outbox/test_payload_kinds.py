"""Payloads: bodies of queued messages are dataclasses, checked when they are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.errors import Unreadable
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import Pace, Queue
from bot.core.stored_json import PayloadKinds
from tests.support.outbox_queue import QueueHarness
from tests.support.service_harness import Clock


@dataclass(frozen=True, slots=True)
class Item:
    name: str
    amount: int
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parcel:
    items: tuple[Item, ...]
    note: str | None = None
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Letter:
    text: str


PAYLOADS = PayloadKinds(parcel=Parcel, letter=Letter)
PARCEL = Parcel((Item("cup", 5, {"weight": Decimal("1.10"), "tags": ["a"]}),), is_silent=True)
STORED = (
    '{"kind":"parcel","items":[{"name":"cup","amount":5,"facts":{"weight":1.10,"tags":["a"]}}],'
    '"is_silent":true}'
)


def _gather(bodies: Iterable[Any]) -> tuple[int, Any]:
    parcels = list(bodies)
    return len(parcels), Parcel(tuple(item for one in parcels for item in one.items))


def test_a_payload_is_a_json_object_with_its_kind_and_without_defaults() -> None:
    assert PAYLOADS.encode(PARCEL) == STORED


@pytest.mark.parametrize("payload", [PARCEL, Letter("Hi"), Parcel(())])
def test_a_written_payload_is_read_again(payload: object) -> None:
    assert PAYLOADS.decode(PAYLOADS.encode(payload)) == payload


def test_numbers_of_any_value_stay_exact() -> None:
    weight = PAYLOADS.decode(STORED).items[0].facts["weight"]

    assert (type(weight), str(weight)) == (Decimal, "1.10")


def test_a_payload_of_another_queue_is_a_bug() -> None:
    with pytest.raises(KeyError):
        PAYLOADS.encode(Item("cup", 5, {}))


@dataclass(frozen=True, slots=True)
class Animal:
    kind: str


def test_a_payload_with_a_field_kind_is_refused_when_the_queue_is_defined() -> None:
    """The field would overwrite the stored kind, so the message could never be read again."""
    with pytest.raises(TypeError, match=r"Animal\.kind"):
        PayloadKinds(letter=Letter, animal=Animal)


def test_the_name_of_a_kind_may_be_stored_in_another_field() -> None:
    named = PayloadKinds("species", letter=Letter, animal=Animal)
    assert named.encode(Animal("cat")) == '{"species":"animal","kind":"cat"}'
    assert named.decode('{"species":"animal","kind":"cat"}') == Animal("cat")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "its kind is not known"),
        ('{"kind":["letter"]}', "its kind is not known"),
        ('{"kind":"letter"}', "text: Field required"),
        ('{"kind":"letter","text":5}', "text: Input should be a valid string"),
        (
            STORED.replace('"amount":5', '"amount":"secret"'),
            "items.0.amount: Input should be a valid integer, unable to parse string as an integer",
        ),
    ],
)
def test_an_unreadable_payload_is_refused_without_its_values(text: str, why: str) -> None:
    with pytest.raises(Unreadable) as raised:
        PAYLOADS.decode(text)

    assert str(raised.value) == why


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    pace = Pace(1000)
    queue = Queue("parcels", 1000, payloads=PAYLOADS, gather=_gather, lane_pace=lambda _lane: pace)
    harness = QueueHarness(db, queue, clock)
    harness.queue = queue
    return harness


def _put(post: QueueHarness, *payloads: object) -> None:
    def work(tx: Transaction) -> None:
        for payload in payloads:
            outbox.put(tx, post.queue, "a", payload, post.clock())

    post.db.run(work)


def _spoil_first(post: QueueHarness) -> None:
    sql = "UPDATE outbox SET body = '[]' WHERE id = (SELECT MIN(id) FROM outbox)"
    post.db.run(lambda tx: tx.execute(sql))


def test_a_claimed_message_has_a_payload_as_its_body(post: QueueHarness) -> None:
    _put(post, PARCEL)

    assert post.first().body == PARCEL


def test_gathered_payloads_are_stored_as_one(post: QueueHarness) -> None:
    _put(post, PARCEL, PARCEL)

    assert post.first().body.items == PARCEL.items * 2


def test_a_message_that_cannot_be_read_is_set_aside_and_its_lane_goes_on(
    post: QueueHarness,
) -> None:
    _put(post, Letter("broken"), Letter("whole"))
    _spoil_first(post)

    assert post.claim() == []
    post.clock.advance(1)
    assert [message.body for message in post.claim()] == [Letter("whole")]
    assert [(row["state"], row["note"]) for row in post.rows()] == [
        ("dead", "its body can't be read: not a JSON object"),
        ("leased", None),
    ]
