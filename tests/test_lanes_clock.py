"""Clocks that run ahead and are set back, and delays that were meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core import outbox
from bot.core.lanes import Queue
from tests.queueing import Post
from tests.test_lanes import ANN, BOB, MESSAGES, SECOND, sent_at

if TYPE_CHECKING:
    from bot.core.db import Database
    from tests.serving import Clock


@pytest.fixture
def post(db: Database, clock: Clock) -> Post:
    return Post(db, Queue("test", lease=60_000), clock)


@pytest.fixture
def chats(db: Database, clock: Clock) -> Post:
    return Post(db, MESSAGES, clock)


def recover(post: Post) -> None:
    post.db.run(lambda tx: outbox.recover(tx, post.queue, post.clock()))


def test_a_clock_that_ran_ahead_holds_up_nothing_after_a_restart(chats: Post) -> None:
    chats.clock.pass_(3600)
    chats.put(ANN, *"abcdef")
    chats.done(*(chats.first() for _ in "a"))
    chats.clock.at -= 3600 * SECOND
    recover(chats)
    chats.put(BOB, "now")
    assert sent_at(chats)[-1] <= 10 * SECOND


def test_a_clock_set_back_while_running_does_not_stop_the_queue(chats: Post) -> None:
    chats.clock.pass_(3600)
    chats.put(ANN, "before")
    chats.done(chats.first())
    chats.clock.at -= 3600 * SECOND
    chats.put(BOB, "after")
    assert chats.next_open() == 0
    assert chats.words() == ["after"]


def test_a_delay_that_was_meant_outlives_a_restart(post: Post) -> None:
    post.put_later("a", "later", 60)
    post.clock.pass_(1)
    recover(post)
    assert (post.claim(), post.next_open()) == ([], 59_000)


def test_a_delay_put_by_a_clock_that_ran_ahead_counts_from_the_restart(post: Post) -> None:
    post.clock.pass_(3600)
    post.put("a", "now")
    post.put_later("b", "later", 60)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.words() == ["now"]
    assert post.next_open() == 60_000
    assert {row["created_at"] for row in post.rows()} == {post.clock()}


def test_a_retry_given_by_a_clock_that_ran_ahead_waits_no_longer_than_it_was_to(post: Post) -> None:
    """Where the message was put by that clock too; what was put before it stays as it is."""
    post.clock.pass_(3600)
    post.put("a", "one")
    post.retry(post.first(), 300)
    post.clock.at -= 3600 * SECOND
    recover(post)
    assert post.next_open() == 300_000
