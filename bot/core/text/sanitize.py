"""Text of strangers, made safe to store and to show on a terminal."""

from __future__ import annotations

import unicodedata

KEPT = "\n\t"
SPOILT = "\N{REPLACEMENT CHARACTER}"
SPOILING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that can harm a terminal, a database or the text around them."""

DIRECTION_MARKS: dict[int, None] = dict.fromkeys(
    [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
"""Marks that reorder the text around them (Unicode TR 9); `str.translate` removes them."""

INVISIBLE_MARKS: dict[int, None] = DIRECTION_MARKS | dict.fromkeys(
    [0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF]
)
"""The same, and marks without a width: soft hyphen, joiners, byte order mark."""

JOINERS = "\u200c\u200d"
"""Characters without a width that join or part letters, and make one emoji of several."""

EMOJI_TAGS = range(0xE0020, 0xE0080)
"""Characters without a width that spell the flags of regions (Unicode TR 51)."""


def text(raw: str, most: int | None = None) -> str:
    """Replace control and format characters, and cut the text to `most` characters.

    Line breaks and tabs stay. PostgreSQL stores no NUL, ESC controls a terminal, and direction
    marks reorder the text around them (Unicode TR 9).
    """
    lines = raw.replace("\r\n", "\n")
    return "".join(map(_harmless, lines[:most]))


def line(raw: str, most: int | None = None) -> str:
    """Return the text likewise, as one line."""
    return " ".join(text(raw).split())[:most]


def words(raw: str) -> str:
    """Remove control and format characters, and what surrounds the text; line breaks stay.

    Joiners stay too, of which emoji and some scripts consist. Text without anything visible is ''.
    """
    lines = raw.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    kept = "".join(char for char in lines if _is_written(char)).strip()
    visible = any(unicodedata.category(char)[0] not in "CMZ" for char in kept)
    return kept if visible else ""


def _is_written(char: str) -> bool:
    if char == "\n" or char in JOINERS or ord(char) in EMOJI_TAGS:
        return True
    return unicodedata.category(char) not in SPOILING


def _harmless(char: str) -> str:
    if char in KEPT or unicodedata.category(char) not in SPOILING:
        return char
    return SPOILT
