"""The upper part of a picture: the product's photo, or a ground of colour, with words upon it."""

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

    from bot.core.images.lettering import Fitted

SHARP_ENOUGH = 0.75
"""Part of the pixels wanted that a photo may be decoded to where that is quicker."""

SHADE = (8, 12, 24)
READABLE = 112
"""Grey upon which white letters have a contrast of 5: more than the 4.5 of WCAG 2.2, 1.4.3, so that
JPEG may blur a little."""

GLITTER = 0.01  # part of what is behind the words that may be brighter
FADING = (0.7, 0.3)  # of the head's height, from all of the shade to none: rightwards, upwards

_LINEAR = [round(255 * ((level / 255 + 0.055) / 1.055) ** 2.4) for level in range(256)]
_LUMINANCE = (0.2126, 0.7152, 0.0722, 0)

GROUNDS = {
    False: ((0x2F, 0x7B, 0xFF), (0x1B, 0x56, 0xE0), (0x1E, 0x52, 0xDC), (0x3A, 0x2C, 0xB4)),
    True: ((0x1F, 0x4F, 0xB8), (0x17, 0x38, 0x92), (0x18, 0x36, 0x8E), (0x23, 0x1B, 0x66)),
}
"""Colours of the corners by darkness: both above, both below."""

GLOW = 22  # of 255: how much lighter the discs are than their ground
DISCS = ((0.86, 0.10, 0.62), (1.02, 0.42, 0.34))
"""Middle, across and down, and radius, all in parts of the head's height from its right edge."""


@dataclass(frozen=True, slots=True)
class Words:
    """Blocks that are written one below the other, from `top` on."""

    blocks: tuple[Fitted, ...]
    gap: int
    top: int

    @property
    def height(self) -> int:
        """Pixels that they take, with what is between them."""
        return sum(block.height for block in self.blocks) + self.gap * max(0, len(self.blocks) - 1)

    @property
    def width(self) -> int:
        """Pixels of the longest line; 0 where there is none."""
        return max((block.width for block in self.blocks), default=0)

    def rows(self) -> Iterator[tuple[str, float, Fitted]]:
        """Give each line with the height of its middle and the block that it is of."""
        top = self.top
        for block in self.blocks:
            for line, middle in block.rows(top):
                yield line, middle, block
            top += block.height + self.gap


def ending(blocks: Sequence[Fitted | None], gap: int, foot: int) -> Words:
    """Set the blocks that there are so that they end at `foot`."""
    there = tuple(block for block in blocks if block)
    words = Words(there, gap, 0)
    return replace(words, top=foot - words.height)


def head(
    photo: bytes | None, size: tuple[int, int], corner: tuple[int, int], *, dark: bool
) -> Image.Image:
    """Paint the ground for words at the lower left; `photo` as `photo.prepared` made it.

    `corner` is the upper right one of their lines.
    """
    if photo is None:
        return _ground(size, dark)
    shown = cover(photo, size)
    level = _needed(shown.crop((0, corner[1], corner[0], size[1])))
    if not level:
        return shown
    shaded = shown.copy()
    across, up = (int(part * size[1]) for part in FADING)
    left, top = min(size[0], corner[0] + across), max(0, corner[1] - up)
    levels = _shade((left, size[1] - top), (corner[0], corner[1] - top), (across, up), level)
    shaded.paste(SHADE, (0, top, left, size[1]), levels)
    return shaded


@lru_cache(maxsize=2)  # of 2.5 MB; the card of a drop is drawn again after each sale
def cover(photo: bytes, size: tuple[int, int]) -> Image.Image:
    """Give the middle of a photo that fills a size; not to be drawn upon."""
    with Image.open(io.BytesIO(photo)) as image:
        across, down = (part / whole for part, whole in zip(size, image.size, strict=True))
        scale = SHARP_ENOUGH * max(across, down)
        image.draft("RGB", (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
        return ImageOps.fit(image.convert("RGB"), size, Image.Resampling.BILINEAR)


def _needed(behind: Image.Image) -> float:
    """Give how much shade makes white letters readable upon a part of a photo."""
    bright = behind.point(_LINEAR * 3).convert("L", _LUMINANCE).histogram()
    left, level = GLITTER * behind.width * behind.height, 255
    while level and (left := left - bright[level]) >= 0:
        level -= 1
    grey = bisect_left(_LINEAR, level)
    return max(0.0, (grey - READABLE) / (grey - SHADE[1]))


def _shade(
    size: tuple[int, int], corner: tuple[int, int], fading: tuple[int, int], level: float
) -> Image.Image:
    """Give how dark each pixel becomes: as said below and left of a corner, fading beyond it."""
    columns = bytes(_faded(255, column - corner[0], fading[0]) for column in range(size[0]))
    rows = bytes(_faded(255 * level, corner[1] - row, fading[1]) for row in range(size[1]))
    return ImageChops.multiply(
        Image.frombytes("L", (size[0], 1), columns).resize(size, Image.Resampling.NEAREST),
        Image.frombytes("L", (1, size[1]), rows).resize(size, Image.Resampling.NEAREST),
    )


def _faded(level: float, beyond: int, reach: int) -> int:
    """Give what is left of a level so many pixels beyond an edge, without a visible one."""
    return round(level * (1 + cos(pi * min(1.0, max(0.0, beyond / reach)))) / 2)


@lru_cache(maxsize=4)
def _ground(size: tuple[int, int], dark: bool) -> Image.Image:  # noqa: FBT001 - part of a key
    """Paint what stands there without a photo; not to be drawn upon."""
    width, height = size
    corners = Image.new("RGB", (2, 2))
    corners.putdata(GROUNDS[dark])
    # From middle to middle of the four, beyond which nothing is between two colours.
    ground = corners.resize(size, Image.Resampling.BILINEAR, box=(0.5, 0.5, 1.5, 1.5))
    for right, down, radius in DISCS:
        middle, reach = (width - (1 - right) * height, down * height), radius * height
        light = Image.new("L", size)
        ImageDraw.Draw(light).circle(middle, reach, fill=GLOW)
        ground.paste("white", (0, 0, *size), light)
    return ground
