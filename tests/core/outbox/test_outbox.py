"""The outbox: nothing lost, nothing twice, each lane in its order and none waiting for another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.outbox import lanes, leases, outbox, queries, worker
from bot.core.outbox.queue_policy import ALERT, NOTICE, REPLY, Pace, Queue
from bot.core.stored_json import PayloadKinds
from tests.support.databases import listening
from tests.support.outbox_queue import MESSAGES, QueueHarness
from tests.support.service_harness import NOON, Clock

LEASE = 60_000


@pytest.fixture
def kept(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, Queue("kept", lease=LEASE, keep=True), clock)


@pytest.fixture
def loose(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, Queue("loose", lease=LEASE, ordered=False, width=3), clock)


def test_a_message_comes_as_it_was_put(post: QueueHarness, clock: Clock) -> None:
    post.put("a", "one", priority=ALERT)
    (message,) = post.claim()
    assert (message.lane, message.priority, message.body) == ("a", ALERT, {"word": "one"})
    assert (message.attempts, message.uncertain, message.created_at) == (1, False, clock())


async def test_putting_wakes_the_queue_and_no_other(post: QueueHarness, clock: Clock) -> None:
    mine, other = await listening(post.db, "test", "other")
    await post.db.transaction(lambda tx: outbox.put(tx, post.queue, "a", {}, clock()))
    assert (mine.is_set(), other.is_set()) == (True, False)


@pytest.mark.parametrize("state", ["waiting", "leased", "done"])
def test_the_same_key_is_put_once_whatever_became_of_it(kept: QueueHarness, state: str) -> None:
    assert kept.put("a", "one", key="k") is True
    claimed = kept.claim() if state != "waiting" else []
    if state == "done":
        kept.done(*claimed)
    assert kept.put("a", "two", key="k") is False
    assert kept.states() == {"one": state}


def test_the_classes_of_a_lane_take_turns_each_in_the_order_of_putting(post: QueueHarness) -> None:
    for word, priority in (
        ("n1", NOTICE),
        ("a1", ALERT),
        ("r1", REPLY),
        ("a2", ALERT),
        ("r2", REPLY),
    ):
        post.put("a", word, priority=priority)
    order = []
    while claimed := post.claim():
        order += [message.body["word"] for message in claimed]
        post.done(*claimed)
    assert order == ["r1", "a1", "a2", "r2", "n1"]


def test_an_ordered_lane_handles_one_message_at_a_time_in_the_order_of_putting(
    post: QueueHarness,
) -> None:
    words = [f"{number}" for number in range(50)]
    post.put("a", *words)
    order = []
    while claimed := post.claim():
        assert (len(claimed), post.claim()) == (1, [])
        order += [message.body["word"] for message in claimed]
        post.done(*claimed)
    assert order == words


def test_ids_sort_by_time_and_then_by_call() -> None:
    made = [outbox.new_id(1), outbox.new_id(1), outbox.new_id(2), outbox.new_id(1_800_000_000_000)]
    assert made == sorted(made)
    assert len(set(made)) == 4


def test_a_waiting_first_message_delays_its_lane_alone(post: QueueHarness, clock: Clock) -> None:
    post.put("a", "a1", "a2")
    post.put("b", "b1")
    head = next(message for message in post.claim() if message.lane == "a")
    post.retry(head, 10)
    assert post.words() == []
    post.put("c", "c1")
    assert post.words() == ["c1"]
    clock.advance(10)
    assert post.words() == ["a1"]


def test_in_an_unordered_lane_a_waiting_message_delays_nothing(loose: QueueHarness) -> None:
    """And it does not go before its time, beside those that may go."""
    loose.put("a", "one", "two")
    first, *_ = loose.claim(1)
    loose.retry(first, 60)
    assert (loose.words(), loose.next_open()) == (["two"], 60_000)


def test_an_unordered_lane_has_at_most_its_width_of_leased_messages(loose: QueueHarness) -> None:
    loose.put("a", *"12345")
    claimed = loose.claim()
    assert [message.body["word"] for message in claimed] == ["1", "2", "3"]
    assert loose.claim() == []
    loose.done(claimed[1])
    assert loose.words() == ["4"]


def test_no_more_is_claimed_than_there_is_room_for(post: QueueHarness) -> None:
    for lane in "abcde":
        post.put(lane, lane)
    assert [len(post.claim(2)) for _ in range(3)] == [2, 2, 1]


def test_classes_take_turns_and_within_a_class_the_lane_that_waits_longest_goes_first(
    post: QueueHarness, clock: Clock
) -> None:
    post.put("a", "notice", priority=NOTICE)
    clock.advance(1)
    post.put("b", "alert", priority=ALERT)
    clock.advance(1)
    post.put("c", "later")
    clock.advance(1)
    post.put("d", "latest")
    assert [post.words(1)[0] for _ in range(4)] == ["later", "alert", "latest", "notice"]


def test_lanes_open_since_the_same_time_go_in_the_order_of_their_names(post: QueueHarness) -> None:
    """Whatever the order of putting, and whatever the database makes of equals."""
    for lane in "cadb":
        post.put(lane, lane)
    assert post.words() == ["a", "b", "c", "d"]


def test_recovering_leaves_other_queues_alone(post: QueueHarness, kept: QueueHarness) -> None:
    kept.put("a", "one")
    kept.claim()
    assert post.db.run(lambda tx: leases.recover(tx, post.queue, post.clock())) == 0
    assert kept.states() == {"one": "leased"}


def test_a_queue_with_keep_stores_settled_messages(kept: QueueHarness, clock: Clock) -> None:
    kept.put("a", "one")
    kept.done(*kept.claim())
    (row,) = kept.rows()
    assert (row["state"], row["settled_at"], row["leased_until"]) == ("done", clock(), None)
    assert kept.claim() == []


def test_a_retry_is_claimed_when_it_is_due_and_stays_uncertain(
    post: QueueHarness, clock: Clock
) -> None:
    post.put("a", "one")
    (message,) = post.claim()
    post.db.run(
        lambda tx: outbox.retry(tx, post.queue, message, clock() + 5000, "cut", uncertain=True)
    )
    assert (post.rows()[0]["note"], post.next_open()) == ("cut", 5000)
    clock.advance(5)
    (again,) = post.claim()
    assert (again.attempts, again.uncertain) == (2, True)
    post.retry(again, 0)
    assert post.claim()[0].uncertain is True


def test_a_dead_letter_is_kept_for_the_operator_and_its_lane_continues(post: QueueHarness) -> None:
    post.put("a", "one", "two")
    (message,) = post.claim()
    post.db.run(lambda tx: outbox.dead_letter(tx, post.queue, message, 7, "no use"))
    dead = post.rows()[0]
    assert (dead["state"], dead["note"], dead["settled_at"]) == ("dead", "no use", 7)
    assert post.words() == ["two"]


async def test_a_dead_letter_is_revived_with_its_first_attempt(
    post: QueueHarness, clock: Clock
) -> None:
    (woken,) = await listening(post.db, "test")
    post.put("a", "one")
    (message,) = post.claim()
    post.db.run(lambda tx: outbox.dead_letter(tx, post.queue, message, clock(), "no use"))
    assert not woken.is_set()
    assert await post.db.transaction(lambda tx: outbox.revive(tx, post.queue, message.id, clock()))
    assert woken.is_set()
    (again,) = post.claim()
    assert (again.id, again.attempts) == (message.id, 1)


async def test_a_waiting_retry_is_revived_at_once(post: QueueHarness, clock: Clock) -> None:
    """From the first attempt on as well; its lane opens, and who works the queue is woken."""
    (woken,) = await listening(post.db, "test")
    post.put("a", "one", key="k")
    post.retry(post.first(), 3600)
    assert (post.claim(), post.next_open(), woken.is_set()) == ([], 3_600_000, False)
    assert await post.db.transaction(lambda tx: outbox.revive(tx, post.queue, "k", clock()))
    assert (woken.is_set(), post.next_open()) == (True, 0)
    (row,) = post.rows()
    assert (row["state"], row["attempts"], row["note"]) == ("waiting", 0, None)
    assert post.first().attempts == 1


@pytest.mark.parametrize("state", ["leased", "unknown"])
def test_a_leased_message_is_not_revived(post: QueueHarness, clock: Clock, state: str) -> None:
    post.put("a", "one", key="k")
    post.claim()
    name = "other" if state == "unknown" else "k"
    before = post.rows()
    assert post.db.run(lambda tx: outbox.revive(tx, post.queue, name, clock())) is False
    assert post.rows() == before


def test_only_messages_settled_long_ago_are_swept(kept: QueueHarness, clock: Clock) -> None:
    kept.put("a", "old", "young", "waiting")
    old = kept.claim()
    kept.done(*old)
    clock.advance(10)
    kept.done(*kept.claim())
    swept = kept.db.run(lambda tx: outbox.sweep(tx, kept.queue, clock()))
    assert swept == [message.id for message in old]
    assert kept.states() == {"young": "done", "waiting": "waiting"}


def test_moving_a_lane_moves_its_waiting_messages_in_order(
    post: QueueHarness, clock: Clock
) -> None:
    post.put("old", "one", "two")
    (head,) = post.claim()
    post.put("new", "three")

    def move(tx: Transaction) -> None:
        outbox.retry(tx, post.queue, head, clock(), "moved")
        outbox.move_lane(tx, post.queue, "old", "new")

    post.db.run(move)
    assert {row["lane"] for row in post.rows()} == {"new"}
    order = []
    while claimed := post.claim():
        order += [(message.lane, message.body["word"]) for message in claimed]
        post.done(*claimed)
    assert order == [("new", "one"), ("new", "two"), ("new", "three")]


def test_a_lane_is_read_without_other_lanes_classes_and_queues(post: QueueHarness) -> None:
    other = QueueHarness(post.db, replace(post.queue, name="other"), post.clock)
    other.put("a", *"789")
    post.put("a", *"123")
    first = post.first()
    post.put("a", "4", priority=ALERT)
    post.put("b", "5")
    post.put("c", "6")
    (dead,) = (message for message in post.claim() if message.body["word"] == "6")
    post.db.run(lambda tx: outbox.dead_letter(tx, post.queue, dead, post.clock(), "gone"))

    def read(tx: Transaction) -> tuple[object, ...]:
        near = queries.waiting_near(tx, post.queue, first, most=9)
        newest = queries.newest_of_lane(tx, post.queue, "a", REPLY, "waiting")
        unsettled = queries.unsettled_of_lane(tx, post.queue, "a")
        whole = queries.unsettled_of_queue(tx, post.queue)
        return (
            queries.count_of_lane(tx, post.queue, "a", REPLY, "waiting"),
            [one.body["word"] for one in newest],
            *("".join(sorted(body["word"] for body in each)) for each in (near, unsettled, whole)),
        )

    assert post.db.run(read) == (2, ["3", "2"], "23", "1234", "12345")


def test_a_paused_lane_counts_its_own_messages_alone(post: QueueHarness) -> None:
    """Not those of a lane of its name in another queue."""
    other = QueueHarness(post.db, replace(post.queue, name="other"), post.clock)
    for one, number in ((post, 2), (other, 3)):
        one.put("a", *"123"[:number])
    post.db.run(lambda tx: lanes.pause(tx, post.queue, "a", "blocked"))
    counted = post.db.run(queries.count_waiting)
    assert {(one.queue, one.paused, one.number) for one in counted} == {
        (post.queue.name, True, 2),
        ("other", False, 3),
    }


def test_messages_moved_into_a_paused_lane_wait(post: QueueHarness) -> None:
    post.put("old", "one")
    post.db.run(lambda tx: lanes.pause(tx, post.queue, "new", "blocked"))
    post.db.run(lambda tx: outbox.move_lane(tx, post.queue, "old", "new"))
    assert post.claim() == []
    post.db.run(lambda tx: lanes.resume(tx, post.queue, "new"))
    assert post.words() == ["one"]


def test_a_message_can_be_due_later(post: QueueHarness, clock: Clock) -> None:
    post.put_later("a", "later", 60)
    assert (post.claim(), post.next_open()) == ([], 60_000)
    clock.advance(59.999)
    assert post.claim() == []
    clock.advance(0.001)
    assert post.words() == ["later"]


def test_a_due_time_in_the_past_is_now(post: QueueHarness, clock: Clock) -> None:
    """Otherwise it would precede messages that wait longer."""
    post.put_later("a", "meant for yesterday", -86_400)
    assert post.rows()[0]["due_at"] == clock()


# Bodies of messages: dataclasses, checked when they are read.


@dataclass(frozen=True, slots=True)
class Parcel:
    items: tuple[str, ...]


def join(bodies: Iterable[Parcel]) -> tuple[int, Parcel]:
    parcels = list(bodies)
    return len(parcels), Parcel(tuple(item for one in parcels for item in one.items))


PARCELS = Queue(
    "parcels", 1000, payloads=PayloadKinds(parcel=Parcel), gather=join,
    lane_pace=lambda _lane: Pace(1000),
)  # fmt: skip


def claim_parcels(db: Database, clock: Clock) -> list[Parcel]:
    claimed = db.run(lambda tx: outbox.claim(tx, PARCELS, clock(), 9))
    return [message.body for message in claimed]


def put_parcels(db: Database, clock: Clock, *items: str) -> None:
    for item in items:
        db.run(partial(outbox.put, queue=PARCELS, lane="a", body=Parcel((item,)), now=clock()))


def test_a_claimed_message_has_a_payload_and_gathered_payloads_are_one(
    db: Database, clock: Clock
) -> None:
    put_parcels(db, clock, "cup", "pot")
    assert claim_parcels(db, clock) == [Parcel(("cup", "pot"))]


def test_a_message_that_cannot_be_read_is_set_aside_and_its_lane_goes_on(
    db: Database, clock: Clock
) -> None:
    put_parcels(db, clock, "broken", "whole")
    db.run(lambda tx: tx.execute("UPDATE outbox SET body = '[]' WHERE body LIKE '%broken%'"))
    assert claim_parcels(db, clock) == []
    clock.advance(1)
    assert claim_parcels(db, clock) == [Parcel(("whole",))]
    rows = db.run(lambda tx: tx.query("SELECT state, note FROM outbox ORDER BY id"))
    assert [tuple(row.values()) for row in rows] == [
        ("dead", "its body can't be read: not a JSON object"),
        ("leased", None),
    ]


# Sweeps delete everything that is due, and never much of it in one transaction.

NUMBER = 2 * lanes.SWEPT + 1
KEPT = "kept"
LANE = "INSERT INTO lanes (queue, lane, held_until) VALUES (:queue, :lane, :until)"
SETTLED = (
    "INSERT INTO outbox (id, queue, lane, priority, body, state, due_at, created_at, settled_at)"
    " VALUES (:id, :queue, 'a', 0, '{}', 'done', 1, 1, :at)"
)


async def test_lanes_are_swept_in_parts(db: Database) -> None:
    """A queue with a lane a request has as many lanes as requests were paid in an hour."""
    queue = MESSAGES.name

    def fill(tx: Transaction) -> None:
        for number in range(NUMBER):
            tx.execute(LANE, queue=queue, lane=str(number), until=0)
        tx.execute(LANE, queue=queue, lane=KEPT, until=NOON + 1)

    await db.bulk(fill)
    assert await db.bulk(partial(lanes.sweep, queue=MESSAGES, now=NOON)) == lanes.SWEPT
    await worker.sweep(db, MESSAGES, NOON)
    assert [row["lane"] for row in await db.query("SELECT lane FROM lanes")] == [KEPT]


async def test_settled_messages_are_swept_in_parts(db: Database) -> None:
    """An hour's updates of a busy bot are ten thousands."""

    def fill(tx: Transaction) -> None:
        for number in range(NUMBER):
            tx.execute(SETTLED, id=str(number), queue=MESSAGES.name, at=NOON)
        tx.execute(SETTLED, id=KEPT, queue=MESSAGES.name, at=NOON + 1)

    await db.bulk(fill)
    swept = await db.bulk(partial(outbox.sweep, queue=MESSAGES, before=NOON + 1))
    assert len(swept) == lanes.SWEPT
    await worker.sweep(db, MESSAGES, NOON + MESSAGES.kept_for + 1)
    assert [row["id"] for row in await db.query("SELECT id FROM outbox")] == [KEPT]
