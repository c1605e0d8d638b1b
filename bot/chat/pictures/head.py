"""The upper part of a picture: the product's photo, or a ground of colour, with words upon it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageOps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bot.core.lettering import Fitted

SHARP_ENOUGH = 0.75
"""Part of the pixels wanted that a photo may be decoded to where that is quicker."""

SHADE = (8, 12, 24)
SHADES = (0.0, 0.62, 0.86)
"""How dark the photo is made far above the words, where they begin, and at the foot: white letters
on a white photo have a contrast of 4.5 and more."""

FADING = 0.3  # of the head's height, from no shade to where words begin

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
    return Words(there, gap, foot - _height(there, gap))


def about(blocks: Sequence[Fitted | None], gap: int, middle: int) -> Words:
    """Set the blocks that there are as far above as below a height."""
    there = tuple(block for block in blocks if block)
    return Words(there, gap, middle - _height(there, gap) // 2)


def _height(blocks: Sequence[Fitted], gap: int) -> int:
    return sum(block.height for block in blocks) + gap * max(0, len(blocks) - 1)


def head(photo: bytes | None, size: tuple[int, int], begin: int, *, dark: bool) -> Image.Image:
    """Paint the ground for words that begin at `begin`; `photo` as `photo.prepared` made it."""
    if photo is None:
        return _ground(size, dark)
    shaded = cover(photo, size).copy()
    shaded.paste(SHADE, (0, 0, *size), _shade(size, begin))
    return shaded


@lru_cache(maxsize=8)  # of a megabyte; a drop's card is drawn anew after each sale
def cover(photo: bytes, size: tuple[int, int]) -> Image.Image:
    """Give the middle of a photo that fills a size; not to be drawn upon."""
    with Image.open(io.BytesIO(photo)) as image:
        across, down = (part / whole for part, whole in zip(size, image.size, strict=True))
        scale = SHARP_ENOUGH * max(across, down)
        image.draft("RGB", (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
        return ImageOps.fit(image.convert("RGB"), size, Image.Resampling.BILINEAR)


def _shade(size: tuple[int, int], begin: int) -> Image.Image:
    """Give how dark each row becomes."""
    width, height = size
    fading = max(1, int(FADING * height))
    away, here, foot = SHADES
    levels = bytearray()
    for row in range(height):
        if row < begin:
            share = max(0.0, 1 - (begin - row) / fading)
            level = away + (here - away) * share
        else:
            level = here + (foot - here) * (row - begin) / max(1, height - begin)
        levels.append(round(255 * level))
    return Image.frombytes("L", (1, height), bytes(levels)).resize((width, height))


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
