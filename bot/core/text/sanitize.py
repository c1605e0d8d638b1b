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


def _harmless(char: str) -> str:
    if char in KEPT or unicodedata.category(char) not in SPOILING:
        return char
    return SPOILT
