"""Clocks that run ahead and are set back, and delays that were meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core.outbox import clock_changes, lanes, outbox
from bot.core.outbox.clock_changes import LONGEST_HOLD, Jumps
from bot.core.outbox.lanes import Queue
from tests.core.outbox.test_lane_pace import ANN, BOB, MESSAGES, SECOND, sent_at
from tests.support.outbox_queue import QueueHarness

if TYPE_CHECKING:
    from bot.core.database.database import Database
    from tests.support.service_harness import Clock


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, Queue("test", lease=60_000), clock)


@pytest.fixture
def chats(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, MESSAGES, clock)


def recover(post: QueueHarness) -> None:
    post.db.run(lambda tx: outbox.recover(tx, post.queue, post.clock()))


def test_a_clock_that_ran_ahead_holds_up_nothing_after_a_restart(chats: QueueHarness) -> None:
    chats.clock.advance(3600)
    chats.put(ANN, *"abcdef")
    chats.done(*(chats.first() for _ in "a"))
    chats.clock.at -= 3600 * SECOND
    recover(chats)
    chats.put(BOB, "now")
    assert sent_at(chats)[-1] <= 10 * SECOND


def test_a_clock_set_back_while_running_does_not_stop_the_queue(chats: QueueHarness) -> None:
    chats.clock.advance(3600)
    chats.put(ANN, "before")
    chats.done(chats.first())
    chats.clock.at -= 3600 * SECOND
    chats.put(BOB, "after")
    assert chats.next_open() == 0
    assert chats.words() == ["after"]


def test_a_delay_that_was_meant_outlives_a_restart(post: QueueHarness) -> None:
    post.put_later("a", "later", 60)
    post.clock.advance(1)
    recover(post)
    assert (post.claim(), post.next_open()) == ([], 59_000)


def test_a_delay_put_by_a_clock_that_ran_ahead_counts_from_the_restart(post: QueueHarness) -> None:
    post.clock.advance(3600)
    post.put("a", "now")
    post.put_later("b", "later", 60)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.words() == ["now"]
    assert post.next_open() == 60_000
    assert {row["created_at"] for row in post.rows()} == {post.clock()}


def test_a_retry_given_by_a_clock_that_ran_ahead_waits_no_longer_than_it_was_to(
    post: QueueHarness,
) -> None:
    """Where the message was put by that clock too; what was put before it stays as it is."""
    post.clock.advance(3600)
    post.put("a", "one")
    post.retry(post.first(), 300)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.next_open() == 300_000


def jump(post: QueueHarness, seconds: float) -> None:
    """Set the clock while the queue is worked, as a worker notices it."""
    post.clock.advance(seconds)
    ms = int(seconds * SECOND)
    post.db.run(lambda tx: clock_changes.follow(tx, post.queue, ms, post.clock()))


def hold(post: QueueHarness, lane: str, seconds: float) -> None:
    until = post.clock() + int(seconds * SECOND)
    post.db.run(lambda tx: lanes.hold(tx, post.queue, lane, until))


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_pace_is_kept_when_the_clock_is_set(chats: QueueHarness, seconds: float) -> None:
    """Neither another burst, nor an hour of silence."""
    chats.put(ANN, *"abcdefgh")
    while chats.claim(1):
        chats.db.run(lambda tx: tx.execute("DELETE FROM outbox WHERE state = 'leased'"))
        chats.db.run(lambda tx: lanes.reopen(tx, chats.queue, ANN))
        chats.clock.advance(0.1)
    waits = chats.next_open()
    assert waits is not None
    assert 0 < waits <= SECOND
    jump(chats, seconds)
    assert (chats.next_open(), chats.claim()) == (waits, [])


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_hold_lasts_as_long_as_telegram_asked(post: QueueHarness, seconds: float) -> None:
    post.put("a", "one")
    hold(post, "a", 30)
    jump(post, seconds)
    assert post.next_open() == 30_000


def test_a_retry_comes_no_later_for_a_clock_that_is_set_back(post: QueueHarness) -> None:
    post.put("a", "one")
    post.retry(post.first(), 60)
    post.put("b", "due")
    jump(post, -3600)
    assert post.words() == ["due"]
    assert post.next_open() == 60_000


def test_a_retry_may_come_early_when_the_clock_is_set_ahead(post: QueueHarness) -> None:
    post.put("a", "one")
    post.retry(post.first(), 60)
    jump(post, 3600)
    assert post.words() == ["one"]


def test_following_a_jump_twice_makes_nobody_wait_longer(post: QueueHarness) -> None:
    """Two processes may notice the same one."""
    post.put("a", "one")
    hold(post, "a", 30)
    jump(post, 3600)
    post.db.run(lambda tx: clock_changes.follow(tx, post.queue, 3600 * SECOND, post.clock()))
    assert post.next_open() == 30_000


def test_a_hold_of_a_clock_that_ran_ahead_ends_soon_after_a_restart(post: QueueHarness) -> None:
    post.put("a", "one")
    post.clock.advance(3600)
    hold(post, "a", 30)
    post.clock.advance(-3600)
    recover(post)
    assert post.next_open() == LONGEST_HOLD


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_order_is_that_of_putting_whatever_the_clock_says(
    post: QueueHarness, seconds: float
) -> None:
    post.put("a", "one", "two")
    taken = post.first()
    post.clock.advance(seconds)
    post.put("a", "three")
    post.clock.advance(-seconds)
    post.put("a", "four")
    post.retry(taken, 0)
    post.clock.advance(7200)
    words = []
    for _ in range(4):
        message = post.first()
        words.append(message.body["word"])
        post.done(message)
    assert words == ["one", "two", "three", "four"]


def test_what_is_put_by_a_clock_that_was_set_back_comes_behind_what_is_under_way(
    post: QueueHarness,
) -> None:
    """Though nothing else waits: what is under way may come again."""
    post.put("a", "one")
    taken = post.first()
    post.clock.advance(-3600)
    post.put("a", "two")
    post.retry(taken, 0)
    first = post.first()
    post.done(first)
    assert [first.body["word"], *post.words()] == ["one", "two"]


def test_a_clock_that_is_set_is_told_from_one_that_goes_on() -> None:
    steady = 500
    jumps = Jumps(lambda: steady)
    assert jumps.since(1_000_000) == 0
    jumps.seen(1_000_000)
    steady += 60_000
    assert jumps.since(1_060_010) == 0
    steady += 1_000
    for _ in range(2):  # until it is seen, for following it may fail
        assert jumps.since(4_661_000) == 3_600_000
    jumps.seen(4_661_000)
    assert jumps.since(4_661_000) == 0
    assert jumps.since(1_061_000) == -3_600_000
    jumps.seen(1_061_000)
    steady += 1_000
    assert jumps.since(1_066_000) == 0
