"""What posters are drawn upon, and the canvas of pixels; `pdf` has the other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from PIL import Image, ImageDraw

from bot.chat.pictures.shapes import rounded
from bot.core.images import qr

if TYPE_CHECKING:
    from bot.core.images.lettering import Fitted

Box: TypeAlias = tuple[int, int, int, int]
Colour: TypeAlias = tuple[int, int, int]

PAPER = (0xFF, 0xFF, 0xFF)
GROUNDS = {False: (0xEE, 0xF1, 0xF6), True: (0x12, 0x15, 0x1C)}
"""Behind the white card, by darkness."""


class Canvas(Protocol):
    """What a sheet is drawn upon: pixels, or the page of a PDF."""

    def ground(self, colour: Colour) -> None: ...

    def picture(self, image: Image.Image, box: Box) -> None: ...

    def card(self, box: Box, corner: int) -> None: ...

    def code(self, link: str, box: Box) -> None: ...

    def line(self, text: str, at: tuple[int, float], block: Fitted, colour: Colour) -> None: ...


class Pixels:
    """A canvas of pixels."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.image = Image.new("RGB", size)
        self._pen = ImageDraw.Draw(self.image)

    def ground(self, colour: Colour) -> None:
        """Fill everything."""
        self.image.paste(colour, (0, 0, *self.image.size))

    def picture(self, image: Image.Image, box: Box) -> None:
        """Paint an image into a box, pixels repeated."""
        size = (box[2] - box[0], box[3] - box[1])
        fits = image.size == size
        self.image.paste(image if fits else image.resize(size, Image.Resampling.NEAREST), box)

    def card(self, box: Box, corner: int) -> None:
        """Lay a white card."""
        rounded(self.image, box, corner, PAPER)

    def code(self, link: str, box: Box) -> None:
        """Paint a code into the middle of a box, as large as whole pixels allow."""
        small = qr.small(link)
        scale, inset = code_fit(small.width, box[2] - box[0])
        self.image.paste(qr.enlarged(small, scale), (box[0] + inset, box[1] + inset))

    def line(self, text: str, at: tuple[int, float], block: Fitted, colour: Colour) -> None:
        """Write a line from its left end; `at` is the height of its middle."""
        self._pen.text(at, text, fill=colour, font=block.font, anchor="lm")


def code_fit(side: int, room: int) -> tuple[int, int]:
    """Give the pixels of a module, whole ones, and where a code of such a side begins in a room."""
    scale = max(1, room // side)
    return scale, (room - scale * side) // 2
