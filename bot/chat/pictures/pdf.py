"""The PDF of a poster: code and panel are vectors, the words are text.

Coordinates are pixels of the poster, from the upper left corner.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING

from reportlab import rl_config
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.pdfmetrics import getFont, registerFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import FILL_NON_ZERO
from reportlab.pdfgen.canvas import Canvas as Document

from bot.chat.pictures import canvas
from bot.core import brand
from bot.core.images import plain_font, text_fitting
from bot.core.text import sanitize

if TYPE_CHECKING:
    from PIL import Image


A4 = (595.2756, 841.8898)  # points: 210 by 297 millimetres
QUALITY = 90

_ONE_AT_A_TIME = Lock()
"""Posters are drawn in threads, but a reportlab font can be used by only one document at a time."""

rl_config.useA85 = 0  # binary photos; ASCII would be a quarter larger
for _face in plain_font.FACES.values():
    registerFont(TTFont(_face, str(plain_font.FONTS / f"{_face}.ttf"), asciiReadable=False))


def document(size: tuple[int, int], title: str, draw: Callable[[canvas.Canvas], None]) -> bytes:
    """Return a PDF of one A4 page of `size` pixels, drawn by `draw`.

    The same drawing always gives the same bytes.
    """
    with _ONE_AT_A_TIME:
        page = _Page(size, title)
        draw(page)
        return page.save()


class _Page:
    """A canvas on the single page of a PDF."""

    def __init__(self, size: tuple[int, int], title: str) -> None:
        self._size = size
        self._out = io.BytesIO()
        self._pen = Document(
            self._out,
            pagesize=A4,
            bottomup=0,
            pageCompression=1,
            invariant=1,
            initialFontName=plain_font.FACES["regular"],
        )
        # The title may hold lone surrogates.
        self._pen.setTitle(sanitize.in_order(title).encode(errors="replace").decode())
        for set_text in (self._pen.setAuthor, self._pen.setSubject, self._pen.setCreator):
            set_text("")
        self._pen.scale(A4[0] / size[0], A4[1] / size[1])

    def draw_panel(self, box: canvas.Box, colour: brand.Rgb, radius: int = 0) -> None:
        left, top, right, bottom = box
        self._choose(colour)
        self._pen.roundRect(left, top, right - left, bottom - top, radius, stroke=0, fill=1)

    def draw_image(self, image: Image.Image, box: canvas.Box, radius: int = 0) -> None:
        jpeg = io.BytesIO()
        image.save(jpeg, "JPEG", quality=QUALITY)
        left, top, right, bottom = box
        width, height = right - left, bottom - top
        self._pen.saveState()
        self._pen.translate(left, bottom)
        self._pen.scale(1, -1)  # the y axis of PDF images points up
        if radius:
            outline = self._pen.beginPath()
            outline.roundRect(0, 0, width, height, radius)
            self._pen.clipPath(outline, stroke=0)
        self._pen.drawImage(ImageReader(jpeg), 0, 0, width, height)
        self._pen.restoreState()

    def draw_code(
        self, modules: Image.Image, corner: tuple[int, int], scale: int, colour: brand.Rgb
    ) -> None:
        """Draw a rectangle for each run of dark modules."""
        width, outline = modules.width, self._pen.beginPath()
        levels = modules.convert("L").tobytes()
        for row in range(modules.height):
            across, top = corner[0], corner[1] + row * scale
            for level, run in groupby(levels[row * width : (row + 1) * width]):
                length = len(list(run)) * scale
                if not level:
                    outline.rect(across, top, length, scale)
                across += length
        self._choose(colour)
        self._pen.drawPath(outline, stroke=0, fill=1)

    def draw_text(
        self, text: str, at: tuple[int, float], style: text_fitting.FittedText, colour: brand.Rgb
    ) -> None:
        if not plain_font.is_plain(text):
            self._draw_outlines(text, at, style.font, colour)
            return
        name, size = plain_font.FACES[style.font.weight], style.font.size
        face = getFont(name).face
        self._choose(colour)
        self._pen.setFont(name, size)
        self._pen.drawString(at[0], at[1] + size * (face.ascent + face.descent) / 2000, text)

    def _draw_outlines(
        self, text: str, at: tuple[int, float], font: text_fitting.Font, colour: brand.Rgb
    ) -> None:
        """Draw a line as outlines, because reportlab can't shape text."""
        for layer in font.outlines(text):
            outline = self._pen.beginPath()
            font.trace(layer, at, outline)
            self._pen.saveState()
            self._choose(layer.colour or colour)
            if layer.opacity < 1:
                self._pen.setFillAlpha(layer.opacity)
            self._pen.drawPath(outline, stroke=0, fill=1, fillMode=FILL_NON_ZERO)
            self._pen.restoreState()

    def _choose(self, colour: brand.Rgb) -> None:
        self._pen.setFillColorRGB(*(part / 255 for part in colour))

    def save(self) -> bytes:
        self._pen.save()
        return self._out.getvalue()
