"""Make untrusted text safe to store and to print on a terminal, and normalize typed codes.

Prose (`text`, `line`, `words`) keeps its characters; codes, addresses and numbers (`typed`) are
converted to plain characters.
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
"""Direction marks and zero-width marks: soft hyphen, joiners, byte order mark."""

_EMBEDDINGS = "\u202a\u202b\u202c\u202d\u202e"
_ISOLATE, _FORCED_ISOLATES, _POP_ISOLATE = "\u2068", "\u2066\u2067", "\u2069"
_REORDERING = re.compile(f"[{_EMBEDDINGS}{_ISOLATE}{_FORCED_ISOLATES}{_POP_ISOLATE}]")

LINE_BREAK = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
"""All Unicode line and paragraph ends (UAX 14: BK, CR, LF, NL; Bidi_Class B)."""

_MINUS_SIGNS = frozenset("\u02d7\u2043\u2212\u2796")
"""Signs other than dashes that are typed as a hyphen."""

_UNSEEN = frozenset(map(chr, [0x034F, 0x115F, 0x1160, 0x2800, *range(0xFE00, 0xFE10), 0xFFFC]))
"""Blank characters that are not format characters: mark joiners, fillers, selectors."""

JOINERS = "\u200c\u200d"
"""Zero-width characters that join or separate letters, and combine several emoji into one."""

EMOJI_TAGS = range(0xE0020, 0xE0080)
"""Zero-width characters that spell the flags of regions (Unicode TR 51)."""


def lines(raw: str) -> str:
    """Convert every Unicode line break to a line feed."""
    return LINE_BREAK.sub("\n", raw)


def text(raw: str, most: int | None = None) -> str:
    """Replace control and format characters, and truncate the text to `most` characters.

    Line breaks and tabs stay. PostgreSQL stores no NUL, ESC controls a terminal, and direction
    marks reorder the text around them (Unicode TR 9).
    """
    return "".join(map(_harmless, lines(raw)[:most]))


def line(raw: str, most: int | None = None) -> str:
    """Sanitize like `text`, into one line."""
    return " ".join(text(raw).split())[:most]


def words(raw: str) -> str:
    """Remove control and format characters and surrounding space; keep line breaks.

    Joiners stay too, because emoji and some scripts need them. Invisible text becomes ''.
    """
    spaced = lines(raw).replace("\t", " ").replace("\x1f", " ")
    kept = "".join(char for char in spaced if _is_written(char)).strip()
    visible = any(unicodedata.category(char)[0] not in "CMZ" for char in kept)
    return kept if visible else ""


def in_order(raw: str) -> str:
    """Remove the characters that make a text look like another one (Unicode TR 9).

    Overrides and embeddings go, and so do isolates that force a direction or are left open. An
    isolate that takes the direction of its first letter stays; we isolate names in the same way.
    """
    if not _REORDERING.search(raw):
        return raw
    kept: list[str] = []
    opened: list[int | None] = []
    for char in raw:
        if char in _EMBEDDINGS:
            continue
        if char in _FORCED_ISOLATES:
            opened.append(None)
            continue
        if char == _ISOLATE:
            opened.append(len(kept))
        elif char == _POP_ISOLATE and (not opened or opened.pop() is None):
            continue
        kept.append(char)
    for place in reversed(opened):
        if place is not None:
            del kept[place]
    return "".join(kept)


def typed(raw: str, *, digits: bool = False) -> str:
    """Normalize a typed or pasted code, address or number to plain keyboard characters.

    Compatibility characters are unified (NFKC), invisible marks are removed, dashes become hyphens,
    and line breaks and spaces become single spaces. With `digits`, digits of every script become
    ASCII; leave this off for addresses, whose names may contain such digits.
    """
    if raw.isascii():
        return " ".join(raw.split())
    plain = unicodedata.normalize("NFKC", raw)
    return " ".join("".join(_plain(char, digits=digits) for char in plain).split())


def graphemes(raw: str) -> list[str]:
    """Split a text into user-perceived characters (Unicode TR 29).

    A letter with its marks is one, as is a flag or an emoji of a family.
    """
    import regex  # noqa: PLC0415 - costs memory, seldom used

    found: list[str] = regex.findall(r"\X", raw)
    return found


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
