"""The initials of a name, for a seller without a picture."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TypeAlias

# The accent colours that a seller can choose from, readable on light and on dark ground.


Colour: TypeAlias = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""


@dataclass(frozen=True, slots=True)
class Accent:
    """A colour for light ground and one for dark ground, as CSS writes them.

    Text on the first is white, text on the second is INK. Each has a contrast of at least 4.5 to
    its text and to the grounds of the pages (WCAG 2.2, 1.4.3).
    """

    light: str
    dark: str


PAPER, INK = "#ffffff", "#10141d"
"""Text on an accent on light ground, and on dark ground."""

LIGHT_GROUNDS, DARK_GROUNDS = ("#ffffff", "#eef0f4"), ("#1a1d24", "#0f1115")

ACCENTS = {
    "blue": Accent("#1558d6", "#8ab4ff"),
    "teal": Accent("#0b6b70", "#6bd3cf"),
    "green": Accent("#147a3d", "#6fd696"),
    "orange": Accent("#a84300", "#ffb27a"),
    "red": Accent("#b3261e", "#ff9d94"),
    "pink": Accent("#ac1f67", "#ff9fcc"),
    "purple": Accent("#6b37c2", "#c5aaff"),
    "grey": Accent("#4a5160", "#bcc3cf"),
}
"""The values of `seller.accentColor`, and of the seller's profile in the chat."""

DEFAULT_ACCENT = "blue"


def accent_of(name: str | None) -> Accent:
    """Return the accent of a name, the default for None and for an unknown name."""
    return ACCENTS.get(name or DEFAULT_ACCENT, ACCENTS[DEFAULT_ACCENT])


def colour_of(css: str) -> Colour:
    """Return the parts of a colour written as `#rrggbb`."""
    value = int(css.removeprefix("#"), 16)
    return value >> 16, value >> 8 & 0xFF, value & 0xFF


JOINER = "\u200d"
"""ZERO WIDTH JOINER, which makes one emoji of several."""

_EXTENDING = ("Mn", "Mc", "Me", "Cf")
"""Categories of characters that belong to the one before them."""


def initials(name: str) -> str:
    """Return the first letters of a name's first two words, or one where two would not fit.

    Only scripts with upper and lower case abbreviate names so. Of any other, and of an emoji, it
    is the first character as people see it, marks and modifiers included.
    """
    found = [letter for word in name.split() if (letter := _first(word))]
    if not found:
        return _character(name.strip())
    if len(found) > 1 and all(_has_case(letter) for letter in found[:2]):
        found = [found[0] + found[1]]
    return unicodedata.normalize("NFC", found[0].upper() if _has_case(found[0]) else found[0])


def _first(word: str) -> str:
    """Return the word's first letter or digit with its marks; "" if it has none."""
    return next((_character(word[at:]) for at, one in enumerate(word) if one.isalnum()), "")


def _has_case(letter: str) -> bool:
    return letter.upper() != letter.lower()


def _character(text: str) -> str:
    """Return the first character as people see it (Unicode UAX #29, as far as names need it)."""
    end = 1
    while end < len(text) and (_extends(text[end]) or text[end - 1] == JOINER):
        end += 1
    if _is_regional(text[:1]) and _is_regional(text[1:2]):
        end = 2
    return text[:end]


def _extends(one: str) -> bool:
    is_skin_tone = "\U0001f3fb" <= one <= "\U0001f3ff"
    return is_skin_tone or unicodedata.category(one) in _EXTENDING


def _is_regional(one: str) -> bool:
    """Return whether it is half of a flag."""
    return "\U0001f1e6" <= one <= "\U0001f1ff"
