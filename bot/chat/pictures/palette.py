"""The colours of a picture: of its ground, its words and the seller's accent."""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.accents import DARK_GROUNDS, INK, Colour, accent_of, colour_of

WHITE, BLACK = (0xFF, 0xFF, 0xFF), (0, 0, 0)

TRACK = (0xDF, 0xE3, 0xEA)
"""The rest of a bar on white."""

DEPTH = 0.85
"""How much of the accent is in a field on dark ground; the rest is the ground."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture; `track` is what a bar has still to fill.

    A field is the coloured area where there is no photo. Words in `ink`, `muted` and `accent`
    stand on the ground; each pair of words and what they stand on has a contrast of at least 4.5
    (WCAG 2.2, 1.4.3).
    """

    ground: Colour
    ink: Colour
    muted: Colour
    accent: Colour
    on_accent: Colour
    field: Colour
    on_field: Colour
    track: Colour


def palette_of(accent: str | None, *, dark: bool) -> Palette:
    """Return the colours for an accent of `accents.ACCENTS`, the default one for None."""
    pair = accent_of(accent)
    on_light, on_dark = colour_of(pair.light), colour_of(pair.dark)
    ink = colour_of(INK)
    if not dark:
        return Palette(WHITE, ink, (0x55, 0x5E, 0x6E), on_light, WHITE, on_light, WHITE, TRACK)
    ground = colour_of(DARK_GROUNDS[-1])
    field = _mix(on_light, ground, DEPTH)
    track, white, muted = (0x3A, 0x42, 0x50), (0xF2, 0xF4, 0xF8), (0xA6, 0xAE, 0xBB)
    return Palette(ground, white, muted, on_dark, ink, field, WHITE, track)


def _mix(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (
        round(share * one + (1 - share) * two) for one, two in zip(colour, other, strict=True)
    )
    return red, green, blue
