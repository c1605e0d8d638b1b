"""Shaped lines as outlines, which print sharp in any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import uharfbuzz

from bot.core.images.shaping import faces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.images.plain_font import Weight
    from bot.core.images.shaping.shaper import Glyph, ShapedLine

_Point: TypeAlias = tuple[float, float]


class Path(Protocol):
    """A path of curves, as reportlab has it; here its y axis points downwards."""

    def moveTo(self, x: float, y: float) -> None: ...  # noqa: N802
    def lineTo(self, x: float, y: float) -> None: ...  # noqa: N802
    def curveTo(self, *points: float) -> None: ...  # noqa: N802
    def close(self) -> None: ...


class Layer(NamedTuple):
    """Glyphs of one colour and an opacity from 0 to 1; None is the colour of the text."""

    colour: tuple[int, int, int] | None
    opacity: float
    glyphs: tuple[Glyph, ...]


def layers(line: ShapedLine) -> Iterator[Layer]:
    """Yield what is filled in one colour each, from the lowest layer to the highest."""
    yield Layer(None, 1, tuple(glyph for glyph in line.glyphs if glyph.face != faces.EMOJI))
    for glyph in line.glyphs:
        if glyph.face == faces.EMOJI:
            for part, colour in _parts(glyph.number):
                opaque = (colour.red, colour.green, colour.blue)
                yield Layer(opaque, colour.alpha / 255, (glyph._replace(number=part),))


def _parts(emoji: int) -> list[tuple[int, uharfbuzz.Color]]:
    """Return the outlines that an emoji consists of, with their colours."""
    found: list[tuple[int, uharfbuzz.Color]] = []
    funcs = uharfbuzz.PaintFuncs()
    funcs.set_fill_glyph_func(lambda glyph, colour, _, parts: parts.append((glyph, colour)))
    faces.load(faces.EMOJI, "regular").paint_glyph(emoji, funcs, found)
    return found


def trace(layer: Layer, size: int, weight: Weight, origin: _Point, path: Path) -> None:
    """Add the outlines of a layer to a path; `origin` is the left end of its line's baseline."""
    for glyph in layer.glyphs:
        font = faces.load(glyph.face, weight)
        start = (origin[0] + glyph.x * size, origin[1] - glyph.y * size)
        font.draw_glyph_with_pen(glyph.number, _Pen(path, size / font.face.upem, start))


class _Pen:
    """Writes the outline of a glyph into a path, in the interface of fontTools' pens."""

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
        """Draw a quadratic curve as the cubic one that equals it."""
        start, middle, last = self._last, self._place(control), self._place(end)
        self._path.curveTo(*_towards(start, middle), *_towards(last, middle), *last)

    def closePath(self) -> None:  # noqa: N802
        self._path.close()


def _towards(point: _Point, control: _Point) -> _Point:
    """Return the point two thirds of the way to a control point."""
    return point[0] + (control[0] - point[0]) * 2 / 3, point[1] + (control[1] - point[1]) * 2 / 3
