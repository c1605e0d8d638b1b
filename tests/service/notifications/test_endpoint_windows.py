"""Windows of endpoints and hosts: slow start after a failure, and a bound on what is kept."""

from __future__ import annotations

import pytest

from bot.service.notifications import webhooks
from bot.service.notifications.outcomes import AttemptOutcome
from bot.service.notifications.webhooks import CONCURRENCY, MOST, SLOW, Windows

ENDPOINT, HOST = GROUPS = ("https://h.example:443/w", "h.example")
DELIVERED = AttemptOutcome(200)
HANGS = AttemptOutcome(problem="no answer within 15 seconds")


def test_a_window_begins_small_and_grows_by_each_success_to_its_most() -> None:
    made = Windows()
    widths = []
    for _ in range(26):
        widths.append(made.width_of(ENDPOINT))
        made.store((ENDPOINT,), DELIVERED, 1)
    assert widths == [*range(8, 33), 32]
    assert made.width_of("https://other.example:443/w") == 8


def test_a_failure_closes_a_window_to_its_least() -> None:
    made = Windows()
    made.store(GROUPS, HANGS, 15_000)
    assert (made.width_of(ENDPOINT), made.width_of(HOST)) == (1, 16)
    made.store(GROUPS, DELIVERED, 1)
    assert (made.width_of(ENDPOINT), made.width_of(HOST)) == (2, 17)


def test_only_the_windows_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_KNOWN", 2)
    made = Windows()
    for name in "abac":
        made.store((f"{name}/",), HANGS, 15_000)
    assert [made.width_of(f"{name}/") for name in "abc"] == [1, 8, 1]


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
    made = Windows()
    for _ in range(4):
        made.store((HOST,), DELIVERED, 1)
    made.store(GROUPS, outcome, took)
    assert (made.width_of(ENDPOINT), made.width_of(HOST)) == (endpoint, host)


def test_seven_hosts_that_hang_leave_room_for_an_eighth_at_any_window() -> None:
    assert 7 * MOST < CONCURRENCY
