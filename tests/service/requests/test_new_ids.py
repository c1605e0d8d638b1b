"""Ids: nobody can guess them, and those of the same second begin alike."""

from __future__ import annotations

import re

from bot.service.requests.request_commands import SECOND_OF_ID, TIME_DIGITS, new_id

SECOND = 1 << SECOND_OF_ID
"""In ms."""


def test_an_id_has_24_lower_case_hex_digits_at_any_time() -> None:
    assert all(re.fullmatch("[0-9a-f]{24}", new_id(now)) for now in (0, SECOND, 2**41, 2**62))


def test_ids_of_the_same_second_begin_alike_and_later_ones_follow() -> None:
    begun = 1_000 * SECOND
    first, last, later = (
        new_id(now)[:TIME_DIGITS] for now in (begun, begun + SECOND - 1, begun + SECOND)
    )
    assert first == last < later


def test_the_time_begins_again_after_twelve_days() -> None:
    round_ = SECOND << 4 * TIME_DIGITS
    assert 12 < round_ / 86_400_000 < 13
    assert new_id(round_ - 1)[:TIME_DIGITS] == "f" * TIME_DIGITS
    assert new_id(round_)[:TIME_DIGITS] == "0" * TIME_DIGITS


def test_all_digits_behind_the_time_are_random() -> None:
    """Each has several values among a thousand."""
    ids = [new_id(0)[TIME_DIGITS:] for _ in range(1_000)]
    assert len(set(ids)) == len(ids)
    assert all(len(set(column)) > 10 for column in zip(*ids, strict=True))
