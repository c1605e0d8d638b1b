"""Retry tables: the delays between attempts, and when attempts are given up."""

from __future__ import annotations

import pytest

from bot.core.outbox.queue_policy import RetryTable

TABLE = RetryTable((1_000, 5_000))


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
