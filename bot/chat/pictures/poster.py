"""What a seller prints or shows in a story: a poster of A4 as PNG and PDF, and a square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.pictures import png
from bot.chat.pictures.canvas import GROUNDS, PAPER, Pixels
from bot.chat.pictures.head import about, ending, head
from bot.chat.pictures.pdf import Page
from bot.core import lettering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.pictures.canvas import Box, Canvas
    from bot.core.lettering import Fitted

DPI = 300
INK, QUIET = (0x16, 0x1A, 0x22), (0x4A, 0x52, 0x60)
NAME_LINES, HINT_LINES = 2, 4


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a poster or square shows.

    `code` is the link, `photo` as `photo.prepared` made it, `text` the seller's own words and
    `hint` what to do with the code. Words that the font can't write are left out.
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
    more, and repeated ones take half the time to pack.
    """

    size: tuple[int, int]
    head: int
    margin: int
    padding: int
    code: int
    corner: int
    gap: int
    grain: int
    names: tuple[int, ...]
    prices: tuple[int, ...]
    hints: tuple[int, ...]
    texts: tuple[int, ...]


A4 = Shape(
    size=(2480, 3508),
    head=1440,
    margin=150,
    padding=110,
    code=1240,
    corner=90,
    gap=10,
    grain=2,
    names=(168, 148, 128, 112),
    prices=(300, 260, 220, 180, 150, 120),
    hints=(132, 116, 100, 88),
    texts=(68, 62, 56, 50, 44),
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
    names=(58, 52, 46, 40),
    prices=(104, 90, 76, 62, 50, 42),
    hints=(56, 50, 44, 38, 34),
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
    page = Page(A4.size)
    _draw(sheet, A4, page)
    return page.document(lettering.tidied(sheet.name))


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
    width, height, begin = (part // shape.grain for part in (shape.size[0], shape.head, said.top))
    ground = head(sheet.photo, (width, height), begin, dark=sheet.dark)
    canvas.picture(ground, (0, 0, shape.size[0], shape.head))
    for line, middle, block in said.rows():
        canvas.line(line, (shape.margin, middle), block, PAPER)


def _draw_card(sheet: Sheet, shape: Shape, canvas: Canvas, box: Box) -> None:
    """Draw the code at the left of the white card, hint and text beside it, all in its middle."""
    left, top, right, bottom = box
    middle = (top + bottom) // 2
    code = (left + shape.padding, middle - shape.code // 2)
    canvas.code(sheet.code, (*code, code[0] + shape.code, code[1] + shape.code))
    column = code[0] + shape.code + shape.padding // 2
    room = right - shape.padding - column
    hint = lettering.written(sheet.hint, room, shape.hints, most=HINT_LINES, bold=True)
    said = lettering.legible(sheet.text) if sheet.text else None
    free = bottom - top - 2 * shape.padding - (hint.height + shape.padding // 2 if hint else 0)
    text = _flowing(said, (room, free), shape.texts) if said else None
    for line, at, block in about((hint, text), shape.padding // 2, middle).rows():
        canvas.line(line, (column, at), block, INK if block is hint else QUIET)


def _flowing(text: str, room: tuple[int, int], sizes: Sequence[int]) -> Fitted:
    """Break a text so that it fits into width and height, cut at the last of `sizes`."""
    for size in sizes:
        most = int(room[1] / (size * lettering.LEADING))
        block = lettering.fitted(text, room[0], (size,), most=most)
        if not block.lines[-1].endswith(lettering.ELLIPSIS):
            break
    return block
