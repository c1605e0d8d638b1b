"""Batches: messages of a lane that are claimed together and handled one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from bot.core.database.database import Database
from bot.core.outbox import leases, outbox, worker
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import Queue
from tests.support.outbox_queue import QueueHarness, RecordingHandler, crash, put, working
from tests.support.service_harness import Clock

BATCH_SIZE = 3
QUEUE = Queue("test", lease=60_000, ordered=False, batch_size=BATCH_SIZE, keep=True)


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, QUEUE, clock)


def test_a_claim_takes_a_batch_of_each_lane(post: QueueHarness) -> None:
    """Its messages come in order and share a lease; the room counts batches."""
    post.put("a", *"12345")
    post.put("b", *"67")
    claimed = post.claim(2)
    assert [one.body["word"] for one in claimed] == [*"123", *"67"]
    assert [one.attempts for one in claimed] == 5 * [1]
    assert len({one.lease for one in claimed[:3]}) == len({one.lease for one in claimed[3:]}) == 1
    assert len({one.lease for one in claimed}) == 2


def test_the_room_of_a_claim_counts_batches(post: QueueHarness) -> None:
    post.put("a", *"12")
    post.put("b", *"34")
    assert (post.words(1), post.words(1), post.words(1)) == ([*"12"], [*"34"], [])


def test_a_lane_has_one_series_at_a_time(post: QueueHarness) -> None:
    """Also while a part of it is settled, and while more is put."""
    post.put("a", *"1234")
    first, *rest = post.claim()
    post.done(first)
    post.put("a", "5")
    assert (post.claim(), post.next_open()) == ([], None)
    post.done(*rest)
    assert post.words() == [*"45"]


def test_what_waits_for_its_next_attempt_holds_up_nobody(post: QueueHarness, clock: Clock) -> None:
    post.put("a", *"123")
    first, second, third = post.claim()
    post.retry(first, 5)
    post.done(second, third)
    post.put("a", "4")
    assert post.words() == ["4"]
    clock.advance(5)
    assert post.words() == []


def test_a_released_series_comes_again_in_its_order(post: QueueHarness, clock: Clock) -> None:
    """Its messages keep their time: those put meanwhile stay behind them."""
    post.put("a", *"1234")
    claimed = post.claim()
    clock.advance(1)
    post.put("a", "5")
    post.db.run(lambda tx: leases.recover(tx, post.queue, clock()))
    again = post.claim()
    assert [one.body["word"] for one in again] == [*"123"]
    assert [(one.uncertain, one.attempts) for one in again] == 3 * [(True, 2)]
    assert not any(one.lease == claimed[0].lease for one in again)


def test_a_crash_counts_for_the_first_of_a_series_alone(post: QueueHarness) -> None:
    """The others had hardly begun: ten kills of the process must not set all of them aside."""
    post.put("a", *"123")
    crash(post.db, post.queue, post.clock)
    assert [one.crashes for one in post.claim()] == [1, 0, 0]


def test_a_message_that_cannot_be_read_costs_the_others_nothing(post: QueueHarness) -> None:
    post.put("a", *"123")
    post.put("b", "4")
    post.db.run(lambda tx: tx.execute("UPDATE outbox SET body = '?' WHERE body LIKE '%2%'"))
    post.db.run(lambda tx: tx.execute("UPDATE outbox SET body = '?' WHERE lane = 'b'"))
    assert post.words() == [*"13"]
    post.put("b", "5")
    assert post.words() == ["5"]


async def test_a_batch_is_handled_one_after_the_other(post: QueueHarness) -> None:
    hands = RecordingHandler(post)
    hands.may_go.clear()
    for word in "12":
        await put(post, "a", word)
    await put(post, "b", "3")
    async with working(post, hands.handle):
        assert sorted(await hands.took(2)) == [*"13"]
        hands.may_go.set()
        assert (await hands.took(3))[2] == "2"


async def test_the_next_message_need_not_wait_until_the_last_is_stored(post: QueueHarness) -> None:
    """The worker waits for that at the end of the batch."""
    taken: list[Message] = []
    complete, may_store = asyncio.Event(), asyncio.Event()

    async def store(message: Message) -> None:
        await may_store.wait()
        await post.db.transaction(lambda tx: outbox.done(tx, post.queue, message, post.clock()))

    async def handle(message: Message) -> Awaitable[None]:
        taken.append(message)
        if len(taken) == BATCH_SIZE:
            complete.set()
        return store(message)

    for word in "123":
        await put(post, "a", word)
    async with working(post, handle):
        await complete.wait()
        assert set(post.states().values()) == {"leased"}
        may_store.set()
    assert set(post.states().values()) == {"done"}


async def test_an_outcome_that_cannot_be_stored_is_a_failed_attempt(post: QueueHarness) -> None:
    """Its message is tried again; the others of the batch are settled."""
    handled = asyncio.Event()

    async def store(message: Message) -> None:
        if message.body["word"] == "1":
            raise LookupError("a bug")
        await post.db.transaction(lambda tx: outbox.done(tx, post.queue, message, post.clock()))
        handled.set()

    async def handle(message: Message) -> Awaitable[None]:
        return store(message)

    for word in "12":
        await put(post, "a", word)
    async with working(post, handle):
        await handled.wait()
    assert post.states() == {"1": "waiting", "2": "done"}
    assert [row["note"] for row in post.rows() if row["state"] == "waiting"] == ["LookupError"]


async def test_a_batch_that_takes_long_gives_its_rest_back(
    post: QueueHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was tried of it: no attempt counts, and nothing is uncertain."""
    monkeypatch.setattr(worker, "BATCH_SECONDS", 0.0)
    hands = RecordingHandler(post)
    for word in "123":
        await put(post, "a", word)
    async with working(post, hands.handle):
        assert await hands.took(3) == [*"123"]
    assert [(one.attempts, one.uncertain) for one in hands.taken] == 3 * [(1, False)]


