"""The picture that chats show for a link to a pay page: name, price, QR code.

Chats cache it for long, so it shows nothing that changes while a request is open.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from PIL import Image, ImageDraw

from bot.core.images import qr, text_fitting
from bot.core.money import amounts
from bot.service.page import template_values

if TYPE_CHECKING:
    from bot.service.model.request import PaymentRequest
    from bot.service.page.forms import Reader

# Greys: one byte a pixel, quick to draw and pack.
GROUND, PAPER, INK, QUIET = 0xF0, 0xFF, 0x18, 0x60
ACCENT = 1
"""Index of the only colour in the palette, which no grey uses."""
BLUE = (0x15, 0x58, 0xD6)
MARGIN = 56  # pixels around everything
PANEL = template_values.PREVIEW_SIZE[1] - 2 * MARGIN  # the white square with the code
COLUMN = template_values.PREVIEW_SIZE[0] - PANEL - 3 * MARGIN
CORNER = 36
BAR = (96, 10)
GAP = 20
NAME_SIZES, NAME_LINES = (60, 52, 46), 3
PRICE_SIZES = (120, 100, 84, 70, 58, 48, 40, 32)
HOST_SIZES = (30, 26, 22)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of the picture; `name` is None if the font lacks its characters."""

    url: str
    name: str | None
    price: str


def content(reader: Reader, request: PaymentRequest, url: str) -> Content:
    """Return the content of a request's picture for this reader."""
    terms = request.terms
    name = text_fitting.normalize(terms.product.name)
    price = text_fitting.normalize(
        template_values.money_text(terms.amount, terms.currency, reader.tag)
    )
    if not text_fitting.can_draw(price):
        price = f"{amounts.from_minor(terms.amount, terms.currency):f} {terms.currency}"
    return Content(url, name if text_fitting.can_draw(name) else None, price)


@lru_cache(maxsize=64)
def draw(shown: Content) -> bytes:
    """Draw the picture as a PNG, which takes some tens of milliseconds."""
    picture = Image.new("L", template_values.PREVIEW_SIZE, GROUND)
    _code(picture, shown.url)
    _words(picture, shown)
    out = io.BytesIO()
    picture.putpalette([part for grey in range(256) for part in _colour(grey)])
    picture.save(out, "PNG")
    return out.getvalue()


def _colour(place: int) -> tuple[int, int, int]:
    return BLUE if place == ACCENT else (place, place, place)


def _code(picture: Image.Image, url: str) -> None:
    """Draw the QR code on white, its modules as large as whole pixels allow."""
    left, top = template_values.PREVIEW_SIZE[0] - MARGIN - PANEL, MARGIN
    panel = (left, top, left + PANEL - 1, top + PANEL - 1)
    ImageDraw.Draw(picture).rounded_rectangle(panel, CORNER, fill=PAPER)
    small = qr.module_image(url)
    code = qr.enlarge(small, max(1, PANEL // small.width))
    inset = (PANEL - code.width) // 2
    picture.paste(code.convert("L"), (left + inset, top + inset))


def _words(picture: Image.Image, shown: Content) -> None:
    """Write name and price in the middle of the height, and the host at the bottom."""
    host = urlsplit(shown.url).netloc
    foot = text_fitting.fit(host, COLUMN, HOST_SIZES)
    price = text_fitting.fit(shown.price, COLUMN, PRICE_SIZES, weight="bold")
    blocks = [price]
    if shown.name:
        blocks.insert(0, text_fitting.fit(shown.name, COLUMN, NAME_SIZES, max_lines=NAME_LINES))
    top = (template_values.PREVIEW_SIZE[1] - sum(block.height + GAP for block in blocks)) // 2
    bar = (MARGIN, top - BAR[1], MARGIN + BAR[0], top)
    ImageDraw.Draw(picture).rectangle(bar, fill=ACCENT)
    for block in blocks:
        block.draw(picture, (MARGIN, top + GAP), INK)
        top += GAP + block.height
    foot.draw(picture, (MARGIN, template_values.PREVIEW_SIZE[1] - MARGIN - foot.height), QUIET)
