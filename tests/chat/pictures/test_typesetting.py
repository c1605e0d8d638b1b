"""Words that fit a room: sizes, lines, and where they begin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.pictures.typesetting import (
    CAPITAL,
    Column,
    is_right_to_left,
    set_heading,
    set_line,
    set_words,
)
from tests.chat.pictures.samples import LONG_NAME

SIZES = (120, 90, 60, 45, 30)
COMPOUND = "Donaudampfschifffahrtsgesellschaft"


def test_a_short_heading_is_large_and_a_long_one_gets_more_lines() -> None:
    short, long = (set_heading(name, (900, 400), SIZES, 3) for name in ("Tea", LONG_NAME))
    assert short is not None
    assert long is not None
    assert (short.text.font.size, short.text.lines) == (120, ("Tea",))
    assert long.text.font.size < 120
    assert len(long.text.lines) == 3
    assert " ".join(long.text.lines) == LONG_NAME


def test_the_lines_of_a_heading_are_about_equally_long() -> None:
    block = set_heading("Hand-cut vinyl sticker pack of ten", (760, 200), (60,), 3)
    assert block is not None
    widths = [block.text.font.length(line) for line in block.text.lines]
    assert len(widths) == 2
    assert min(widths) > 0.7 * max(widths)


def test_a_heading_shrinks_before_a_word_is_split() -> None:
    block = set_heading(f"{COMPOUND} Wien", (900, 400), SIZES, 3)
    assert block is not None
    assert block.text.lines == (COMPOUND, "Wien")


def test_a_word_that_no_size_fits_is_split_and_the_end_cut_off() -> None:
    block = set_heading("x" * 500, (300, 100), (60, 45), 2)
    assert block is not None
    assert len(block.text.lines) == 2
    assert block.text.lines[-1].endswith("…")


def test_a_split_word_is_as_large_as_its_lines_allow() -> None:
    """Small, it would leave a lone letter for the last line."""
    smallest = set_line(COMPOUND, 10_000, SIZES[-1:], "semibold")
    assert smallest is not None
    block = set_heading(COMPOUND, (smallest.text.width - 1, 400), SIZES, 3)
    assert block is not None
    assert block.text.lines == ("Donaudampfschifffahrt-", "sgesellschaft")
    assert block.text.font.size > SIZES[-1]
    assert len(block.text.lines[-1]) > len(COMPOUND) / 4


@settings(max_examples=40)
@given(text=st.text("abcdefgh IJKW\n", max_size=320), width=st.integers(200, 900))
def test_words_stay_in_their_room(text: str, width: int) -> None:
    for block in (
        set_heading(text, (width, 300), SIZES, 4),
        set_words(text, (width, 300), SIZES),
        set_line(text, width, SIZES),
    ):
        if block is None:
            assert not text.strip()
            continue
        assert block.text.width <= width
        assert block.height <= 300


def test_words_keep_their_lines_while_there_is_room() -> None:
    block = set_words("Mo-Fr 9-18\n\nSa 9-13", (900, 300), SIZES)
    assert block is not None
    assert block.text.lines == ("Mo-Fr 9-18", "Sa 9-13")
    assert set_words("Mo-Fr", (900, int(CAPITAL * SIZES[-1]) - 1), SIZES) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea", False), ("شاي", True), ("קפה", True), ("12 شاي", True), ("Tea شاي", False),
        ("", False), ("12", False), ("手作り", False),
    ],
)  # fmt: skip
def test_the_first_letter_with_a_direction_decides(text: str, *, expected: bool) -> None:
    assert is_right_to_left(text) is expected


def test_a_column_is_inset_where_its_lines_begin() -> None:
    assert Column(10, 100).inset(20) == Column(30, 100)
    assert Column(10, 100, mirrored=True).inset(20) == Column(10, 80, mirrored=True)
