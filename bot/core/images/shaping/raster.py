"""Shaped lines as pixels: letters in one colour, emoji in theirs."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import uharfbuzz
from PIL import Image

from bot.core.images.shaping import faces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.images.shaping.shaper import Glyph, ShapedLine

BLEED = 0.04
"""In em, around the ink: outlines are made bolder, and their edges are smooth."""


def draw(
    image: Image.Image,
    line: ShapedLine,
    size: int,
    origin: tuple[float, float],
    fill: tuple[int, int, int] | int,
) -> None:
    """Draw a line in a size of `size` pixels; `origin` is the left end of its baseline."""
    left, baseline = floor(origin[0]), round(origin[1])
    box = _extents(line, size, origin[0] - left)
    place = (left + box.x_origin, baseline - box.y_origin - box.height)
    if any(glyph.face != faces.EMOJI for glyph in line.glyphs):
        mask = _mask(line, size, box, origin[0] - left)
        image.paste(fill, (*place, place[0] + mask.width, place[1] + mask.height), mask)
    for emoji, across in _emoji(line, size, box, origin[0] - left):
        image.paste(emoji.convert(image.mode), (left + across, place[1]), emoji.getchannel("A"))


def _extents(line: ShapedLine, size: int, shift: float) -> uharfbuzz.RasterExtents:
    """Return the pixels that a line may cover, from the pixel of its left end and its baseline."""
    start, end = floor(shift - BLEED * size), ceil(shift + (line.width + BLEED) * size)
    bottom = floor(-(line.below + BLEED) * size)
    height = ceil((line.above + BLEED) * size) - bottom
    return uharfbuzz.RasterExtents(start, bottom, max(1, end - start), height, 0)


def _mask(line: ShapedLine, size: int, box: uharfbuzz.RasterExtents, shift: float) -> Image.Image:
    raster = uharfbuzz.RasterDraw()
    raster.extents = box
    for glyph in line.glyphs:
        if glyph.face != faces.EMOJI:
            font = faces.load(glyph.face, line.weight)
            raster.transform = _transform(font, glyph, size, shift)
            raster.draw_glyph(font, glyph.number)
    return _picture("L", "L", raster.render())


def _emoji(
    line: ShapedLine, size: int, box: uharfbuzz.RasterExtents, shift: float
) -> Iterator[tuple[Image.Image, int]]:
    """Yield the picture of each emoji, and how far from the line's left end it is."""
    for glyph in line.glyphs:
        if glyph.face != faces.EMOJI:
            continue
        font = faces.load(glyph.face, "regular")
        outline = font.get_glyph_extents(glyph.number)
        scale = size / font.face.upem
        start = floor(shift + glyph.x * size + outline.x_bearing * scale)
        end = ceil(shift + glyph.x * size + (outline.x_bearing + outline.width) * scale)
        start, end = max(start, box.x_origin), min(end, box.x_origin + box.width)
        if start >= end:
            continue
        paint = uharfbuzz.RasterPaint()
        paint.extents = box._replace(x_origin=start, width=end - start)
        paint.transform = _transform(font, glyph, size, shift)
        paint.paint_glyph(font, glyph.number)
        yield _picture("RGBA", "BGRa", paint.render()), start


def _transform(
    font: uharfbuzz.Font, glyph: Glyph, size: int, shift: float
) -> tuple[float, float, float, float, float, float]:
    scale = size / font.face.upem
    return scale, 0, 0, scale, shift + glyph.x * size, glyph.y * size


def _picture(mode: str, raw_mode: str, rendered: uharfbuzz.RasterImage) -> Image.Image:
    box = rendered.extents
    return Image.frombytes(
        mode, (box.width, box.height), rendered.buffer, "raw", raw_mode, box.stride, -1
    )
