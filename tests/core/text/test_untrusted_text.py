"""Text of strangers, before it is stored or shown."""

from __future__ import annotations

import unicodedata

import pytest

from bot.core.text import sanitize

BAD = "\ufffd"


@pytest.mark.parametrize(
    ("raw", "text", "line"),
    [
        ("plain", "plain", "plain"),
        ("", "", ""),
        ("a\r\nb\nc\td", "a\nb\nc\td", "a b c d"),
        ("\x1b]0;owned\x07", f"{BAD}]0;owned{BAD}", f"{BAD}]0;owned{BAD}"),
        ("nul\x00", f"nul{BAD}", f"nul{BAD}"),
        ("c1\x9b", f"c1{BAD}", f"c1{BAD}"),
        ("\u202egpj", f"{BAD}gpj", f"{BAD}gpj"),
        ("half\ud800", f"half{BAD}", f"half{BAD}"),
        ("grüße 日本 😀", "grüße 日本 😀", "grüße 日本 😀"),
    ],
)
def test_no_character_that_controls_a_terminal_is_left(raw: str, text: str, line: str) -> None:
    assert (sanitize.text(raw), sanitize.line(raw)) == (text, line)
    text.encode()


def test_long_text_is_cut() -> None:
    assert (sanitize.text("a\r\n" * 9, 3), sanitize.line("a  b  c", 4)) == ("a\na", "a b ")


def test_direction_marks_are_the_characters_that_unicode_gives_bidi_control() -> None:
    """Unicode TR 9: the embeddings, overrides and isolates, and three marks of their own."""
    turns = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    found = {code for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in turns}
    marks = {ord("\N{LEFT-TO-RIGHT MARK}"), ord("\N{RIGHT-TO-LEFT MARK}")}
    assert found | marks | {ord("\N{ARABIC LETTER MARK}")} == sanitize.DIRECTION_MARKS.keys()
