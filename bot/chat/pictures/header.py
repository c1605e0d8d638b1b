"""The upper part of a picture: the product's photo or a gradient, behind name and price."""

from __future__ import annotations

import io
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from math import cos, pi
from typing import TYPE_CHECKING

from PIL import Image, ImageChops, ImageDraw, ImageOps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bot.core.images.text_fitting import FittedText

MIN_SHARPNESS = 0.75
"""Share of the pixels shown that a photo is decoded to at least, which is quicker."""

SHADE = (8, 12, 24)
MAX_GREY = 112
"""The brightest grey behind white letters: a contrast of 5, so that JPEG may blur a little above
the 4.5 of WCAG 2.2, 1.4.3."""

BRIGHT_SHARE = 0.01  # of the pixels behind the words that may be brighter
FADE_LENGTHS = (0.7, 0.3)  # of the shade, rightwards and upwards, in heights of the header

_LINEAR = [round(255 * ((level / 255 + 0.055) / 1.055) ** 2.4) for level in range(256)]
_LUMINANCE = (0.2126, 0.7152, 0.0722, 0)

GRADIENTS = {
    False: ((0x2F, 0x7B, 0xFF), (0x1B, 0x56, 0xE0), (0x1E, 0x52, 0xDC), (0x3A, 0x2C, 0xB4)),
    True: ((0x1F, 0x4F, 0xB8), (0x17, 0x38, 0x92), (0x18, 0x36, 0x8E), (0x23, 0x1B, 0x66)),
}
"""Colours of the four corners, the upper ones first, by whether the picture is dark."""

GLOW = 22  # of 255: how much lighter the discs are than the gradient
DISCS = ((0.86, 0.10, 0.62), (1.02, 0.42, 0.34))
"""Middle (across, down) and radius, in heights of the header; the right edge is 1 across."""


@dataclass(frozen=True, slots=True)
class TextBlocks:
    """Blocks of text one below the other, the first beginning at `top`."""

    blocks: tuple[FittedText, ...]
    gap: int
    top: int

    @property
    def height(self) -> int:
        """Return the height of all blocks and the gaps between them, in pixels."""
        return sum(block.height for block in self.blocks) + self.gap * max(0, len(self.blocks) - 1)

    @property
    def width(self) -> int:
        """Return the width of the longest line in pixels, 0 where there is none."""
        return max((block.width for block in self.blocks), default=0)

    def line_middles(self) -> Iterator[tuple[str, float, FittedText]]:
        """Yield each line, the height of its middle, and its block."""
        top = self.top
        for block in self.blocks:
            for line, middle in block.line_middles(top):
                yield line, middle, block
            top += block.height + self.gap


def stack_above(blocks: Sequence[FittedText | None], gap: int, bottom: int) -> TextBlocks:
    """Place the blocks that are not None below each other, the last ending at `bottom`."""
    stacked = TextBlocks(tuple(block for block in blocks if block), gap, 0)
    return replace(stacked, top=bottom - stacked.height)


def draw_header(
    photo: bytes | None, size: tuple[int, int], corner: tuple[int, int], *, dark: bool
) -> Image.Image:
    """Draw the background of words at the lower left, the upper right `corner` of which is given.

    `photo` is the result of `photo_preparation.prepare`.
    """
    if photo is None:
        return _gradient(size, dark)
    cropped = crop_to_fill(photo, size)
    level = _required_shade(cropped.crop((0, corner[1], corner[0], size[1])))
    if not level:
        return cropped
    shaded = cropped.copy()
    across, up = (int(part * size[1]) for part in FADE_LENGTHS)
    right, top = min(size[0], corner[0] + across), max(0, corner[1] - up)
    mask = _shade_mask((right, size[1] - top), (corner[0], corner[1] - top), (across, up), level)
    shaded.paste(SHADE, (0, top, right, size[1]), mask)
    return shaded


@lru_cache(maxsize=2)  # of 2.5 MB; the card of a drop is drawn again after each sale
def crop_to_fill(photo: bytes, size: tuple[int, int]) -> Image.Image:
    """Return the middle of a photo in a size; it is cached, so don't draw on it."""
    with Image.open(io.BytesIO(photo)) as image:
        across, down = (part / whole for part, whole in zip(size, image.size, strict=True))
        scale = MIN_SHARPNESS * max(across, down)
        image.draft("RGB", (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
        return ImageOps.fit(image.convert("RGB"), size, Image.Resampling.BILINEAR)


def _required_shade(behind: Image.Image) -> float:
    """Return how much shade makes white letters readable on part of a photo, from 0 to 1."""
    bright = behind.point(_LINEAR * 3).convert("L", _LUMINANCE).histogram()
    left, level = BRIGHT_SHARE * behind.width * behind.height, 255
    while level and (left := left - bright[level]) >= 0:
        level -= 1
    grey = bisect_left(_LINEAR, level)
    return max(0.0, (grey - MAX_GREY) / (grey - SHADE[1]))


def _shade_mask(
    size: tuple[int, int], corner: tuple[int, int], fading: tuple[int, int], level: float
) -> Image.Image:
    """Return a mask that is `level` below and left of a corner and fades out beyond it."""
    columns = bytes(_fade(255, column - corner[0], fading[0]) for column in range(size[0]))
    rows = bytes(_fade(255 * level, corner[1] - row, fading[1]) for row in range(size[1]))
    return ImageChops.multiply(
        Image.frombytes("L", (size[0], 1), columns).resize(size, Image.Resampling.NEAREST),
        Image.frombytes("L", (1, size[1]), rows).resize(size, Image.Resampling.NEAREST),
    )


def _fade(level: float, distance: int, length: int) -> int:
    """Return a level at a distance beyond an edge: it falls to 0 without a visible step."""
    return round(level * (1 + cos(pi * min(1.0, max(0.0, distance / length)))) / 2)


@lru_cache(maxsize=4)
def _gradient(size: tuple[int, int], dark: bool) -> Image.Image:  # noqa: FBT001 - part of a key
    """Draw the background where there is no photo; it is cached, so don't draw on it."""
    width, height = size
    corners = Image.new("RGB", (2, 2))
    corners.putdata(GRADIENTS[dark])
    # From middle to middle of the four pixels, beyond which nothing is between two colours.
    gradient = corners.resize(size, Image.Resampling.BILINEAR, box=(0.5, 0.5, 1.5, 1.5))
    for right, down, radius in DISCS:
        middle, reach = (width - (1 - right) * height, down * height), radius * height
        light = Image.new("L", size)
        ImageDraw.Draw(light).circle(middle, reach, fill=GLOW)
        gradient.paste("white", (0, 0, *size), light)
    return gradient
