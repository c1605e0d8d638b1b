"""Pictures that a seller prints or shows in a story: an A4 poster as PNG and PDF, and a square."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.pictures.canvas import BACKGROUNDS, WHITE, PixelCanvas, encode_png
from bot.chat.pictures.header import TextBlocks, draw_header, stack_above
from bot.core.images import text_fitting
from bot.core.images.font import Font
from bot.core.images.text_fitting import FittedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.pictures.canvas import Box, Canvas, Colour, PictureContent

DPI = 300
INK, GREY = (0x16, 0x1A, 0x22), (0x4A, 0x52, 0x60)
NAME_LINES = 2
MAX_TEXT = 300
"""Characters of the seller's text, as many as the chat stores; the rest is ignored."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Lengths in pixels, and font sizes from the preferred one downwards.

    `grain`: pixels drawn for one of the photo, each way. Prepared photos have 150 for an inch of
    A4, and repeated pixels are encoded in half the time. `below`: hint and text are below the
    code, else beside it. `code` includes the white border of the code.
    """

    size: tuple[int, int]
    header: int
    margin: int
    padding: int
    code: int
    corner: int
    gap: int
    grain: int
    below: bool
    names: tuple[int, ...]
    prices: tuple[int, ...]
    hints: tuple[int, ...]
    hint_lines: int
    texts: tuple[int, ...]


A4 = Layout(
    size=(2480, 3508),
    header=872,
    margin=96,
    padding=30,
    code=1804,
    corner=90,
    gap=10,
    grain=2,
    below=True,
    names=(156, 140, 124, 108),
    prices=(280, 240, 200, 170, 140, 120),
    hints=(150, 136, 122, 108),
    hint_lines=1,
    texts=(120, 110, 100, 94, 86, 78, 70, 62, 56, 50, 44, 38, 32),
)
SQUARE = Layout(
    size=(1080, 1080),
    header=430,
    margin=56,
    padding=32,
    code=490,
    corner=40,
    gap=2,
    grain=1,
    below=False,
    names=(58, 52, 46, 40),
    prices=(104, 90, 76, 62, 50, 42),
    hints=(56, 50, 44, 38, 34),
    hint_lines=4,
    texts=(30, 27, 24, 22),
)


def poster_png(content: PictureContent) -> bytes:
    """Draw an A4 poster of 300 dpi. Raises ValueError for a link that no QR code can hold."""
    return _draw_png(content, A4)


def square_png(content: PictureContent) -> bytes:
    """Draw a square of 1080 pixels for stories. Raises ValueError as `poster_png`."""
    return _draw_png(content, SQUARE)


def poster_pdf(content: PictureContent) -> bytes:
    """Draw an A4 poster whose code and text are vectors. Raises ValueError as `poster_png`."""
    from bot.chat.pictures import pdf  # noqa: PLC0415 - costs memory, seldom used

    return pdf.document(A4.size, text_fitting.normalize(content.name), partial(_draw, content, A4))


def _draw_png(content: PictureContent, layout: Layout) -> bytes:
    canvas = PixelCanvas(layout.size)
    _draw(content, layout, canvas)
    return encode_png(canvas.image, DPI)


def _draw(content: PictureContent, layout: Layout, canvas: Canvas) -> None:
    width, height = layout.size
    margin = layout.margin
    canvas.fill(BACKGROUNDS[content.dark])
    _draw_header(content, layout, canvas)
    panel = (margin, layout.header + margin, width - margin, height - margin)
    canvas.draw_panel(panel, layout.corner)
    draw_inside = _draw_text_below if layout.below else _draw_text_beside
    draw_inside(content, layout, canvas, panel)


def _draw_header(content: PictureContent, layout: Layout, canvas: Canvas) -> None:
    (width, _), margin = layout.size, layout.margin
    room = width - 2 * margin
    name = text_fitting.fit_drawable(content.name, room, layout.names, max_lines=NAME_LINES)
    price = text_fitting.fit_drawable(content.price, room, layout.prices, weight="bold")
    words = stack_above((name, price), layout.gap, layout.header - margin // 2)
    size = (width // layout.grain, layout.header // layout.grain)
    corner = ((margin + words.width) // layout.grain, words.top // layout.grain)
    background = draw_header(content.photo, size, corner, dark=content.dark)
    canvas.draw_image(background, (0, 0, width, layout.header))
    for line, middle, block in words.line_middles():
        canvas.draw_text(line, (margin, middle), block, WHITE)


def _draw_text_below(content: PictureContent, layout: Layout, canvas: Canvas, panel: Box) -> None:
    """Draw the code with hint and text below it in the middle of the white panel."""
    left, top, right, bottom = panel
    room = (right - left - 4 * layout.padding, bottom - top - layout.code - 2 * layout.padding)
    words = _fit_words(content, layout, room)
    start = (top + bottom - layout.code - words.height) // 2
    corner = ((left + right - layout.code) // 2, start)
    canvas.draw_code(content.code, (*corner, corner[0] + layout.code, start + layout.code))
    for line, middle, block in replace(words, top=start + layout.code).line_middles():
        across = (left + right - int(block.font.length(line))) // 2
        canvas.draw_text(line, (across, middle), block, _colour(words, block))


def _draw_text_beside(content: PictureContent, layout: Layout, canvas: Canvas, panel: Box) -> None:
    """Draw the code with hint and text to the right of it."""
    left, top, right, bottom = panel
    centre = (top + bottom) // 2
    corner = (left + layout.padding, centre - layout.code // 2)
    canvas.draw_code(content.code, (*corner, corner[0] + layout.code, corner[1] + layout.code))
    column = corner[0] + layout.code + layout.padding // 2
    room = (right - layout.padding - column, bottom - top - 2 * layout.padding)
    words = _fit_words(content, layout, room)
    for line, middle, block in replace(words, top=centre - words.height // 2).line_middles():
        canvas.draw_text(line, (column, middle), block, _colour(words, block))


def _colour(words: TextBlocks, block: FittedText) -> Colour:
    return INK if block is words.blocks[0] else GREY


def _fit_words(content: PictureContent, layout: Layout, room: tuple[int, int]) -> TextBlocks:
    """Fit the hint, and the text below it, into width and height."""
    hint = text_fitting.fit_drawable(
        content.hint or "", room[0], layout.hints, max_lines=layout.hint_lines, weight="bold"
    )
    lines = drawable_lines(content.text or "")
    gap = layout.padding // 2
    free = room[1] - (hint.height + gap if hint else 0)
    text = _fit_lines(lines, (room[0], free), layout.texts) if lines else None
    return TextBlocks(tuple(block for block in (hint, text) if block), gap, 0)


def drawable_lines(text: str) -> list[str]:
    """Return the lines of a seller's text that can be drawn, normalized, without empty ones."""
    lines = map(text_fitting.drawable_text, text[:MAX_TEXT].splitlines())
    return [line for line in lines if line]


def _fit_lines(lines: Sequence[str], room: tuple[int, int], sizes: Sequence[int]) -> FittedText:
    """Split lines so that they fit into width and height, in the first of `sizes` in which they do.

    Where none does, the lines are joined; where that does not fit either, the end is cut off.
    """
    whole = " ".join(lines)
    for kept in (lines, [whole]):
        for size in sizes:
            rows = [row for line in kept for row in _split_line(line, room[0], size)]
            if len(rows) <= _line_capacity(room[1], size):
                return FittedText(tuple(rows), Font(size))
    capacity = _line_capacity(room[1], sizes[-1])
    return text_fitting.fit(whole, room[0], sizes[-1:], max_lines=capacity)


def _split_line(line: str, width: int, size: int) -> tuple[str, ...]:
    return text_fitting.fit(line, width, (size,), max_lines=len(line)).lines


def _line_capacity(height: int, size: int) -> int:
    return int(height / (size * text_fitting.LINE_HEIGHT))
