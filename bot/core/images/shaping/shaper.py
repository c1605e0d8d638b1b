"""A line of text as glyphs at their places, in visual order.

Lengths are in em, so that a line is shaped once for all font sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import uharfbuzz

from bot.core.images import bidi, clusters
from bot.core.images.shaping import faces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.images.plain_font import Weight

EMOJI_SPACE = 0.06
"""Left and right of an emoji, which fills its em."""


class Glyph(NamedTuple):
    """A glyph of a font, and where its origin is: to the right of the line's left end, upwards."""

    face: str
    number: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ShapedLine:
    """A line that can be drawn; its ink is within its width, and reaches as far as it says."""

    width: float
    above: float  # the baseline
    below: float
    weight: Weight
    glyphs: tuple[Glyph, ...]


class _Run(NamedTuple):
    """Characters in one font and one direction."""

    text: str
    face: str
    level: int


@lru_cache(maxsize=512)
def shape(line: str, weight: Weight, language: str) -> ShapedLine:
    """Place the glyphs of a line; characters that no font has are left out."""
    glyphs: list[Glyph] = []
    across = 0.0
    for run in bidi.in_visual_order([*_runs(line, language)], lambda run: run.level):
        across = _place(run, weight, language, glyphs, across)
    return _measured(glyphs, across, weight)


def _measured(glyphs: list[Glyph], across: float, weight: Weight) -> ShapedLine:
    """Return the line with room for its ink, which may reach beyond where its letters end."""
    left = above = below = 0.0
    right = across
    for glyph in glyphs:
        font = faces.load(glyph.face, weight)
        ink, em = font.get_glyph_extents(glyph.number), font.face.upem
        start, top = glyph.x + ink.x_bearing / em, glyph.y + ink.y_bearing / em
        left, right = min(left, start), max(right, start + ink.width / em)
        above, below = max(above, top), max(below, -top - ink.height / em)  # heights are negative
    moved = tuple(glyph._replace(x=glyph.x - left) for glyph in glyphs)
    return ShapedLine(right - left, above, below, weight, moved)


def _runs(line: str, language: str) -> Iterator[_Run]:
    """Divide a line where the font or the direction changes, never inside a cluster."""
    levels = iter(bidi.levels(line))
    parts = []
    for cluster in clusters.split(line):
        level = next(levels)
        for _ in cluster[1:]:
            next(levels)
        parts.append(_Run(cluster, faces.choose(cluster, language) or "", level))
    for (face, level), group in groupby(parts, key=lambda part: part[1:]):
        if face:
            yield _Run("".join(part.text for part in group), face, level)


def _place(run: _Run, weight: Weight, language: str, glyphs: list[Glyph], across: float) -> float:
    """Append the glyphs of a run that begins at `across`, and return where it ends."""
    font = faces.load(run.face, weight)
    buffer = uharfbuzz.Buffer()
    buffer.add_str(run.text)
    buffer.direction = "rtl" if run.level % 2 else "ltr"
    buffer.language = language or "und"
    buffer.guess_segment_properties()
    uharfbuzz.shape(font, buffer)
    em, space = font.face.upem, EMOJI_SPACE if run.face == faces.EMOJI else 0.0
    for info, position in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
        if info.codepoint:
            x = across + space + position.x_offset / em
            glyphs.append(Glyph(run.face, info.codepoint, x, position.y_offset / em))
        if position.x_advance:
            across += position.x_advance / em + 2 * space
    return across
