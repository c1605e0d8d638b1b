"""Ids: nobody can guess them, and those of the same hours begin alike."""

from __future__ import annotations

import re

from bot.service.usecases.request_commands import HOURS_OF_ID, new_id

HOURS = 1 << HOURS_OF_ID
"""In ms."""


def test_an_id_has_24_lower_case_hex_digits_at_any_time() -> None:
    assert all(re.fullmatch("[0-9a-f]{24}", new_id(now)) for now in (0, HOURS, 2**41, 2**62))


def test_ids_of_the_same_hours_begin_alike_and_later_ones_follow() -> None:
    begun = 1_000 * HOURS
    first, last, later = (new_id(now)[:4] for now in (begun, begun + HOURS - 1, begun + HOURS))
    assert first == last < later


def test_all_digits_behind_the_time_are_random() -> None:
    """Each has several values among a thousand."""
    ids = [new_id(0)[4:] for _ in range(1_000)]
    assert len(set(ids)) == len(ids)
    assert all(len(set(column)) > 10 for column in zip(*ids, strict=True))
