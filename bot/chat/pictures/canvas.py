"""The content of pictures, and the canvas of posters as pixels; `pdf` has the other one.

PNG files are encoded in less than two thirds of the time that Pillow takes, which tries all filters
on each row. Here a row equal to the one above is stored as such, which most rows of a drawing are;
the others are stored as differences from pixel to pixel (PNG, third edition, section 9.2).
Measured in docs/decisions/0045-reportlab-for-pdf-own-png.md.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol, TypeAlias

from PIL import Image, ImageChops, ImageDraw

from bot.core import brand
from bot.core.images import qr, text_fitting

# The colours of a picture: of its ground, its words and the seller's accent.


WHITE, BLACK = (0xFF, 0xFF, 0xFF), (0, 0, 0)

TRACK = (0xDF, 0xE3, 0xEA)
"""The rest of a bar on white."""

DEPTH = 0.85
"""How much of the accent is in a field on dark ground; the rest is the ground."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture; `track` is what a bar has still to fill.

    A field is the coloured area where there is no photo. Words in `ink`, `muted` and `accent`
    stand on the ground; each pair of words and what they stand on has a contrast of at least 4.5
    (WCAG 2.2, 1.4.3).
    """

    ground: brand.Colour
    ink: brand.Colour
    muted: brand.Colour
    accent: brand.Colour
    on_accent: brand.Colour
    field: brand.Colour
    on_field: brand.Colour
    track: brand.Colour


def palette_of(accent: str | None, *, dark: bool) -> Palette:
    """Return the colours for an accent of `accents.ACCENTS`, the default one for None."""
    pair = brand.accent_of(accent)
    on_light, on_dark = brand.colour_of(pair.light), brand.colour_of(pair.dark)
    ink = brand.colour_of(brand.INK)
    if not dark:
        return Palette(WHITE, ink, (0x55, 0x5E, 0x6E), on_light, WHITE, on_light, WHITE, TRACK)
    ground = brand.colour_of(brand.DARK_GROUNDS[-1])
    field = _mix(on_light, ground, DEPTH)
    track, white, muted = (0x3A, 0x42, 0x50), (0xF2, 0xF4, 0xF8), (0xA6, 0xAE, 0xBB)
    return Palette(ground, white, muted, on_dark, ink, field, WHITE, track)


def _mix(colour: brand.Colour, other: brand.Colour, share: float) -> brand.Colour:
    red, green, blue = (
        round(share * one + (1 - share) * two) for one, two in zip(colour, other, strict=True)
    )
    return red, green, blue


Box: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom lie outside."""

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
    accent: str = brand.DEFAULT_ACCENT
    photo: bytes | None = None


@dataclass(frozen=True, slots=True)
class GoalBar:
    """A goal's bar with its words; `share` is the percentage raised, which may be beyond 100."""

    text: str
    share: int


@dataclass(frozen=True, slots=True)
class PictureContent:
    """The content of a card, a poster or a square.

    `code` is the link, `photo` the result of `photo_preparation.prepare`, and `hint` what to do
    with the code. A card has a `stamp` over the code, a poster the seller's own words as `text`,
    line by line, and the bar of a `goal`.
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
    goal: GoalBar | None = None


class Canvas(Protocol):
    """A surface for a picture: pixels, or the page of a PDF."""

    def draw_panel(self, box: Box, colour: brand.Colour, radius: int = 0) -> None:
        """Fill a box; its corners may be round."""

    def draw_image(self, image: Image.Image, box: Box, radius: int = 0) -> None:
        """Draw an image, enlarged to fill a box."""

    def draw_code(
        self, modules: Image.Image, corner: tuple[int, int], scale: int, colour: brand.Colour
    ) -> None:
        """Draw the dark modules of a `qr.module_image`, `scale` pixels each."""

    def draw_text(
        self, text: str, at: tuple[int, float], style: text_fitting.FittedText, colour: brand.Colour
    ) -> None:
        """Draw a line of text in the font of `style`; `at` is the middle of its left end."""


class PixelCanvas:
    """A canvas of pixels."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.image = Image.new("RGB", size)

    def draw_panel(self, box: Box, colour: brand.Colour, radius: int = 0) -> None:
        with self._round_corners(box, radius):
            self.image.paste(colour, box)

    def draw_image(self, image: Image.Image, box: Box, radius: int = 0) -> None:
        size = (box[2] - box[0], box[3] - box[1])
        fits = image.size == size
        with self._round_corners(box, radius):
            self.image.paste(image if fits else image.resize(size, Image.Resampling.NEAREST), box)

    def draw_code(
        self, modules: Image.Image, corner: tuple[int, int], scale: int, colour: brand.Colour
    ) -> None:
        dark = ImageChops.invert(modules.convert("L"))
        self.image.paste(colour, corner, qr.enlarge(dark, scale))

    def draw_text(
        self, text: str, at: tuple[int, float], style: text_fitting.FittedText, colour: brand.Colour
    ) -> None:
        style.font.draw(self.image, text, at, colour)

    @contextmanager
    def _round_corners(self, box: Box, radius: int) -> Iterator[None]:
        """Restore the corners of a box after something is drawn into it."""
        if not radius:
            yield
            return
        left, top, right, bottom = box[0], box[1], box[2] - radius, box[3] - radius
        places = ((left, top), (left, bottom), (right, bottom), (right, top))
        parts = [self.image.crop((*at, at[0] + radius, at[1] + radius)) for at in places]
        yield
        for turns, (place, part) in enumerate(zip(places, parts, strict=True)):
            self.image.paste(part, place, _corner(radius).rotate(90 * turns))


@lru_cache(maxsize=8)
def _corner(radius: int) -> Image.Image:
    """Return the mask of what is outside of the upper left quarter of a disc."""
    side = radius * SMOOTHNESS
    large = Image.new("L", (side, side), 255)
    ImageDraw.Draw(large).circle((side, side), side, fill=0)
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
