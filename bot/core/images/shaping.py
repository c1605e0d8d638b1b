"""Render lines of text in any script: font choice, shaping, outlines and pixels.

Font files are memory-mapped, and a font is loaded for the first text that needs it. Lengths in a
shaped line are in em, so a line is shaped once for all font sizes.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import ceil, floor
from typing import NamedTuple, Protocol, TypeAlias

import uharfbuzz
from PIL import Image

from bot.core.images import plain_font, unicode_text
from bot.core.text import sanitize

PLAIN, EMOJI = "NotoSans", "Twemoji"
JAPANESE, CHINESE, KOREAN = "NotoSansCJKJP", "NotoSansCJKSC", "NotoSansCJKKR"
EAST_ASIAN = frozenset([JAPANESE, CHINESE, KOREAN])

RANGES = (
    (0x0530, "NotoSansArmenian"),
    (0x0590, "NotoSansHebrew"),
    (0x0600, "NotoSansArabic"),
    (0x0700, ""),
    (0x0750, "NotoSansArabic"),
    (0x0780, ""),
    (0x0870, "NotoSansArabic"),
    (0x0900, "NotoSansDevanagari"),
    (0x0980, "NotoSansBengali"),
    (0x0A00, ""),
    (0x0B80, "NotoSansTamil"),
    (0x0C00, "NotoSansTelugu"),
    (0x0C80, "NotoSansKannada"),
    (0x0D00, ""),
    (0x0E00, "NotoSansThai"),
    (0x0E80, ""),
    (0x10A0, "NotoSansGeorgian"),
    (0x1100, ""),
    (0x1C90, "NotoSansGeorgian"),
    (0x1CC0, ""),
    (0x2D00, "NotoSansGeorgian"),
    (0x2D30, ""),
    (0x3000, CHINESE),
    (0x3131, KOREAN),
    (0x318F, CHINESE),
    (0xAC00, KOREAN),
    (0xD7A4, ""),
    (0xFB13, "NotoSansArmenian"),
    (0xFB18, ""),
    (0xFB1D, "NotoSansHebrew"),
    (0xFB50, "NotoSansArabic"),
    (0xFE00, ""),
    (0xFE70, "NotoSansArabic"),
    (0xFF00, CHINESE),
    (0xFFF0, ""),
)
"""The first character of each block, and the font of its letters; "" is the plain font."""

AXIS = {"regular": 400, "semibold": 600, "bold": 700}
"""Weights of the fonts that have all weights in one file."""

EMBOLDENING = {"regular": -0.012, "semibold": 0.01, "bold": 0.03}
"""Added stroke width in em for the East Asian fonts: their files have only a medium weight."""

_IGNORABLE = frozenset(["Cf", "Cc", "Zs"])


@lru_cache(maxsize=4096)
def choose_face(cluster: str, language: str = "") -> str | None:
    """Return the name of the first font that has a whole cluster; None if there is no such font."""
    names = _candidates(cluster, language)
    return next((name for name in names if has_face(name, cluster)), None)


def _candidates(cluster: str, language: str) -> tuple[str, ...]:
    first = cluster[0]
    if (
        unicode_text.EMOJI_STYLE in cluster
        or unicode_text.KEYCAP in cluster
        or (ord(first) >= RANGES[-1][0] and unicode_text.is_pictograph(first))
    ):
        return EMOJI, PLAIN
    own = RANGES[max(0, bisect_right(RANGES, ord(first), key=lambda entry: entry[0]) - 1)]
    if own[1] == CHINESE:
        order = (JAPANESE, CHINESE) if language == "ja" else (CHINESE, JAPANESE)
        return *order, EMOJI
    script = (own[1],) if own[1] and ord(first) >= own[0] else ()
    symbols = (JAPANESE, EMOJI) if unicode_text.TEXT_STYLE in cluster else (EMOJI, JAPANESE)
    return *script, PLAIN, *(symbols if unicodedata.category(first)[0] in "SPN" else ())


def has_face(name: str, cluster: str) -> bool:
    """True if a font has every character of a cluster that doesn't only change how others look."""
    font = load_face(name, "regular")
    return all(
        unicodedata.category(char) in _IGNORABLE
        or "\ufe00" <= char <= unicode_text.EMOJI_STYLE
        or font.get_nominal_glyph(ord(char))
        for char in cluster
    )


@lru_cache(maxsize=64)
def load_face(name: str, weight: plain_font.Weight) -> uharfbuzz.Font:
    """Return a font in a weight, scaled in its own em units."""
    font = uharfbuzz.Font(_face(plain_font.FACES[weight] if name == PLAIN else name))
    if name in EAST_ASIAN:
        font.synthetic_bold = (EMBOLDENING[weight], EMBOLDENING[weight], True)
    elif name not in (PLAIN, EMOJI):
        font.set_variations({"wght": AXIS[weight]})
    return font


