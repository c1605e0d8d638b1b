"""The square picture for stories: photo, words, and a code of half the width."""

from __future__ import annotations

from bot.chat.pictures import typesetting
from bot.chat.pictures.canvas import PictureContent, PixelCanvas, encode_png
from bot.chat.pictures.sheet import Code, Heading, Sheet, Style
from bot.core.images import qr

SIDE = 1080
HALF = SIDE // 2
DPI = 300
MARGIN, GAP = 48, 40

NAME = Heading((64, 58, 52, 47, 42, 38, 34, 30, 27), 6)
NAME_HEIGHT, HEIGHT_ABOVE = 180, 90
SPACE_ABOVE, SPACE_BELOW = 44, 24  # of a name above the code
FIELD = Heading((180, 158, 138, 120, 105, 92, 80, 70, 61, 54, 47, 41, 36), 6)
FIELD_TOP, FIELD_BOTTOM = 68, 64
STYLE = Style(
    prices=(76, 68, 60, 53, 46, 40, 35, 30),
    words=(32, 30, 28, 26, 24, 22),
    hints=(36, 33, 30, 27, 25),
    face=60,
    gap=GAP,
)


def square_png(content: PictureContent) -> bytes:
    """Draw a square of 1080 pixels. Raises ValueError if no QR code can hold the link."""
    modules = qr.module_image(content.code)
    code = Code(modules, max(1, HALF // modules.width))
    canvas = PixelCanvas((SIDE, SIDE))
    sheet = Sheet(canvas, (SIDE, SIDE), content)
    inset = (HALF - code.side) // 2
    around = inset + code.border
    column = sheet.column(MARGIN, HALF - GAP // 2)
    top = _draw_picture(sheet, column, HALF + around)
    sheet.draw_code(code, (HALF, HALF, SIDE, SIDE), (HALF + inset, HALF + inset))
    sheet.draw_words(column, top, SIDE - around, STYLE)
    return encode_png(canvas.image, DPI)


def _draw_picture(sheet: Sheet, column: typesetting.Column, top: int) -> int:
    """Draw photo and name; return where the other words begin.

    Without a photo, the name is in the field. Otherwise it is at the `top` of the column next to
    the code, or above both if the seller's text needs the column.
    """
    content, canvas, ink = sheet.content, sheet.canvas, sheet.palette.ink
    if not content.photo:
        words = (MARGIN, FIELD_TOP, SIDE - MARGIN, HALF - FIELD_BOTTOM)
        sheet.draw_field((0, 0, SIDE, HALF), words, FIELD)
        return top
    bottom = HALF
    if content.text:
        above = sheet.column(MARGIN, SIDE - MARGIN)
        name = sheet.set_name(above.width, HEIGHT_ABOVE, NAME)
        if name:
            start = HALF - SPACE_BELOW - name.height
            name.draw(canvas, above, start, ink)
            bottom = start - SPACE_ABOVE
    elif name := sheet.set_name(column.width, NAME_HEIGHT, NAME):
        name.draw(canvas, column, top, ink)
        top += name.height + GAP
    sheet.draw_photo(content.photo, (0, 0, SIDE, bottom))
    return top
