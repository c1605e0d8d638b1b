"""The posters of a request: A4 to print, as PNG and PDF, and a square picture for stories.

On an A4 poster the photo is at the top, followed by the name; at the bottom are the code and the
other words.
"""

from __future__ import annotations

from functools import partial

from bot.chat.pictures import typesetting
from bot.chat.pictures.canvas import Canvas, PictureContent, PixelCanvas, encode_png
from bot.chat.pictures.sheet import Code, Heading, Sheet, Style, set_address
from bot.core.images import qr, text_fitting

SIZE = WIDTH, HEIGHT = 2480, 3508
DPI = 300
MARGIN = 142  # 12 mm
RIGHT, BOTTOM = WIDTH - MARGIN, HEIGHT - MARGIN
PHOTO = MARGIN + 1648  # its lower edge; the ratio is 4:3 as in most cameras
GRAIN = 2
"""Enlargement of the photo in each direction: prepared photos have 150 dpi, and repeated pixels are
encoded in half the time."""

NAME, NAME_HEIGHT = Heading((190, 172, 156, 142, 128, 116, 104, 94, 84, 76), 3), 420
SPACE, DESCENT = 110, 64  # space between parts; space below the baseline of the name's last line
FIELD = Heading((400, 350, 306, 268, 234, 205, 180, 156, 136, 120, 104, 90, 78), 8)
FIELD_INSET = 120
MAX_CODE, MAX_PANEL = 1130, 1235
"""Maximum width of a code's modules, or of the code with its white border if the border is visible.
The modules are then 9.5 or 8.5 cm wide; cameras read them from almost a metre."""

STYLE = Style(
    prices=(210, 186, 164, 144, 126, 112, 98, 86, 76, 66),
    words=(84, 76, 68, 62, 56, 50, 46, 42, 38, 34),
    hints=(104, 94, 84, 76, 68, 60, 54, 48),
    face=150,
    gap=84,
)
ADDRESS_SIZES = (54, 50, 46)
ABOVE_ADDRESS = 60


def poster_png(content: PictureContent) -> bytes:
    """Draw an A4 poster at 300 dpi. Raises ValueError if no QR code can hold the link."""
    canvas = PixelCanvas(SIZE)
    _draw(content, canvas)
    return encode_png(canvas.image, DPI)


def poster_pdf(content: PictureContent) -> bytes:
    """Draw an A4 poster with code and text as vectors. Raises ValueError like `poster_png`."""
    from bot.chat.pictures import pdf  # noqa: PLC0415 - costs memory, seldom used

    return pdf.document(SIZE, text_fitting.normalize(content.name), partial(_draw, content))