@lru_cache(maxsize=64)
def _face(file: str) -> uharfbuzz.Face:
    suffix = "otf" if file in EAST_ASIAN else "ttf"
    return uharfbuzz.Face(uharfbuzz.Blob.from_file_path(str(plain_font.FONTS / f"{file}.{suffix}")))


# A line of text as positioned glyphs, in visual order.


EMOJI_SPACE = 0.06
"""Space left and right of an emoji in em: the emoji itself fills its em."""


class Glyph(NamedTuple):
    """A glyph of a font and its origin: x from the line's left end, y upwards."""

    face: str
    number: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ShapedLine:
    """A line that can be drawn; its ink is within its width."""

    width: float
    above: float  # how far the ink reaches above the baseline
    below: float
    weight: plain_font.Weight
    glyphs: tuple[Glyph, ...]


class _Run(NamedTuple):
    """Characters in one font and one direction."""

    text: str
    face: str
    level: int


@lru_cache(maxsize=512)
def shape(line: str, weight: plain_font.Weight, language: str) -> ShapedLine:
    """Place the glyphs of a line; characters missing from every font are left out."""
    glyphs: list[Glyph] = []
    across = 0.0
    for run in unicode_text.in_visual_order([*_runs(line, language)], lambda run: run.level):
        across = _place(run, weight, language, glyphs, across)
    left = above = below = 0.0
    right = across
    for glyph in glyphs:  # the ink may extend past the letters' advance widths
        font = load_face(glyph.face, weight)
        ink, em = font.get_glyph_extents(glyph.number), font.face.upem
        start, top = glyph.x + ink.x_bearing / em, glyph.y + ink.y_bearing / em
        left, right = min(left, start), max(right, start + ink.width / em)
        above, below = max(above, top), max(below, -top - ink.height / em)  # heights are negative
    moved = tuple(glyph._replace(x=glyph.x - left) for glyph in glyphs)
    return ShapedLine(right - left, above, below, weight, moved)


def _runs(line: str, language: str) -> Iterator[_Run]:
    """Divide a line where the font or the direction changes, never inside a cluster."""
    levels = iter(unicode_text.levels(line))
    parts = []
    for cluster in sanitize.graphemes(line):
        level = next(levels)
        for _ in cluster[1:]:
            next(levels)
        parts.append(_Run(cluster, choose_face(cluster, language) or "", level))
    for (face, level), group in groupby(parts, key=lambda part: part[1:]):
        if face:
            yield _Run("".join(part.text for part in group), face, level)


def _place(
    run: _Run, weight: plain_font.Weight, language: str, glyphs: list[Glyph], across: float
) -> float:
    """Append the glyphs of a run that begins at x = `across`; return the x of its end."""
    font = load_face(run.face, weight)
    buffer = uharfbuzz.Buffer()
    buffer.add_str(run.text)
    buffer.direction = "rtl" if run.level % 2 else "ltr"
    buffer.language = language or "und"
    buffer.guess_segment_properties()
    uharfbuzz.shape(font, buffer)
    em, space = font.face.upem, EMOJI_SPACE if run.face == EMOJI else 0.0
    for info, position in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
        if info.codepoint:
            x = across + space + position.x_offset / em
            glyphs.append(Glyph(run.face, info.codepoint, x, position.y_offset / em))
        if position.x_advance:
            across += position.x_advance / em + 2 * space
    return across


# Shaped lines as outlines, which print sharply at any size.


_Point: TypeAlias = tuple[float, float]


class Path(Protocol):
    """A path of curves with reportlab's interface; its y axis points downwards here."""

    def moveTo(self, x: float, y: float) -> None: ...  # noqa: N802
    def lineTo(self, x: float, y: float) -> None: ...  # noqa: N802
    def curveTo(self, *points: float) -> None: ...  # noqa: N802
    def close(self) -> None: ...


class Layer(NamedTuple):
    """Glyphs of one colour (None is the text colour) and an opacity from 0 to 1."""

    colour: tuple[int, int, int] | None
    opacity: float
    glyphs: tuple[Glyph, ...]


