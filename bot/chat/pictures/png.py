"""PNG files of large drawings, packed in half the time that Pillow takes.

Pillow tries all filters on each row. Here a row like the one above it says so, which most are in
a drawing; the others are differences from pixel to pixel (PNG, third edition, section 9.2).
"""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING

from PIL import Image, ImageChops

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 1  # of compression: more takes seconds and saves a tenth
BAND = 64  # rows at a time, which a processor's cache holds

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = 3
_SUB, _UP = b"\1", b"\2"
_RGB = (8, 2, 0, 0, 0)  # bits a channel, kind of colours, compression, filters, no interlacing
_METRE = 39.3701  # inches


def packed(image: Image.Image, dpi: int) -> bytes:
    """Write an RGB image as a PNG that says how large it is to be printed."""
    each_metre = round(dpi * _METRE)
    packer = zlib.compressobj(LEVEL)
    data = b"".join([*map(packer.compress, _bands(image)), packer.flush()])
    return b"".join(
        [
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">LL5B", *image.size, *_RGB)),
            _chunk(b"pHYs", struct.pack(">LLB", each_metre, each_metre, 1)),
            _chunk(b"IDAT", data),
            _chunk(b"IEND", b""),
        ]
    )


def _bands(image: Image.Image) -> Iterator[bytes]:
    """Give the rows, filtered."""
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
    """Give each pixel less the one at its left."""
    left = Image.new("RGB", band.size)
    left.paste(band, (1, 0))
    return ImageChops.subtract_modulo(band, left)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
