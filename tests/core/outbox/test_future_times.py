"""Times of a clock that was ahead before the start hold nothing up; delays and order are kept."""

from __future__ import annotations

import pytest

from bot.core.outbox import lanes, leases
from bot.core.outbox.leases import LONGEST_HOLD
from tests.support.outbox_queue import ANN, BOB, SECOND, QueueHarness, sent_at


def recover(post: QueueHarness) -> None:
    post.db.run(lambda tx: leases.recover(tx, post.queue, post.clock()))


def test_a_clock_that_was_ahead_delays_nothing_after_a_restart(chats: QueueHarness) -> None:
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


def test_an_intended_delay_survives_a_restart(post: QueueHarness) -> None:
    post.put_later("a", "later", 60)
    post.clock.advance(1)
    recover(post)
    assert (post.claim(), post.next_open()) == ([], 59_000)


def test_a_delay_from_a_clock_that_was_ahead_counts_from_the_restart(post: QueueHarness) -> None:
    post.clock.advance(3600)
    post.put("a", "now")
    post.put_later("b", "later", 60)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.words() == ["now"]
    assert post.next_open() == 60_000
    assert {row["created_at"] for row in post.rows()} == {post.clock()}


def test_a_retry_from_a_clock_that_was_ahead_keeps_its_delay(
    post: QueueHarness,
) -> None:
    """The message was put by that clock too; an older message stays as it is."""
    post.clock.advance(3600)
    post.put("a", "one")
    post.retry(post.first(), 300)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.next_open() == 300_000


def hold(post: QueueHarness, lane: str, seconds: float) -> None:
    until = post.clock() + int(seconds * SECOND)
    post.db.run(lambda tx: lanes.hold(tx, post.queue, lane, until))


def test_a_hold_from_a_clock_that_was_ahead_ends_soon_after_a_restart(post: QueueHarness) -> None:
    post.put("a", "one")
    post.clock.advance(3600)
    hold(post, "a", 30)
    post.clock.advance(-3600)
    recover(post)
    assert post.next_open() == LONGEST_HOLD


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_order_is_that_of_putting_whatever_the_clock_says(
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


def test_a_message_put_after_the_clock_was_set_back_goes_behind_leased_ones(
    post: QueueHarness,
) -> None:
    """Nothing else waits, but the leased message may be retried."""
    post.put("a", "one")
    taken = post.first()
    post.clock.advance(-3600)
    post.put("a", "two")
    post.retry(taken, 0)
    first = post.first()
    post.done(first)
    assert [first.body["word"], *post.words()] == ["one", "two"]
