"""The accent colours that a seller can choose from, readable on light and on dark ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

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