def _draw(content: PictureContent, canvas: Canvas) -> None:
    sheet = Sheet(canvas, SIZE, content)
    top = _draw_photo(sheet, content.photo) if content.photo else PHOTO
    modules = qr.module_image(content.code)
    unseen = 0 if content.dark else qr.BORDER  # modules of the border, in the margin
    most = MAX_CODE if unseen else MAX_PANEL
    scale = min((BOTTOM - top) // (modules.width - unseen), most // (modules.width - 2 * unseen))
    code = Code(modules, max(1, scale))
    beyond = unseen * code.scale
    left, top = RIGHT + beyond - code.side, BOTTOM + beyond - code.side
    sheet.draw_code(code, (left, top, RIGHT + beyond, BOTTOM + beyond), (left, top))
    left, top, space = left + beyond, top + beyond, max(SPACE, beyond)
    if not content.photo:
        bottom, inset = top - space, MARGIN + FIELD_INSET
        words = (inset, inset, WIDTH - inset, bottom - FIELD_INSET)
        sheet.draw_field((MARGIN, MARGIN, RIGHT, bottom), words, FIELD)
    _draw_words(sheet, sheet.column(MARGIN, left - space), top)


def _draw_photo(sheet: Sheet, photo: bytes) -> int:
    """Draw the photo with the name below it, and return their lower edge."""
    sheet.draw_photo(photo, (MARGIN, MARGIN, RIGHT, PHOTO), GRAIN)
    name = sheet.set_name(RIGHT - MARGIN, NAME_HEIGHT, NAME)
    if name is None:
        return PHOTO
    name.draw(sheet.canvas, sheet.column(MARGIN, RIGHT), PHOTO + SPACE, sheet.palette.ink)
    space = SPACE if sheet.content.dark else DESCENT  # on white, the invisible border adds to this
    return PHOTO + SPACE + name.height + space


def _draw_words(sheet: Sheet, column: typesetting.Column, top: int) -> None:
    address = set_address(sheet.content.code, column.width, ADDRESS_SIZES)
    height = address.height + address.depth if address else -ABOVE_ADDRESS
    sheet.draw_words(column, top, BOTTOM - height - ABOVE_ADDRESS, STYLE)
    if address:
        address.draw(sheet.canvas, column, BOTTOM - height, sheet.palette.muted)


# The square: photo, words, and a code of half the width.

SIDE = 1080
HALF = SIDE // 2
SQUARE_MARGIN, SQUARE_GAP = 48, 40

SQUARE_NAME = Heading((64, 58, 52, 47, 42, 38, 34, 30, 27), 6)
SQUARE_NAME_HEIGHT, HEIGHT_ABOVE = 180, 90
SPACE_ABOVE, SPACE_BELOW = 44, 24  # of a name above the code
SQUARE_FIELD = Heading((180, 158, 138, 120, 105, 92, 80, 70, 61, 54, 47, 41, 36), 6)
FIELD_TOP, FIELD_BOTTOM = 68, 64
SQUARE_STYLE = Style(
    prices=(76, 68, 60, 53, 46, 40, 35, 30),
    words=(32, 30, 28, 26, 24, 22),
    hints=(36, 33, 30, 27, 25),
    face=60,
    gap=SQUARE_GAP,
)


def square_png(content: PictureContent) -> bytes:
    """Draw a square of 1080 pixels. Raises ValueError if no QR code can hold the link."""
    modules = qr.module_image(content.code)
    code = Code(modules, max(1, HALF // modules.width))
    canvas = PixelCanvas((SIDE, SIDE))
    sheet = Sheet(canvas, (SIDE, SIDE), content)
    inset = (HALF - code.side) // 2
    around = inset + code.border
    column = sheet.column(SQUARE_MARGIN, HALF - SQUARE_GAP // 2)
    top = _draw_square_picture(sheet, column, HALF + around)
    sheet.draw_code(code, (HALF, HALF, SIDE, SIDE), (HALF + inset, HALF + inset))
    sheet.draw_words(column, top, SIDE - around, SQUARE_STYLE)
    return encode_png(canvas.image, DPI)


def _draw_square_picture(sheet: Sheet, column: typesetting.Column, top: int) -> int:
    """Draw photo and name; return where the other words begin.

    Without a photo, the name is in the field. Otherwise it is at the `top` of the column next to
    the code, or above both if the seller's text needs the column.
    """
    content, canvas, ink = sheet.content, sheet.canvas, sheet.palette.ink
    if not content.photo:
        words = (SQUARE_MARGIN, FIELD_TOP, SIDE - SQUARE_MARGIN, HALF - FIELD_BOTTOM)
        sheet.draw_field((0, 0, SIDE, HALF), words, SQUARE_FIELD)
        return top
    bottom = HALF
    if content.text:
        above = sheet.column(SQUARE_MARGIN, SIDE - SQUARE_MARGIN)
        name = sheet.set_name(above.width, HEIGHT_ABOVE, SQUARE_NAME)
        if name:
            start = HALF - SPACE_BELOW - name.height
            name.draw(canvas, above, start, ink)
            bottom = start - SPACE_ABOVE
    elif name := sheet.set_name(column.width, SQUARE_NAME_HEIGHT, SQUARE_NAME):
        name.draw(canvas, column, top, ink)
        top += name.height + SQUARE_GAP
    sheet.draw_photo(content.photo, (0, 0, SIDE, bottom))
    return top
