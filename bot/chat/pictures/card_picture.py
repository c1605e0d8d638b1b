"""The picture of a request's card in the chat: photo, name, price, QR code and a stamp or hint."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image, ImageChops, ImageDraw

from bot.chat.pictures.canvas import BACKGROUNDS, WHITE, PictureContent, draw_rounded_rectangle
from bot.chat.pictures.header import draw_header, stack_above
from bot.core.images import qr, text_fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.images.font import Weight
    from bot.core.images.text_fitting import FittedText

WIDTH = 800
HEADER = 450
MARGIN = 40
CODE = 656
"""Side of the QR code: eight pixels a module at 300 characters, sixteen for a usual link."""

MIN_MODULE = 5  # pixels; for a longer link the code grows before its modules shrink
MAX_CODE = WIDTH - 2 * MARGIN
PADDING = 12
CORNER = 32

INK, FADED = (0x2A, 0x30, 0x3C), (0xC9, 0xCE, 0xD8)
RED = (0xD9, 0x1E, 0x2E)

NAME_SIZES, NAME_LINES = (50, 44, 38), 2
PRICE_SIZES = (84, 72, 60, 50, 42, 34)
HINT_SIZES = (36, 32, 28, 24)
STAMP = (620, 164)  # pixels, before it is rotated
STAMP_SIZES = (108, 96, 84, 72, 62, 54, 46, 40, 34, 28)
STAMP_FRAME, STAMP_CORNER = 10, 24
STAMP_INSET = 36
STAMP_TILT = 14  # degrees, rising to the right
GAP = 2
QUALITIES = (88, 70, 50)  # the later ones for photos that are mostly noise
MAX_BYTES = 300_000


def draw_card(content: PictureContent) -> bytes:
    """Draw the card as a JPEG of less than 300 KB.

    Raises ValueError for a link that no QR code can hold.
    """
    code = _draw_code(content.code)
    hint = _fit(content.hint, HINT_SIZES) if content.hint else None
    panel = code.height + 2 * PADDING + (hint.height + PADDING if hint else 0)
    picture = Image.new("RGB", (WIDTH, HEADER + panel + 2 * MARGIN), BACKGROUNDS[content.dark])
    _draw_header(picture, content)
    top = HEADER + MARGIN
    draw_rounded_rectangle(picture, (MARGIN, top, WIDTH - MARGIN, top + panel), CORNER, WHITE)
    _place_code(picture, code, top + PADDING, content.stamp)
    if hint:
        hint.draw(picture, (WIDTH / 2, top + PADDING + code.height), INK, "middle")
    return _encode(picture)


def _draw_code(link: str) -> Image.Image:
    modules = qr.module_image(link)
    scale = max(CODE // modules.width, min(MIN_MODULE, MAX_CODE // modules.width), 1)
    return qr.enlarge(modules, scale)


def _fit(
    text: str, sizes: Sequence[int], *, max_lines: int = 1, weight: Weight = "regular"
) -> FittedText | None:
    width = WIDTH - 2 * MARGIN
    return text_fitting.fit_drawable(text, width, sizes, max_lines=max_lines, weight=weight)


def _draw_header(picture: Image.Image, content: PictureContent) -> None:
    name = _fit(content.name, NAME_SIZES, max_lines=NAME_LINES)
    price = _fit(content.price, PRICE_SIZES, weight="bold")
    words = stack_above((name, price), GAP, HEADER - MARGIN // 2)
    corner = (MARGIN + words.width, words.top)
    picture.paste(draw_header(content.photo, (WIDTH, HEADER), corner, dark=content.dark))
    for line, middle, block in words.line_middles():
        block.font.draw(picture, line, (MARGIN, middle), WHITE)


def _place_code(picture: Image.Image, code: Image.Image, top: int, stamp: str | None) -> None:
    left = (WIDTH - code.width) // 2
    if stamp is None:
        picture.paste(code, (left, top))
        return
    picture.paste(FADED, (left, top), ImageChops.invert(code.convert("L")))
    masks = _stamp_masks(text_fitting.drawable_text(stamp))
    for mask, fill in zip(masks, (WHITE, RED), strict=True):
        place = (WIDTH // 2 - mask.width // 2, top + code.height // 2 - mask.height // 2)
        picture.paste(fill, place, mask)


@lru_cache(maxsize=8)
def _stamp_masks(text: str | None) -> tuple[Image.Image, Image.Image]:
    """Return the masks of a rotated stamp, paper and ink; None as text is a bar without words."""
    paper, ink = Image.new("L", STAMP), Image.new("L", STAMP)
    edge = (0, 0, STAMP[0] - 1, STAMP[1] - 1)
    ImageDraw.Draw(paper).rounded_rectangle(edge, STAMP_CORNER, fill=255)
    pen = ImageDraw.Draw(ink)
    pen.rounded_rectangle(edge, STAMP_CORNER, outline=255, width=STAMP_FRAME)
    if text:
        fitted = text_fitting.fit(text, STAMP[0] - 2 * STAMP_INSET, STAMP_SIZES, weight="bold")
        middle = (STAMP[0] / 2, STAMP[1] / 2)
        fitted.font.draw(ink, fitted.lines[0], middle, 255, "middle")
    else:
        top, bottom = STAMP[1] // 2 - STAMP_FRAME, STAMP[1] // 2 + STAMP_FRAME
        pen.rectangle((STAMP_INSET, top, STAMP[0] - STAMP_INSET, bottom), fill=255)
    paper, ink = (
        mask.rotate(STAMP_TILT, Image.Resampling.BICUBIC, expand=True) for mask in (paper, ink)
    )
    return paper, ink


def _encode(picture: Image.Image) -> bytes:
    for quality in QUALITIES:
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality)
        if out.tell() < MAX_BYTES:
            break
    return out.getvalue()
