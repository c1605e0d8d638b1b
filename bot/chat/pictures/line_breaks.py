"""Lines of about equal length, broken between words.

Each word is measured once, and the rest is arithmetic: measuring lines takes longer than drawing
them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bot.core.images import text_fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.images.font import Font

WIDER = 1.04
"""Steps in which lines of equal length get wider until all words fit on them."""


def break_evenly(text: str, font: Font, width: int, most: int) -> tuple[str, ...]:
    """Split a text into as few lines as a width allows, as short as they then can be.

    Return none where they are more than `most`, or where a word is wider than a line.
    """
    pieces = [*text_fitting.pieces(text)]
    widths = [font.length(piece) for piece in pieces]
    space = font.length(" ")
    bare = [
        wide - space * piece.startswith(" ") for piece, wide in zip(pieces, widths, strict=True)
    ]
    ends = _line_ends(widths, bare, width)
    if max(bare) > width or len(ends) > most:
        return ()
    narrow = max(*bare, sum(widths) / len(ends))
    while narrow < width:
        narrower = _line_ends(widths, bare, narrow)
        if len(narrower) == len(ends):
            ends = narrower
            break
        narrow *= WIDER
    lines = ["".join(pieces[one:other]).strip(" ") for one, other in pairwise((0, *ends))]
    return text_fitting.with_direction(lines, text)


def _line_ends(widths: Sequence[float], bare: Sequence[float], width: float) -> list[int]:
    """Return the number of the piece that begins each next line; `bare` are without a space."""
    ends: list[int] = []
    used = 0.0
    for number, (spaced, alone) in enumerate(zip(widths, bare, strict=True)):
        if number and used + spaced > width:
            ends.append(number)
            used = alone
        else:
            used += spaced
    return [*ends, len(widths)]
