"""JPEGs of the kinds that no encoder at hand writes: headers, and scans whose bits are all zero.

With Huffman tables of one code each, a block of the mean colour is two zero bits: a category of 0,
and the end of the block (ITU-T T.81 annexes B, F).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

BASELINE, EXTENDED, PROGRESSIVE, LOSSLESS, ARITHMETIC = 0xC0, 0xC1, 0xC2, 0xC3, 0xC9


@dataclass(frozen=True)
class Frame:
    """The declared kind of a JPEG; `apart` if each colour has its own scan."""

    kind: int = BASELINE
    colours: int = 3
    bits: int = 8
    apart: bool = False


def jpeg(width: int, height: int, frame: Frame = Frame()) -> bytes:
    """Build a grey picture of this size."""
    parts = b"".join(bytes((colour, 0x11, 0)) for colour in range(1, frame.colours + 1))
    shape = struct.pack(">BHHB", frame.bits, height, width, frame.colours)
    tables = b"".join(_segment(0xC4, bytes((where, 1, *[0] * 15, 0))) for where in (0x00, 0x10))
    blocks = -(-width // 8) * -(-height // 8)
    everyone = [*range(1, frame.colours + 1)]
    scans = [[colour] for colour in everyone] if frame.apart else [everyone]
    return b"".join(
        [
            b"\xff\xd8",
            _segment(0xDB, bytes((0, *[1] * 64))),
            _segment(frame.kind, shape + parts),
            tables,
            *(_scan(colours, blocks) for colours in scans),
            b"\xff\xd9",
        ]
    )


def _scan(colours: list[int], blocks: int) -> bytes:
    named = b"".join(bytes((colour, 0x00)) for colour in colours)
    head = _segment(0xDA, bytes((len(colours),)) + named + bytes((0, 63, 0)))
    return head + bytes(-(-2 * blocks * len(colours) // 8))


def _segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body
