"""The content of pictures, and the canvas of posters as pixels; `pdf` has the other one.

PNG files are encoded in less than two thirds of the time that Pillow takes, which tries all filters
on each row. Here a row equal to the one above is stored as such, which most rows of a drawing are;
the others are stored as differences from pixel to pixel (PNG, third edition, section 9.2).
Measured in docs/decisions/0045-reportlab-for-pdf-own-png.md.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeAlias

from PIL import Image, ImageChops, ImageDraw

from bot.core.accents import DEFAULT_ACCENT
from bot.core.images import qr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.images.text_fitting import FittedText

Box: TypeAlias = tuple[int, int, int, int]
Colour: TypeAlias = tuple[int, int, int]

WHITE = (0xFF, 0xFF, 0xFF)
BACKGROUNDS = {False: (0xEE, 0xF1, 0xF6), True: (0x12, 0x15, 0x1C)}
"""The colour around the white panel, by whether the picture is dark."""

LEVEL = 1  # of compression: more takes seconds and saves a tenth
BAND = 64  # rows at a time, which a processor's cache holds

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = 3
_SUB, _UP = b"\1", b"\2"
_RGB = (8, 2, 0, 0, 0)  # bits a channel, colour type, compression, filters, no interlacing
_INCHES_A_METRE = 39.3701

SMOOTHNESS = 4
"""Pixels drawn for one that is shown, each way, at round corners."""


@dataclass(frozen=True, slots=True)
class SellerLook:
    """What a picture shows of a seller.

    `accent` is a name in `accents.ACCENTS`, `photo` the result of `photo_preparation.prepare`.
    """

    name: str
    accent: str = DEFAULT_ACCENT
    photo: bytes | None = None


@dataclass(frozen=True, slots=True)
class PictureContent:
    """The content of a card, a poster or a square.

    `code` is the link, `photo` the result of `photo_preparation.prepare`, and `hint` what to do
    with the code. A card has a `stamp` across the code, a poster the seller's own words as `text`,
    line by line. Texts that the font can't draw are left out, emoji in them too.
    """

    name: str
    price: str
    code: str
    photo: bytes | None = None
    hint: str | None = None
    dark: bool = False
    stamp: str | None = None
    text: str | None = None
    seller: SellerLook | None = None


class Canvas(Protocol):
    """A surface for a poster: pixels, or the page of a PDF.

    A box is left, top, right and bottom in pixels; right and bottom lie outside it.
    """

    def fill(self, colour: Colour) -> None:
        """Fill the whole canvas."""

    def draw_image(self, image: Image.Image, box: Box) -> None:
        """Draw an image, enlarged to fill a box."""

    def draw_panel(self, box: Box, radius: int) -> None:
        """Draw a white panel with round corners."""

    def draw_code(self, link: str, box: Box) -> None:
        """Draw a QR code into the middle of a box, as large as whole pixels a module allow."""

    def draw_text(
        self, text: str, at: tuple[int, float], style: FittedText, colour: Colour
    ) -> None:
        """Draw a line of text in the font of `style`; `at` is the middle of its left end."""


class PixelCanvas:
    """A canvas of pixels."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.image = Image.new("RGB", size)

    def fill(self, colour: Colour) -> None:
        self.image.paste(colour, (0, 0, *self.image.size))

    def draw_image(self, image: Image.Image, box: Box) -> None:
        size = (box[2] - box[0], box[3] - box[1])
        fits = image.size == size
        self.image.paste(image if fits else image.resize(size, Image.Resampling.NEAREST), box)

    def draw_panel(self, box: Box, radius: int) -> None:
        draw_rounded_rectangle(self.image, box, radius, WHITE)

    def draw_code(self, link: str, box: Box) -> None:
        modules = qr.module_image(link)
        scale, inset = fit_code(modules.width, box[2] - box[0])
        self.image.paste(qr.enlarge(modules, scale), (box[0] + inset, box[1] + inset))

    def draw_text(
        self, text: str, at: tuple[int, float], style: FittedText, colour: Colour
    ) -> None:
        style.font.draw(self.image, text, at, colour)


def fit_code(modules: int, side: int) -> tuple[int, int]:
    """Return the whole pixels of a module and the margin of a code in a square of `side` pixels."""
    scale = max(1, side // modules)
    return scale, (side - scale * modules) // 2


def draw_rounded_rectangle(picture: Image.Image, box: Box, radius: int, fill: Colour) -> None:
    """Draw a rectangle with round corners; right and bottom of the box lie outside it."""
    left, top, right, bottom = box
    pen = ImageDraw.Draw(picture)
    pen.rectangle((left, top + radius, right - 1, bottom - radius - 1), fill=fill)
    pen.rectangle((left + radius, top, right - radius - 1, bottom - 1), fill=fill)
    near_right, near_bottom = right - radius, bottom - radius
    places = ((left, top), (left, near_bottom), (near_right, near_bottom), (near_right, top))
    for turns, place in enumerate(places):
        picture.paste(fill, place, _corner(radius).rotate(90 * turns))


@lru_cache(maxsize=8)
def _corner(radius: int) -> Image.Image:
    """Return the upper left quarter of a disc."""
    side = radius * SMOOTHNESS
    large = Image.new("L", (side, side))
    ImageDraw.Draw(large).circle((side, side), side, fill=255)
    return large.reduce(SMOOTHNESS)


def encode_png(image: Image.Image, dpi: int) -> bytes:
    """Return an RGB image as a PNG that is `dpi` pixels an inch in print."""
    pixels_a_metre = round(dpi * _INCHES_A_METRE)
    compressor = zlib.compressobj(LEVEL)
    data = b"".join([*map(compressor.compress, _filtered_bands(image)), compressor.flush()])
    return b"".join(
        [
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">LL5B", *image.size, *_RGB)),
            _chunk(b"pHYs", struct.pack(">LLB", pixels_a_metre, pixels_a_metre, 1)),
            _chunk(b"IDAT", data),
            _chunk(b"IEND", b""),
        ]
    )


def _filtered_bands(image: Image.Image) -> Iterator[bytes]:
    width = image.width * _CHANNELS
    same, above = _UP + bytes(width), b""
    for top in range(0, image.height, BAND):
        band = image.crop((0, top, image.width, min(top + BAND, image.height)))
        plain, differences = band.tobytes(), _differences(band).tobytes()
        rows = []
        for start, end in pairwise(range(0, len(plain) + 1, width)):
            row = plain[start:end]
            rows.append(same if row == above else _SUB + differences[start:end])
            above = row
        yield b"".join(rows)


def _differences(band: Image.Image) -> Image.Image:
    """Return each pixel minus its left neighbour."""
    left = Image.new("RGB", band.size)
    left.paste(band, (1, 0))
    return ImageChops.subtract_modulo(band, left)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