async def test_a_stop_gives_back_what_has_not_begun(post: QueueHarness) -> None:
    hands = RecordingHandler(post)
    hands.may_go.clear()
    for word in "123":
        await put(post, "a", word)
    async with working(post, hands.handle) as made:
        await hands.took(1)
        stopping = asyncio.create_task(made.stop(9.0))
        await asyncio.sleep(0)
        hands.may_go.set()
        await stopping
    assert post.states() == {"1": "done", "2": "waiting", "3": "waiting"}
    assert {(row["attempts"], row["uncertain"]) for row in post.rows()[1:]} == {(0, 0)}


def test_a_batch_takes_one_slot_of_its_lanes_groups(db: Database, clock: Clock) -> None:
    """Of an endpoint's and of a host's; who waits for either is admitted when it has room."""
    widths = {"x": 2, "x/1": 1, "x/2": 9, "y": 9, "y/1": 9}
    queue = Queue(
        "test", lease=60_000, ordered=False, batch_size=BATCH_SIZE, keep=True,
        group=lambda lane: (lane[:3], lane[0]), group_width=widths.__getitem__,
    )  # fmt: skip
    post = QueueHarness(db, queue, clock)
    post.put("x/1 a", *"12")
    post.put("x/1 b", "3")
    post.put("x/2 a", "4")
    post.put("x/2 b", "5")
    post.put("y/1 a", "6")
    claimed = post.claim()
    assert [one.body["word"] for one in claimed] == [*"1246"]
    assert post.claim() == []
    post.done(*[one for one in claimed if one.lane == "x/2 a"])
    assert post.words() == ["5"]
    post.done(*[one for one in claimed if one.lane == "x/1 a"])
    assert post.words() == ["3"]


def test_a_group_whose_width_shrinks_admits_nobody_until_it_has_room(
    db: Database, clock: Clock
) -> None:
    width = [3]
    queue = Queue(
        "test", lease=60_000, ordered=False, batch_size=1, keep=True,
        group=lambda _lane: "all", group_width=lambda _name: width[0],
    )  # fmt: skip
    post = QueueHarness(db, queue, clock)
    for lane in "abcdef":
        post.put(lane, lane)
    claimed = post.claim()
    width[0] = 1
    words = []
    for one in claimed:
        post.done(one)
        words.append(post.words())
    assert words == [[], [], ["d"]]
    width[0] = 2
    assert post.words() == ["e"]


async def test_what_a_crash_left_uncertain_is_handled_alone(
    post: QueueHarness, hands: RecordingHandler
) -> None:
    """So the cause of a crash becomes the first of its series, and is counted."""
    post.put("a", *"123")
    crash(post.db, post.queue, post.clock)
    post.put("a", *"45")
    async with working(post, hands.handle):
        assert await hands.took(5) == [*"12345"]
    first, second, third, fourth, fifth = (message.lease for message in hands.taken)
    assert len({first, second, third, fourth}) == 4
    assert fourth == fifth
