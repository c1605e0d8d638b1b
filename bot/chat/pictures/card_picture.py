"""The picture of a request's card in the chat: photo, name, price, seller and a small QR code."""

from __future__ import annotations

import io

from bot.chat.pictures import typesetting
from bot.chat.pictures.canvas import PictureContent, PixelCanvas, palette_of
from bot.chat.pictures.sheet import Code, Heading, Sheet
from bot.core.images import qr

SIZE = WIDTH, HEIGHT = 1280, 960  # as large as Telegram shows photos
PHOTO = 672  # height of the photo
MARGIN, GAP = 48, 36
CORNER, PADDING = 28, 12  # of the code's panel; the round corner spares the code's white border

MODULE = 8
"""Pixels per module: two remain if a chat shows the card at a quarter of its size. For longer links
the panel first covers more of the photo, then the modules get smaller."""

CODE_EDGE = 16  # extends past the code's white border, so that its modules end at the margin

TOP = PHOTO + 36  # upper edge of the capitals in the first line below the photo
BOTTOM = HEIGHT - MARGIN
NAME, NAME_HEIGHT = Heading((60, 54, 48, 43, 40, 36, 33, 30), 3), 122
LOW_NAME = 64  # maximum height of a name with room for the price between name and hint
FIELD = Heading((200, 180, 158, 134, 114, 97, 82, 70, 60, 50, 42), 6)
FIELD_TOP, FIELD_BOTTOM = 68, 64
MAX_COVER = 112  # if the panel covers more of the field's height, the name is next to the code
PRICE_SIZES = (64, 56, 49, 42, 36, 30)
LARGE_PRICE_SIZES = (104, 92, 80, 70, *PRICE_SIZES)
HINT_SIZES, FACE = (36, 33, 30, 27, 24), 54

STAMP = (440, 128)
STAMP_SIZES = (76, 68, 60, 53, 46, 40, 34, 28)
STAMP_INSET, STAMP_CORNER = 28, 20
MAX_STAMPED_CODE = 344
"""Maximum width of a code under a stamp, which covers it; it need not be readable."""

QUALITIES = (86, 66, 30)  # lower qualities are for photos that are mostly noise
MAX_BYTES = 300_000


def draw_card(content: PictureContent) -> bytes:
    """Draw the card as a JPEG of less than 300 KB.

    Raises ValueError for a link that no QR code can hold.
    """
    modules = qr.module_image(content.code)
    room = MAX_STAMPED_CODE if content.stamp else HEIGHT - CODE_EDGE - PADDING
    code = Code(modules, max(1, min(MODULE, room // modules.width)))
    canvas = PixelCanvas(SIZE)
    sheet = Sheet(canvas, SIZE, content)
    corner = left, top = WIDTH - CODE_EDGE - code.side, HEIGHT - CODE_EDGE - code.side
    left, top = left - PADDING, top - PADDING
    _draw_picture(sheet, left, top)
    panel = (left, top, WIDTH + CORNER, HEIGHT + CORNER)  # only one of its corners is visible
    sheet.draw_code(code, panel, corner, CORNER)
    if content.stamp:
        left = min(left, _draw_stamp(sheet, content.stamp, corner[1] + code.side // 2))
    _draw_words(sheet, sheet.column(MARGIN, left - GAP))
    for quality in QUALITIES:
        out = io.BytesIO()
        canvas.image.save(out, "JPEG", quality=quality)
        if out.tell() < MAX_BYTES:
            break
    return out.getvalue()


def _draw_picture(sheet: Sheet, left: int, top: int) -> None:
    """Draw the photo, or else the name above or next to the code at `left` and `top`."""
    box = (0, 0, WIDTH, PHOTO)
    if sheet.content.photo:
        sheet.draw_photo(sheet.content.photo, box)
        return
    right, bottom = (left, PHOTO) if top < PHOTO - MAX_COVER else (WIDTH, min(PHOTO, top))
    words = (MARGIN, FIELD_TOP, right - MARGIN, bottom - FIELD_BOTTOM)
    sheet.draw_field(box, words, FIELD)


def _draw_words(sheet: Sheet, column: typesetting.Column) -> None:
    """Draw name, price and hint below the photo; without a photo, the name is in the field above.

    The price is above the hint, or in front of it if the name is too high.
    """
    content, canvas, palette = sheet.content, sheet.canvas, sheet.palette
    name = sheet.set_name(column.width, NAME_HEIGHT, NAME) if content.photo else None
    if name:
        name.draw(canvas, column, TOP, palette.ink)
    is_long = name is not None and (len(name.text.lines) > 1 or name.height > LOW_NAME)
    width = column.width // 2 if is_long else column.width
    price = typesetting.set_line(
        content.price, width, PRICE_SIZES if name else LARGE_PRICE_SIZES, "bold"
    )
    if price:
        start, end = (BOTTOM - FACE, BOTTOM) if is_long else (TOP, TOP + price.height)
        if name and not is_long:
            start, end = TOP + name.height, BOTTOM - FACE
        price.draw(canvas, column, (start + end - price.height) / 2, palette.accent)
    if price and is_long:
        column = column.inset(price.text.width + GAP)
    sheet.draw_hint(column, BOTTOM, HINT_SIZES, FACE)


def _draw_stamp(sheet: Sheet, stamp: str, middle: int) -> int:
    """Draw a stamp across the code, so that nobody tries to scan it; return its left edge."""
    width, height = STAMP
    left, top = WIDTH - MARGIN - width, middle - height // 2
    box = sheet.box((left, top, left + width, top + height))
    palette = palette_of(sheet.accent, dark=False)
    sheet.canvas.draw_panel(box, palette.accent, STAMP_CORNER)
    inner = (box[0] + STAMP_INSET, box[1], box[2] - STAMP_INSET, box[3])
    sheet.draw_label(stamp, inner, STAMP_SIZES, palette.on_accent)
    return left
