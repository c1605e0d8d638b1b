"""Phrases of chat, pages and letters: the same numbers and sizes wherever people read them."""

from __future__ import annotations

import pytest

from bot.core.text import translations


@pytest.mark.parametrize(
    ("last", "english", "german"),
    [
        (1_007, "1,007", "1.007"),
        (1_008, "1,007 and 1,008", "1.007 und 1.008"),
        (1_009, "1,007, 1,008 and 1,009", "1.007, 1.008 und 1.009"),
        (1_010, "1,007 to 1,010", "1.007 bis 1.010"),
    ],
)
def test_units_are_named_one_by_one_or_as_a_range(last: int, english: str, german: str) -> None:
    assert translations.unit_numbers(1_007, last, "en-US") == english
    assert translations.unit_numbers(1_007, last, "de") == german


@pytest.mark.parametrize(
    ("size", "english", "german"),
    [
        (1, "1 KB", "1 KB"),
        (1_025, "2 KB", "2 KB"),
        (1_048_575, "1,024 KB", "1.024 KB"),
        (3_400_000, "3.2 MB", "3,2 MB"),
        (20_971_520, "20 MB", "20 MB"),
    ],
)
def test_a_file_is_at_least_1_kb(size: int, english: str, german: str) -> None:
    assert translations.file_size(size, "en") == english
    assert translations.file_size(size, "de") == german
