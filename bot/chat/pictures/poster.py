"""What a seller prints or shows in a story: a poster of A4 as PNG and PDF, and a square."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.pictures import png
from bot.chat.pictures.canvas import GROUNDS, PAPER, Pixels
from bot.chat.pictures.head import Words, ending, head
from bot.core.images import lettering
from bot.core.images.lettering import Fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.pictures.canvas import Box, Canvas, Colour

DPI = 300
INK, QUIET = (0x16, 0x1A, 0x22), (0x4A, 0x52, 0x60)
NAME_LINES = 2
MOST_TEXT = 300
"""Characters of the seller's words, as many as the chat takes; the rest is not looked at."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a poster or square shows.

    `code` is the link, `photo` as `photo.prepared` made it, `text` the seller's own words, line by
    line, and `hint` what to do with the code. Words that the font can't write are left out.
    """

    name: str
    price: str
    code: str
    photo: bytes | None
    text: str | None
    hint: str
    dark: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """Measures of a sheet in pixels; sizes of letters from the one wished for downwards.

    `grain`: pixels that one of the photo fills each way. A photo has 150 for an inch of A4 and no
    more, and repeated ones take half the time to pack. `below`: hint and text stand below the
    code, else beside it. The code's own border is a part of `code`.
    """

    size: tuple[int, int]
    head: int
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


A4 = Shape(
    size=(2480, 3508),
    head=872,
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
SQUARE = Shape(
    size=(1080, 1080),
    head=430,
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


def poster_png(sheet: Sheet) -> bytes:
    """Draw an A4 poster of 300 dpi; ValueError for a link that no QR code can hold."""
    return _png(sheet, A4)


def square_png(sheet: Sheet) -> bytes:
    """Draw a square of 1080 pixels for stories; ValueError like `poster_png`."""
    return _png(sheet, SQUARE)


def poster_pdf(sheet: Sheet) -> bytes:
    """Draw an A4 poster whose code and letters are outlines; ValueError like `poster_png`."""
    from bot.chat.pictures import pdf  # noqa: PLC0415 - costs memory, seldom used

    return pdf.document(A4.size, lettering.tidied(sheet.name), partial(_draw, sheet, A4))


def _png(sheet: Sheet, shape: Shape) -> bytes:
    canvas = Pixels(shape.size)
    _draw(sheet, shape, canvas)
    return png.packed(canvas.image, DPI)


def _draw(sheet: Sheet, shape: Shape, canvas: Canvas) -> None:
    width, height = shape.size
    canvas.ground(GROUNDS[sheet.dark])
    _draw_head(sheet, shape, canvas)
    box = (shape.margin, shape.head + shape.margin, width - shape.margin, height - shape.margin)
    canvas.card(box, shape.corner)
    _draw_card(sheet, shape, canvas, box)


def _draw_head(sheet: Sheet, shape: Shape, canvas: Canvas) -> None:
    room = shape.size[0] - 2 * shape.margin
    said = ending(
        (
            lettering.written(sheet.name, room, shape.names, most=NAME_LINES),
            lettering.written(sheet.price, room, shape.prices, bold=True),
        ),
        shape.gap,
        shape.head - shape.margin // 2,
    )
    size = (shape.size[0] // shape.grain, shape.head // shape.grain)
    corner = ((shape.margin + said.width) // shape.grain, said.top // shape.grain)
    ground = head(sheet.photo, size, corner, dark=sheet.dark)
    canvas.picture(ground, (0, 0, shape.size[0], shape.head))
    for line, middle, block in said.rows():
        canvas.line(line, (shape.margin, middle), block, PAPER)


def _draw_card(sheet: Sheet, shape: Shape, canvas: Canvas, box: Box) -> None:
    """Draw code, hint and text together in the middle of the white card."""
    draw = _draw_below if shape.below else _draw_beside
    draw(sheet, shape, canvas, box)


def _draw_below(sheet: Sheet, shape: Shape, canvas: Canvas, box: Box) -> None:
    left, top, right, bottom = box
    room = (right - left - 4 * shape.padding, bottom - top - shape.code - 2 * shape.padding)
    words = _words(sheet, shape, room)
    begin = (top + bottom - shape.code - words.height) // 2
    corner = ((left + right - shape.code) // 2, begin)
    canvas.code(sheet.code, (*corner, corner[0] + shape.code, begin + shape.code))
    for line, at, block in replace(words, top=begin + shape.code).rows():
        across = (left + right - int(block.font.getlength(line))) // 2
        canvas.line(line, (across, at), block, _colour(words, block))


def _draw_beside(sheet: Sheet, shape: Shape, canvas: Canvas, box: Box) -> None:
    left, top, right, bottom = box
    middle = (top + bottom) // 2
    corner = (left + shape.padding, middle - shape.code // 2)
    canvas.code(sheet.code, (*corner, corner[0] + shape.code, corner[1] + shape.code))
    column = corner[0] + shape.code + shape.padding // 2
    words = _words(sheet, shape, (right - shape.padding - column, bottom - top - 2 * shape.padding))
    for line, at, block in replace(words, top=middle - words.height // 2).rows():
        canvas.line(line, (column, at), block, _colour(words, block))


def _colour(words: Words, block: Fitted) -> Colour:
    return INK if block is words.blocks[0] else QUIET


def _words(sheet: Sheet, shape: Shape, room: tuple[int, int]) -> Words:
    """Fit hint and text into width and height, one below the other from 0 on."""
    hint = lettering.written(sheet.hint, room[0], shape.hints, most=shape.hint_lines, bold=True)
    lines = legible_lines(sheet.text or "")
    gap = shape.padding // 2
    free = room[1] - (hint.height + gap if hint else 0)
    text = _flowing(lines, (room[0], free), shape.texts) if lines else None
    return Words(tuple(block for block in (hint, text) if block), gap, 0)


def legible_lines(text: str) -> list[str]:
    """Give the lines of a seller's words that can be written, tidied, none of them empty."""
    lines = map(lettering.legible, text[:MOST_TEXT].splitlines())
    return [line for line in lines if line]


def _flowing(lines: Sequence[str], room: tuple[int, int], sizes: Sequence[int]) -> Fitted:
    """Break lines so that they fit into width and height, at the first of `sizes` that allows it.

    Where none does, the breaks that were typed are given up, then what comes last.
    """
    whole = " ".join(lines)
    for kept in (lines, [whole]):
        for size in sizes:
            rows = [row for line in kept for row in _broken(line, room[0], size)]
            if len(rows) <= _most(room[1], size):
                return Fitted(tuple(rows), lettering.font(size))
    return lettering.fitted(whole, room[0], sizes[-1:], most=_most(room[1], sizes[-1]))


def _broken(line: str, width: int, size: int) -> tuple[str, ...]:
    return lettering.fitted(line, width, (size,), most=len(line)).lines


def _most(height: int, size: int) -> int:
    """Give how many lines of a size there are in a height."""
    return int(height / (size * lettering.LEADING))
