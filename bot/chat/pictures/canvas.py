"""The content of a picture, its colours, and the canvas to draw on.

This module has the pixel canvas and its PNG encoder; `pdf` has the vector canvas.
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

WHITE, BLACK = (0xFF, 0xFF, 0xFF), (0, 0, 0)

TRACK = (0xDF, 0xE3, 0xEA)
"""The unfilled part of a bar on white."""

FIELD_ACCENT = 0.85
"""Share of the accent in a field's colour on a dark background."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture.

    Text in `ink`, `muted` and `accent` is drawn on the background. All text has a contrast of at
    least 4.5 (WCAG 2.2, 1.4.3).
    """

    ground: brand.Rgb
    ink: brand.Rgb
    muted: brand.Rgb
    accent: brand.Rgb
    on_accent: brand.Rgb
    field: brand.Rgb
    """The coloured area in place of a missing photo."""
    on_field: brand.Rgb
    track: brand.Rgb
    """The unfilled part of a bar."""


def palette_of(accent: str | None, *, dark: bool) -> Palette:
    """Return the colours for an accent of `brand.COLOURS`; None means the default accent."""
    pair = brand.colour_named(accent)
    on_light, on_dark = brand.rgb_of(pair.light), brand.rgb_of(pair.dark)
    ink = brand.rgb_of(brand.INK)
    if not dark:
        return Palette(WHITE, ink, (0x55, 0x5E, 0x6E), on_light, WHITE, on_light, WHITE, TRACK)
    ground = brand.rgb_of(brand.DARK_GROUNDS[-1])
    field = _mix(on_light, ground, FIELD_ACCENT)
    track, white, muted = (0x3A, 0x42, 0x50), (0xF2, 0xF4, 0xF8), (0xA6, 0xAE, 0xBB)
    return Palette(ground, white, muted, on_dark, ink, field, WHITE, track)


def _mix(colour: brand.Rgb, other: brand.Rgb, share: float) -> brand.Rgb:
    red, green, blue = (
        round(share * one + (1 - share) * two) for one, two in zip(colour, other, strict=True)
    )
    return red, green, blue


Box: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are exclusive."""


@dataclass(frozen=True, slots=True)
class SellerLook:
    """The parts of a seller's profile that a picture shows."""

    name: str
    accent: str = brand.DEFAULT_COLOUR
    """A name in `brand.COLOURS`."""
    photo: bytes | None = None
    """A result of `photo_preparation.prepare_portrait`."""


@dataclass(frozen=True, slots=True)
class GoalBar:
    """A goal's bar with its words."""

    text: str
    share: int
    """The percentage raised, which may be over 100."""


@dataclass(frozen=True, slots=True)
class PictureContent:
    """The content of a card, a poster or a square."""

    name: str
    price: str
    code: str
    """The link in the QR code."""
    photo: bytes | None = None
    """A result of `photo_preparation.prepare`."""
    hint: str | None = None
    """Instruction for the code, such as how to pay."""
    dark: bool = False
    stamp: str | None = None
    """The label over the code; on cards only."""
    text: str | None = None
    """The seller's text, with line breaks; not on cards."""
    seller: SellerLook | None = None
    goal: GoalBar | None = None
    """Not on cards."""


class Canvas(Protocol):
    """A surface for a picture: pixels, or the page of a PDF."""

    def draw_panel(self, box: Box, colour: brand.Rgb, radius: int = 0) -> None:
        """Fill a box, optionally with round corners."""

    def draw_image(self, image: Image.Image, box: Box, radius: int = 0) -> None:
        """Draw an image, scaled to the size of a box."""

    def draw_code(
        self, modules: Image.Image, corner: tuple[int, int], scale: int, colour: brand.Rgb
    ) -> None:
        """Draw the dark modules of a `qr.module_image`, `scale` pixels each."""

    def draw_text(
        self, text: str, at: tuple[int, float], style: text_fitting.FittedText, colour: brand.Rgb
    ) -> None:
        """Draw a line of text in the font of `style`; `at` is the middle of its left edge."""


class PixelCanvas:
    """A canvas of pixels."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.image = Image.new("RGB", size)

    def draw_panel(self, box: Box, colour: brand.Rgb, radius: int = 0) -> None:
        with self._round_corners(box, radius):
            self.image.paste(colour, box)

    def draw_image(self, image: Image.Image, box: Box, radius: int = 0) -> None:
        size = (box[2] - box[0], box[3] - box[1])
        fits = image.size == size
        with self._round_corners(box, radius):
            self.image.paste(image if fits else image.resize(size, Image.Resampling.NEAREST), box)

    def draw_code(
        self, modules: Image.Image, corner: tuple[int, int], scale: int, colour: brand.Rgb
    ) -> None:
        dark = ImageChops.invert(modules.convert("L"))
        self.image.paste(colour, corner, qr.enlarge(dark, scale))

    def draw_text(
        self, text: str, at: tuple[int, float], style: text_fitting.FittedText, colour: brand.Rgb
    ) -> None:
        style.font.draw(self.image, text, at, colour)

    @contextmanager
    def _round_corners(self, box: Box, radius: int) -> Iterator[None]:
        """Restore the corners of a box after drawing into it."""
        if not radius:
            yield
            return
        left, top, right, bottom = box[0], box[1], box[2] - radius, box[3] - radius
        places = ((left, top), (left, bottom), (right, bottom), (right, top))
        parts = [self.image.crop((*at, at[0] + radius, at[1] + radius)) for at in places]
        yield
        for turns, (place, part) in enumerate(zip(places, parts, strict=True)):
            self.image.paste(part, place, _corner(radius).rotate(90 * turns))


CORNER_SUPERSAMPLING = 4
"""Supersampling factor in each direction for round corners."""


@lru_cache(maxsize=8)
def _corner(radius: int) -> Image.Image:
    """Return the mask of the area outside the upper left quarter of a disc."""
    side = radius * CORNER_SUPERSAMPLING
    large = Image.new("L", (side, side), 255)
    ImageDraw.Draw(large).circle((side, side), side, fill=0)
    return large.reduce(CORNER_SUPERSAMPLING)


# PNG encoding in less than two thirds of the time of Pillow, which tries all filters on each row.
# Most rows of a drawing equal the row above and are stored as such; the others are stored as
# differences from pixel to pixel (PNG, third edition, section 9.2). Measured in
# docs/decisions/pictures.md#0045.

COMPRESSION = 1  # a higher level takes seconds and saves a tenth
BAND = 64  # rows at a time; they fit into the CPU cache

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = 3
_SUB, _UP = b"\1", b"\2"
_RGB = (8, 2, 0, 0, 0)  # bits a channel, colour type, compression, filters, no interlacing
_INCHES_A_METRE = 39.3701


def encode_png(image: Image.Image, dpi: int) -> bytes:
    """Return an RGB image as a PNG with a print resolution of `dpi`."""
    pixels_a_metre = round(dpi * _INCHES_A_METRE)
    compressor = zlib.compressobj(COMPRESSION)
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
        left_neighbours = Image.new("RGB", band.size)
        left_neighbours.paste(band, (1, 0))
        differences = ImageChops.subtract_modulo(band, left_neighbours).tobytes()
        plain = band.tobytes()
        rows = []
        for start, end in pairwise(range(0, len(plain) + 1, width)):
            row = plain[start:end]
            rows.append(same if row == above else _SUB + differences[start:end])
            above = row
        yield b"".join(rows)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
