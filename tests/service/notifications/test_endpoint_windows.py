"""Windows of endpoints and hosts: slow start after a failure, and a bound on what is kept."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.service.notifications import webhooks
from bot.service.notifications.outcomes import AttemptOutcome
from bot.service.notifications.webhooks import CONCURRENCY, SLOW, EndpointWindows, Windows

ENDPOINT, HOST = GROUPS = ("https://h.example:443/w", "h.example")
DELIVERED = AttemptOutcome(200)
HANGS = AttemptOutcome(problem="no answer within 15 seconds")


def widths(made: Windows, name: str) -> Iterator[int]:
    """Yield the width before and after each success."""
    while True:
        yield made.width_of(name)
        made.widen(name)


def test_a_window_begins_small_and_grows_by_each_success_to_its_most() -> None:
    made = Windows(least=1, start=2, most=4)
    assert [width for width, _ in zip(widths(made, "a"), range(5), strict=False)] == [2, 3, 4, 4, 4]
    assert made.width_of("b") == 2


def test_a_failure_closes_a_window_to_its_least() -> None:
    made = Windows(least=1, start=2, most=4)
    made.close("a")
    assert (made.width_of("a"), made.width_of("b")) == (1, 2)


def test_only_the_windows_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_KNOWN", 2)
    made = Windows(least=1, start=2, most=4)
    for name in "abac":
        made.close(name)
    assert [made.width_of(name) for name in "abc"] == [1, 2, 1]


@pytest.mark.parametrize(
    ("outcome", "took", "endpoint", "host"),
    [
        (DELIVERED, SLOW - 1, 9, 21),
        (DELIVERED, SLOW, 1, 16),
        (AttemptOutcome(500), 1, 1, 20),
        (AttemptOutcome(404), SLOW, 1, 16),
        (HANGS, 15_000, 1, 16),
        (AttemptOutcome(problem="ConnectError"), 1, 1, 16),
    ],
)
def test_an_endpoint_closes_by_any_failure_and_its_host_where_nothing_answered_in_time(
    outcome: AttemptOutcome, took: int, endpoint: int, host: int
) -> None:
    made = EndpointWindows()
    for _ in range(4):
        made.hosts.widen(HOST)
    made.store(GROUPS, outcome, took)
    assert (made.width_of(ENDPOINT), made.width_of(HOST)) == (endpoint, host)


def test_seven_hosts_that_hang_leave_room_for_an_eighth_at_any_window() -> None:
    assert 7 * EndpointWindows().hosts.most < CONCURRENCY
