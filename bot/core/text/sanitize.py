"""Text of strangers, made safe to store and to show on a terminal, and what people type as keys.

Prose (`text`, `line`, `words`) keeps its characters; codes, addresses and numbers (`typed`) don't.
"""

from __future__ import annotations

import re
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

LINE_BREAK = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
"""The ends of a line or a paragraph in all of Unicode (UAX 14: BK, CR, LF, NL; Bidi_Class B)."""

_MINUS_SIGNS = frozenset("\u02d7\u2043\u2212\u2796")
"""Signs beside the dashes that stand for a hyphen."""

_UNSEEN = frozenset(map(chr, [0x034F, 0x115F, 0x1160, 0x2800, *range(0xFE00, 0xFE10), 0xFFFC]))
"""Characters without ink beside the format characters: joiners of marks, fillers, selectors."""

JOINERS = "\u200c\u200d"
"""Characters without a width that join or part letters, and make one emoji of several."""

EMOJI_TAGS = range(0xE0020, 0xE0080)
"""Characters without a width that spell the flags of regions (Unicode TR 51)."""


def lines(raw: str) -> str:
    """Write every line break of Unicode as a line feed."""
    return LINE_BREAK.sub("\n", raw)


def text(raw: str, most: int | None = None) -> str:
    """Replace control and format characters, and cut the text to `most` characters.

    Line breaks and tabs stay. PostgreSQL stores no NUL, ESC controls a terminal, and direction
    marks reorder the text around them (Unicode TR 9).
    """
    return "".join(map(_harmless, lines(raw)[:most]))


def line(raw: str, most: int | None = None) -> str:
    """Return the text likewise, as one line."""
    return " ".join(text(raw).split())[:most]


def words(raw: str) -> str:
    """Remove control and format characters, and what surrounds the text; line breaks stay.

    Joiners stay too, of which emoji and some scripts consist. Text without anything visible is ''.
    """
    spaced = lines(raw).replace("\t", " ").replace("\x1f", " ")
    kept = "".join(char for char in spaced if _is_written(char)).strip()
    visible = any(unicodedata.category(char)[0] not in "CMZ" for char in kept)
    return kept if visible else ""


def typed(raw: str, *, digits: bool = False) -> str:
    """Return a code, an address or a number as its keys are labelled, however it was pasted.

    Compatible characters are unified (NFKC), invisible marks removed, dashes become hyphens, and
    line breaks and spaces of every width single spaces. With `digits`, those of every script become
    ASCII: not in addresses, whose names may have them.
    """
    if raw.isascii():
        return " ".join(raw.split())
    plain = unicodedata.normalize("NFKC", raw)
    return " ".join("".join(_plain(char, digits=digits) for char in plain).split())


def _plain(char: str, *, digits: bool) -> str:
    category = unicodedata.category(char)
    if category == "Cf" or char in _UNSEEN:
        return ""
    if category == "Pd" or char in _MINUS_SIGNS:
        return "-"
    return str(unicodedata.decimal(char)) if digits and category == "Nd" else char


def _is_written(char: str) -> bool:
    if char == "\n" or char in JOINERS or ord(char) in EMOJI_TAGS:
        return True
    return unicodedata.category(char) not in SPOILING


def _harmless(char: str) -> str:
    if char in KEPT or unicodedata.category(char) not in SPOILING:
        return char
    return SPOILT
