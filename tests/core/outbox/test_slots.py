"""Slots: claimed before they begin, given once, and never used faster than the rate allows."""

from __future__ import annotations

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from bot.core.database.database import Database
from bot.core.outbox import outbox
from bot.core.outbox.claiming import NextClaim, next_claim
from bot.core.outbox.lanes import SlotWait
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import ALERT, Pace, Queue
from tests.support.outbox_queue import (
    ANN,
    BOB,
    SECOND,
    QueueHarness,
    RecordingHandler,
    put,
    sent_at,
    working,
)
from tests.support.service_harness import NOON, Clock

AHEAD = 300
PACE = Pace(35, burst=2)


def claim_ahead(post: QueueHarness) -> list[Message]:
    return post.db.run(lambda tx: outbox.claim(tx, post.queue, post.clock(), 100, ahead=AHEAD))


def claim(post: QueueHarness) -> list[tuple[str, int]]:
    """Claim ahead; the lane of each message, and the ms from now until its slot."""
    found = claim_ahead(post)
    return [(message.lane, message.starts_at - post.clock()) for message in found]


def coming(post: QueueHarness) -> NextClaim:
    return post.db.run(lambda tx: next_claim(tx, post.queue, post.clock(), AHEAD))


def test_a_claim_takes_the_slots_of_the_next_moment_each_once(chats: QueueHarness) -> None:
    for number in range(30):
        chats.put(f"{100 + number}", "paid", priority=ALERT)
    assert [wait for _, wait in claim(chats)] == [0, 0, *range(35, 301, 35)]
    assert claim(chats) == []
    chats.clock.advance(0.1)
    assert [wait for _, wait in claim(chats)] == [215, 250, 285]


def test_the_next_claim_comes_when_half_of_the_slots_are_used(chats: QueueHarness) -> None:
    for number in range(30):
        chats.put(f"{100 + number}", "paid", priority=ALERT)
    claim(chats)
    rests_until = chats.clock() + 315 - AHEAD // 2
    assert coming(chats) == NextClaim(rests_until, is_full=False, rests_until=rests_until)


def test_a_chat_that_waits_for_its_own_rate_limit_takes_no_slot(chats: QueueHarness) -> None:
    chats.put(ANN, *"12345")
    sent_at(chats, most=4)
    chats.put(BOB, "b")
    assert [lane for lane, _ in claim(chats)] == [BOB]


def test_the_interval_of_a_chat_counts_from_the_slot(db: Database, clock: Clock) -> None:
    queue = Queue("slow", lease=60_000, pace=Pace(200), lane_pace=lambda _lane: Pace(SECOND))
    post = QueueHarness(db, queue, clock)
    post.put(ANN, "1")
    post.put(BOB, "2", "3")
    claimed = claim_ahead(post)
    assert [one.starts_at - clock() for one in claimed] == [0, 200]
    post.done(*claimed)
    assert post.next_open() == 200 + SECOND


def test_without_a_rate_limit_everything_goes_now(db: Database, clock: Clock) -> None:
    post = QueueHarness(db, Queue("free", lease=60_000), clock)
    post.put(ANN, "a")
    post.put(BOB, "b")
    assert claim(post) == [(ANN, 0), (BOB, 0)]


async def test_puts_wake_no_worker_that_rests(db: Database, hands: RecordingHandler) -> None:
    """Its claims would find nothing: payments that come in quickly would cause one each."""
    queue = Queue("test", lease=60_000, pace=Pace(3600 * SECOND))
    post = hands.post = QueueHarness(db, queue, hands.post.clock)
    claims = 0

    def now() -> int:
        nonlocal claims
        claims += 1
        return post.clock()

    async with working(post, hands.handle, now=now):
        await put(post, "a", "one")
        await hands.took(1)
        before = claims
        for number in range(20):
            await put(post, f"{number}", "more")
        assert claims - before <= 2  # the end of the message, and one more round
    assert hands.words == ["one"]


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(-400, 400)), min_size=40, max_size=80))
def test_the_rate_holds_in_every_second_however_late_messages_are(
    moments: list[tuple[int, int]],
) -> None:
    wait, now, starts = SlotWait(PACE, lambda: NOON), NOON, []
    for gap, slot in moments:
        now += gap
        starts.append(wait.start(now + slot, now))
    assert starts == sorted(starts)
    assert all(later - first >= SECOND for first, later in zip(starts, starts[30:], strict=False))


def test_a_slot_that_only_a_wrong_clock_can_have_written_is_not_waited_for() -> None:
    wait = SlotWait(PACE, lambda: NOON)
    assert wait.start(NOON + 3600 * SECOND, NOON) == NOON


async def test_a_message_waits_for_its_slot() -> None:
    """On the real clock, since it is about sleeping."""

    def now() -> int:
        return time.time_ns() // 1_000_000

    slot = now() + 20
    await SlotWait(PACE, now).until(slot)
    assert now() >= slot - 1
    await asyncio.wait_for(SlotWait(None, now).until(now() + 3600 * SECOND), 1)
