"""The picture of a request's message in the chat: photo, name, price, QR code and what is left."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image, ImageChops, ImageDraw

from bot.chat.pictures.canvas import GROUNDS, PAPER
from bot.chat.pictures.head import ending, head
from bot.chat.pictures.shapes import lay, rounded, stamp
from bot.core.images import lettering, qr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.images.lettering import Fitted

WIDTH = 800
HEAD = 450
MARGIN = 40
CODE = 656
"""Side of the QR code: eight pixels a module at 300 characters, sixteen for a usual link."""

LEAST_MODULE = 5  # pixels; a longer link gets more room before its modules get smaller
MOST_CODE = WIDTH - 2 * MARGIN
PADDING = 12
CORNER = 32

INK, FADED = (0x2A, 0x30, 0x3C), (0xC9, 0xCE, 0xD8)
RED = (0xD9, 0x1E, 0x2E)

NAME_SIZES, NAME_LINES = (50, 44, 38), 2
PRICE_SIZES = (84, 72, 60, 50, 42, 34)
HINT_SIZES = (36, 32, 28, 24)
GAP = 2
QUALITIES = (88, 70, 50)  # the later ones for photos that are mostly noise
MOST_BYTES = 300_000


@dataclass(frozen=True, slots=True)
class Face:
    """What a card shows.

    `code` is the link, `photo` as `photo.prepared` made it; `stamp` lies across the code and `hint`
    stands below it. Words that the font can't write are left out, emoji among others dropped.
    """

    name: str
    price: str
    code: str
    photo: bytes | None = None
    stamp: str | None = None
    dark: bool = False
    hint: str | None = None


def card(face: Face) -> bytes:
    """Draw the card as a JPEG of less than 300 KB.

    ValueError for a link that no QR code can hold, as `qr.matrix` says.
    """
    code = _code(face.code)
    hint = _fitted(face.hint, HINT_SIZES) if face.hint else None
    panel = code.height + 2 * PADDING + (hint.height + PADDING if hint else 0)
    picture = Image.new("RGB", (WIDTH, HEAD + panel + 2 * MARGIN), GROUNDS[face.dark])
    _head(picture, face)
    top = HEAD + MARGIN
    rounded(picture, (MARGIN, top, WIDTH - MARGIN, top + panel), CORNER, PAPER)
    _put_code(picture, code, top + PADDING, face.stamp)
    if hint:
        _write_hint(picture, hint, top + PADDING + code.height)
    return _saved(picture)


def _code(link: str) -> Image.Image:
    """Draw the code; a long link gets more room before its modules get too small."""
    small = qr.small(link)
    scale = max(CODE // small.width, min(LEAST_MODULE, MOST_CODE // small.width), 1)
    return qr.enlarged(small, scale)


def _fitted(text: str, sizes: Sequence[int], *, most: int = 1, bold: bool = False) -> Fitted | None:
    """Fit what of a text can be written into the width; None where that is nothing."""
    return lettering.written(text, WIDTH - 2 * MARGIN, sizes, most=most, bold=bold)


def _head(picture: Image.Image, face: Face) -> None:
    name = _fitted(face.name, NAME_SIZES, most=NAME_LINES)
    price = _fitted(face.price, PRICE_SIZES, bold=True)
    said = ending((name, price), GAP, HEAD - MARGIN // 2)
    corner = (MARGIN + said.width, said.top)
    picture.paste(head(face.photo, (WIDTH, HEAD), corner, dark=face.dark))
    pen = ImageDraw.Draw(picture)
    for line, middle, block in said.rows():
        pen.text((MARGIN, middle), line, fill=PAPER, font=block.font, anchor="lm")


def _put_code(picture: Image.Image, code: Image.Image, top: int, said: str | None) -> None:
    left = (WIDTH - code.width) // 2
    if said is None:
        picture.paste(code, (left, top))
        return
    picture.paste(FADED, (left, top), ImageChops.invert(code.convert("L")))
    lay(picture, (WIDTH // 2, top + code.height // 2), stamp(lettering.legible(said)), RED)


def _write_hint(picture: Image.Image, hint: Fitted, top: int) -> None:
    pen = ImageDraw.Draw(picture)
    for line, middle in hint.rows(top):
        pen.text((WIDTH / 2, middle), line, fill=INK, font=hint.font, anchor="mm")


def _saved(picture: Image.Image) -> bytes:
    for quality in QUALITIES:
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality)
        if out.tell() < MOST_BYTES:
            break
    return out.getvalue()
