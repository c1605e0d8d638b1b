"""Retries: the next attempt at a message may know more than the last one, and stand elsewhere."""

from __future__ import annotations

import asyncio

import pytest

from bot.core.database.database import Transaction
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message, NextAttempt
from bot.core.outbox.queue_policy import NOTICE, RetryTable
from tests.support.databases import listening
from tests.support.outbox_queue import QueueHarness

AGAIN = NextAttempt({"word": "one", "tries": 1}, lane="again:a", priority=NOTICE)


def retry(
    post: QueueHarness,
    message: Message,
    following: NextAttempt | None = None,
    *,
    uncertain: bool = False,
) -> bool:
    due_at = post.clock() + 1_000
    return post.db.run(
        lambda tx: outbox.retry(
            tx, post.queue, message, due_at, "later", uncertain=uncertain, following=following
        )
    )


def test_the_next_attempt_has_the_body_of_its_state(post: QueueHarness) -> None:
    post.put("a", "one")
    first = post.first()

    assert retry(post, first, AGAIN)
    post.clock.advance(1)
    again = post.first()

    assert (again.id, again.body, again.attempts) == (first.id, {"word": "one", "tries": 1}, 2)
    assert (again.lane, again.priority) == ("again:a", NOTICE)


def test_a_retry_in_another_lane_delays_nothing_in_its_first(post: QueueHarness) -> None:
    post.put("a", "one", "two")

    retry(post, post.first(), AGAIN)

    assert post.words() == ["two"]


async def test_a_retry_in_another_lane_wakes_the_workers(post: QueueHarness) -> None:
    """One that is due at once does not wait for their next look a second later."""
    (woken,) = await listening(post.db, post.queue.name)
    post.put("a", "one")
    message = post.first()

    def work(tx: Transaction) -> None:
        outbox.retry(tx, post.queue, message, post.clock(), "at once", following=AGAIN)

    await post.db.transaction(work)
    async with asyncio.timeout(1):
        await woken.wait()


def test_its_own_lane_waits_for_a_retry_that_stays_in_it(post: QueueHarness) -> None:
    post.put("a", "one", "two")

    retry(post, post.first(), NextAttempt({"word": "again"}))

    assert post.words() == []
    post.clock.advance(1)
    assert post.words() == ["again"]


def test_with_a_state_a_retry_is_as_uncertain_as_it_says(post: QueueHarness) -> None:
    """The body has what is known of earlier attempts."""
    post.put("a", "one")
    for uncertain, state, expected in (
        (True, None, True),
        (False, None, True),
        (False, NextAttempt({"word": "one"}), False),
        (True, NextAttempt({"word": "one"}), True),
    ):
        retry(post, post.first(), state, uncertain=uncertain)
        post.clock.advance(1)
        message = post.first()
        assert message.uncertain is expected
        post.db.run(lambda tx, it=message: outbox.release(tx, post.queue, it, post.clock()))  # type: ignore[misc]


def test_failures_in_a_row_are_counted_until_an_attempt_has_an_outcome(post: QueueHarness) -> None:
    post.put("a", "one")
    counts = []
    for ends in (outbox.fail, outbox.fail, outbox.retry, outbox.fail):
        message = post.first()
        counts.append(message.failures)
        post.db.run(lambda tx, it=message, end=ends: end(tx, post.queue, it, post.clock(), "x"))  # type: ignore[misc]

    assert counts == [0, 1, 2, 0]


TABLE = RetryTable((1_000, 5_000))
"""The delays between attempts, and when attempts are given up."""


@pytest.mark.parametrize(("failed", "delay"), [(1, 1_000), (2, 5_000), (3, None), (9, None)])
def test_attempts_are_given_up_after_the_last_delay(failed: int, delay: int | None) -> None:
    assert TABLE.delay(failed) == delay


def test_a_caller_that_never_gives_up_gets_the_last_delay() -> None:
    assert [TABLE.delay_or_last(failed) for failed in (1, 2, 3)] == [1_000, 5_000, 5_000]


def test_the_last_delay_repeats_where_attempts_are_never_given_up() -> None:
    table = RetryTable((1_000, 5_000), repeats=True)

    assert [table.delay(failed) for failed in (1, 2, 3, 99)] == [1_000, 5_000, 5_000, 5_000]


@pytest.mark.parametrize(
    ("asked", "delay"), [(0.0, 1_000), (0.5, 1_000), (1.5, 1_500), (60.0, 60_000), (61.0, 60_000)]
)
def test_a_longer_delay_that_the_peer_asks_for_is_kept_up_to_a_bound(
    asked: float, delay: int
) -> None:
    assert RetryTable((1_000,), longest_asked=60_000).delay(1, asked) == delay


def test_a_peer_that_asks_for_a_delay_does_not_prolong_the_attempts() -> None:
    assert RetryTable((1_000,), longest_asked=60_000).delay(2, asked=5) is None


def test_jitter_spreads_a_delay_by_its_share_both_ways() -> None:
    table = RetryTable((10_000,), jitter=200)
    delays = [table.delay(1) or 0 for _ in range(500)]

    assert 8_000 <= min(delays) < 9_000
    assert 11_000 < max(delays) <= 12_000
