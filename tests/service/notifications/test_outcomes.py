"""The outcome of an attempt: the retry table, the stored answer, and the windows of endpoints."""

from __future__ import annotations

import pytest

from bot.core.net.http_client import read_retry_after
from bot.service.notifications import webhooks
from bot.service.notifications.notification import Attempt
from bot.service.notifications.notification_queues import RETRIES, AttemptOutcome
from bot.service.notifications.webhooks import CONCURRENCY, MOST, SLOW, Windows
from tests.support.service_harness import NOON


@pytest.mark.parametrize(
    ("made", "retry_after", "jitter", "wait"),
    [
        (1, 0, 0, 5),
        (1, 0, -200, 4),
        (1, 0, 200, 6),
        (1, 3, 0, 5),
        (1, 60, 0, 60),
        (1, 10**8, 0, 86_400),
        (7, 0, 0, 36_000),
        (8, 0, 0, None),
        (9, 60, 0, None),
    ],
)
def test_the_delay_before_the_next_attempt(
    made: int, retry_after: int, jitter: int, wait: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`jitter` per mille is drawn from both sides of 0; `made` attempts have failed."""
    monkeypatch.setattr("secrets.randbelow", lambda _bound: jitter + RETRIES.jitter)
    delay = None if wait is None else wait * 1000
    assert RETRIES.delay(made, retry_after) == delay


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("120", 120),
        ("-5", 0),
        ("soon", 0),
        ("9" * 50, 999_999_999),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("Fri, 99 Jan 2027 07:00:00 GMT", 0),
        ("Mon, 01 Jan 2024 00:00:99999999999999999999 GMT", 0),
        ("Fri, 15 Jan 2027 07:00:00 +99999999999999999999", 0),
        ("Fri, 15 Jan 99999999999999999999 07:00:00 GMT", 0),
    ],
)
def test_retry_after_is_read_in_both_forms(header: str | None, seconds: int) -> None:
    assert read_retry_after(header, NOON) == seconds


@pytest.mark.parametrize(
    ("outcome", "delivered", "note"),
    [
        (AttemptOutcome(200), True, "answered 200"),
        (AttemptOutcome(250), True, "answered 250"),
        (AttemptOutcome(299), True, "answered 299"),
        (AttemptOutcome(199), False, "answered 199"),
        (AttemptOutcome(300), False, "answered 300"),
        (AttemptOutcome(problem="cut off"), False, "cut off"),
        (AttemptOutcome(problem="a\nb\x1b[31m" + "c" * 300), False, "a b\ufffd[31m" + "c" * 192),
    ],
)
def test_2xx_is_success_by_http_and_by_smtp(
    outcome: AttemptOutcome, *, delivered: bool, note: str
) -> None:
    assert (outcome.delivered, outcome.note) == (delivered, note)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (b"", ""),
        (b"taken\r\nthank you\t!", "taken\nthank you\t!"),
        (b"\x00\x1b[2J\x07\x9b\r", "\ufffd\ufffd[2J\ufffd\ufffd\n"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("\u202egnp.exe\u2028\ufeff".encode(), "\ufffdgnp.exe\n\ufffd"),
        ("grüße €".encode(), "grüße €"),
        (b"x" * 5000, "x" * 1024),
        (b"x" * 1023 + "€".encode(), "x" * 1023 + "\ufffd"),
    ],
)
def test_a_stored_answer_is_sanitized_and_cut(answer: bytes, kept: str) -> None:
    """Its first KiB, without NUL, which PostgreSQL refuses, and ESC, which controls terminals."""
    assert AttemptOutcome(200, answer).attempt(NOON, NOON + 3) == Attempt(NOON, 3, 200, kept)


def test_an_attempt_without_an_answer_has_its_problem() -> None:
    """Its duration is never negative, also if the clock was set back."""
    tried = AttemptOutcome(problem="no\x00 answer").attempt(NOON, NOON - 5)
    assert tried == Attempt(NOON, 0, None, None, "no\ufffd answer")


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
