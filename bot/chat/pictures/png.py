"""PNG files of posters, encoded in less than two thirds of the time that Pillow takes.

Pillow tries all filters on each row. Here a row equal to the one above is stored as such, which
most rows of a drawing are; the others are stored as differences from pixel to pixel (PNG, third
edition, section 9.2). Measured in docs/decisions/0045-reportlab-for-pdf-own-png.md.
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
_RGB = (8, 2, 0, 0, 0)  # bits a channel, colour type, compression, filters, no interlacing
_INCHES_A_METRE = 39.3701


def encode(image: Image.Image, dpi: int) -> bytes:
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