def layers(line: ShapedLine) -> Iterator[Layer]:
    """Yield the single-colour layers of a line, from the lowest to the highest."""
    yield Layer(None, 1, tuple(glyph for glyph in line.glyphs if glyph.face != EMOJI))
    for glyph in line.glyphs:
        if glyph.face != EMOJI:
            continue
        found: list[tuple[int, uharfbuzz.Color]] = []  # outlines with their colours
        funcs = uharfbuzz.PaintFuncs()
        funcs.set_fill_glyph_func(lambda part, colour, _, parts: parts.append((part, colour)))
        load_face(EMOJI, "regular").paint_glyph(glyph.number, funcs, found)
        for part, colour in found:
            opaque = (colour.red, colour.green, colour.blue)
            yield Layer(opaque, colour.alpha / 255, (glyph._replace(number=part),))


def trace(layer: Layer, size: int, weight: plain_font.Weight, origin: _Point, path: Path) -> None:
    """Add the outlines of a layer to a path; `origin` is the left end of the line's baseline."""
    for glyph in layer.glyphs:
        font = load_face(glyph.face, weight)
        start = (origin[0] + glyph.x * size, origin[1] - glyph.y * size)
        font.draw_glyph_with_pen(glyph.number, _Pen(path, size / font.face.upem, start))


class _Pen:
    """Writes the outline of a glyph into a path, with the interface of fontTools' pens."""

    def __init__(self, path: Path, scale: float, origin: _Point) -> None:
        self._path, self._scale, self._origin = path, scale, origin
        self._last = origin

    def _place(self, point: _Point) -> _Point:
        self._last = (
            self._origin[0] + point[0] * self._scale,
            self._origin[1] - point[1] * self._scale,
        )
        return self._last

    def moveTo(self, point: _Point) -> None:  # noqa: N802
        self._path.moveTo(*self._place(point))

    def lineTo(self, point: _Point) -> None:  # noqa: N802
        self._path.lineTo(*self._place(point))

    def curveTo(self, first: _Point, second: _Point, end: _Point) -> None:  # noqa: N802
        self._path.curveTo(*self._place(first), *self._place(second), *self._place(end))

    def qCurveTo(self, control: _Point, end: _Point) -> None:  # noqa: N802
        """Draw a quadratic curve as the equivalent cubic curve."""
        start, middle, last = self._last, self._place(control), self._place(end)
        self._path.curveTo(*_towards(start, middle), *_towards(last, middle), *last)

    def closePath(self) -> None:  # noqa: N802
        self._path.close()


def _towards(point: _Point, control: _Point) -> _Point:
    """Return the point two thirds of the way to a control point."""
    return point[0] + (control[0] - point[0]) * 2 / 3, point[1] + (control[1] - point[1]) * 2 / 3


# Shaped lines as pixels: letters in one colour, emoji in their own colours.


BLEED = 0.04
"""Margin around the ink in em, for emboldened outlines and smoothed edges."""


def draw(
    image: Image.Image,
    line: ShapedLine,
    size: int,
    origin: tuple[float, float],
    fill: tuple[int, int, int] | int,
) -> None:
    """Draw a line at a font size of `size` pixels; `origin` is the left end of its baseline."""
    left, baseline = floor(origin[0]), round(origin[1])
    shift = origin[0] - left
    start, end = floor(shift - BLEED * size), ceil(shift + (line.width + BLEED) * size)
    bottom = floor(-(line.below + BLEED) * size)
    height = ceil((line.above + BLEED) * size) - bottom
    box = uharfbuzz.RasterExtents(start, bottom, max(1, end - start), height, 0)
    place = (left + box.x_origin, baseline - box.y_origin - box.height)
    if any(glyph.face != EMOJI for glyph in line.glyphs):
        mask = _mask(line, size, box, shift)
        image.paste(fill, (*place, place[0] + mask.width, place[1] + mask.height), mask)
    for emoji, across in _emoji(line, size, box, shift):
        image.paste(emoji.convert(image.mode), (left + across, place[1]), emoji.getchannel("A"))


def _mask(line: ShapedLine, size: int, box: uharfbuzz.RasterExtents, shift: float) -> Image.Image:
    raster = uharfbuzz.RasterDraw()
    raster.extents = box
    for glyph in line.glyphs:
        if glyph.face != EMOJI:
            font = load_face(glyph.face, line.weight)
            raster.transform = _transform(font, glyph, size, shift)
            raster.draw_glyph(font, glyph.number)
    return _picture("L", "L", raster.render())


def _emoji(
    line: ShapedLine, size: int, box: uharfbuzz.RasterExtents, shift: float
) -> Iterator[tuple[Image.Image, int]]:
    """Yield the picture of each emoji and its distance from the line's left end."""
    for glyph in line.glyphs:
        if glyph.face != EMOJI:
            continue
        font = load_face(glyph.face, "regular")
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
