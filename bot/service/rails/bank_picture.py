"""The picture of a bank code for pages and for printing."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

from bot.core.images import qr

SWISS = "swiss"
"""The scheme whose codes have a cross and a fixed size."""

SIDE, CROSS, QUIET = 46, 7, 5
"""Millimetres of the Swiss code, its cross and the margin, whatever the code's version (SIX,
Implementation Guidelines QR-bill 2.3, chapter 6)."""

LEAST_VERSION = 14
"""Versions 7 to 13 have an alignment pattern under the cross, and ZBar mistakes the cross for it.
"""

BORDER = 8
"""Modules of margin: wider than QUIET in each version that a Swiss text needs (up to 14)."""

_UNITS = 19
"""Units of the cross's side: a white frame around a black square with the white cross."""

_FRAME, _LENGTH, _WIDTH = 0.7, 11, 3.3
_INCH = 25.4


def code_picture(text: str, scheme: str) -> bytes:
    """Return a 1-bit PNG of at least 512 by 512 pixels, with error correction level M.

    A Swiss code has the Swiss cross in its middle and prints 46 millimetres wide.
    """
    return _swiss(text) if scheme == SWISS else qr.png(text)


def _swiss(text: str) -> bytes:
    small = qr.module_image(text, border=BORDER, least_version=LEAST_VERSION)
    size = small.width - 2 * BORDER
    scale = -(-qr.MIN_PIXELS // size)
    picture = qr.enlarge(small, scale)
    _draw_cross(picture, size * scale)
    out = io.BytesIO()
    density = size * scale / SIDE * _INCH
    picture.save(out, "PNG", dpi=(density, density))
    return out.getvalue()


def _draw_cross(picture: Image.Image, code: int) -> None:
    """Draw the cross in the middle of a picture whose code is `code` pixels wide."""
    unit = code * CROSS / SIDE / _UNITS
    inner = unit * (_UNITS - 2 * _FRAME)
    _fill(picture, unit * _UNITS, unit * _UNITS, 1)
    _fill(picture, inner, inner, 0)
    _fill(picture, unit * _WIDTH, unit * _LENGTH, 1)
    _fill(picture, unit * _LENGTH, unit * _WIDTH, 1)


def _fill(picture: Image.Image, width: float, height: float, colour: int) -> None:
    """Fill a rectangle in the middle of the picture."""
    left, top = round((picture.width - width) / 2), round((picture.height - height) / 2)
    corner = (picture.width - 1 - left, picture.height - 1 - top)
    ImageDraw.Draw(picture).rectangle((left, top, *corner), fill=colour)
