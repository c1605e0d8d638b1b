"""Seller branding that payers see: the available colours, and the initials of a name."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TypeAlias

from bot.core.text import sanitize

Rgb: TypeAlias = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""


@dataclass(frozen=True, slots=True)
class BrandColour:
    """A brand colour for light and for dark backgrounds, in CSS notation.

    Each has a contrast of at least 4.5 to its text and to the page backgrounds (WCAG 2.2, 1.4.3).
    """

    light: str
    """Text on it is PAPER."""

    dark: str
    """Text on it is INK."""


PAPER, INK = "#ffffff", "#10141d"

LIGHT_GROUNDS, DARK_GROUNDS = ("#ffffff", "#eef0f4"), ("#1a1d24", "#0f1115")
"""The page backgrounds behind a brand colour."""

COLOURS = {
    "blue": BrandColour("#1558d6", "#8ab4ff"),
    "teal": BrandColour("#0b6b70", "#6bd3cf"),
    "green": BrandColour("#147a3d", "#6fd696"),
    "orange": BrandColour("#a84300", "#ffb27a"),
    "red": BrandColour("#b3261e", "#ff9d94"),
    "pink": BrandColour("#ac1f67", "#ff9fcc"),
    "purple": BrandColour("#6b37c2", "#c5aaff"),
    "grey": BrandColour("#4a5160", "#bcc3cf"),
}
"""The values of `seller.accentColor`, and of the seller's profile in the chat."""

DEFAULT_COLOUR = "blue"


def colour_named(name: str | None) -> BrandColour:
    """Return a colour by name, or the default if the name is None or unknown."""
    return COLOURS.get(name or DEFAULT_COLOUR, COLOURS[DEFAULT_COLOUR])


def rgb_of(css: str) -> Rgb:
    """Parse a colour written as `#rrggbb`."""
    value = int(css.removeprefix("#"), 16)
    return value >> 16, value >> 8 & 0xFF, value & 0xFF


def initials(name: str) -> str:
    """Return the initials of a seller without a picture: one or two letters.

    A name of two words in a script with upper and lower case has two initials. Any other name has
    one: its first user-perceived character, including marks and modifiers.
    """
    found = [letter for word in name.split() if (letter := _first_letter(word))]
    if not found:
        return _character(name.strip())
    if len(found) > 1 and all(_has_case(letter) for letter in found[:2]):
        found = [found[0] + found[1]]
    return unicodedata.normalize("NFC", found[0].upper() if _has_case(found[0]) else found[0])


def _first_letter(word: str) -> str:
    """Return the first letter or digit of a word with its marks; "" if it has none."""
    return next((_character(word[at:]) for at, one in enumerate(word) if one.isalnum()), "")


def _has_case(letter: str) -> bool:
    return letter.upper() != letter.lower()


def _character(text: str) -> str:
    return next(iter(sanitize.graphemes(text)), "")
