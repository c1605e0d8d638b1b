"""The times of polls as a table: often at first, seldom later, and an end."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bot.service.checkouts.checkout import DAY, HOUR, MINUTE, SECOND, next_poll

OPENED = 1_800_000_000_000
EXPIRES = OPENED + 15 * MINUTE
END = EXPIRES + 10 * MINUTE


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (0, 5 * SECOND),
        (59 * SECOND, 64 * SECOND),
        (60 * SECOND, 65 * SECOND),
        (5 * MINUTE - 1, 5 * MINUTE - 1 + 5 * SECOND),
        (5 * MINUTE, 5 * MINUTE + 15 * SECOND),
        (15 * MINUTE, 16 * MINUTE),
        (END - OPENED - 30 * SECOND, END - OPENED),
        (END - OPENED - 1, END - OPENED + SECOND - 1),
        (END - OPENED, END - OPENED + HOUR),
        (END - OPENED + HOUR - 1, END - OPENED + HOUR),
        (END - OPENED + HOUR, END - OPENED + DAY),
        (END - OPENED + DAY, None),
    ],
)
def test_the_next_poll_after_each_age(after: int, expected: int | None) -> None:
    found = next_poll(OPENED, EXPIRES, OPENED + after)
    assert found == (None if expected is None else OPENED + expected)


def test_a_whole_life_has_a_bounded_number_of_polls_never_closer_than_a_second() -> None:
    times, now = [OPENED], OPENED
    while (after := next_poll(OPENED, EXPIRES, now)) is not None:
        times.append(now := after)
    assert min(later - earlier for earlier, later in pairwise(times)) == 5 * SECOND
    assert len(times) == 1 + 60 + 40 + 10 + 2
    assert times[-1] == END + DAY


def test_a_restart_after_a_week_polls_once_more() -> None:
    """The poll that was due is performed; none follows it."""
    assert next_poll(OPENED, EXPIRES, OPENED + 7 * DAY) is None
