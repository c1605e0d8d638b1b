"""The hostile collection: every format that Pillow writes, every kind of JPEG, bombs."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from PIL import Image, PngImagePlugin

from tests.support.unusual_jpegs import ARITHMETIC, EXTENDED, LOSSLESS, Frame, jpeg

SQUARE = (5000, 5000)  # 25 megapixels
TELEPHONE = (8660, 5773)  # 50 megapixels
ZEROS = 60_000_000  # bytes that a bomb unpacks to
UNWRITABLE = (AttributeError, KeyError, NotImplementedError, OSError, TypeError, ValueError)

CRAFTED: dict[str, Callable[[], bytes]] = {
    "jpeg baseline 50 MP": lambda: jpeg(*TELEPHONE),
    "jpeg apart 25 MP": lambda: jpeg(*SQUARE, Frame(apart=True)),
    "jpeg apart 50 MP": lambda: jpeg(*TELEPHONE, Frame(apart=True)),
    "jpeg cmyk 50 MP": lambda: jpeg(*TELEPHONE, Frame(colours=4)),
    "jpeg cmyk apart 25 MP": lambda: jpeg(*SQUARE, Frame(colours=4, apart=True)),
    "jpeg cmyk apart 18 MP": lambda: jpeg(4300, 4300, Frame(colours=4, apart=True)),
    "jpeg 12 bit": lambda: jpeg(*SQUARE, Frame(kind=EXTENDED, bits=12)),
    "jpeg lossless": lambda: jpeg(*SQUARE, Frame(kind=LOSSLESS)),
    "jpeg arithmetic": lambda: jpeg(*TELEPHONE, Frame(kind=ARITHMETIC)),
    "jpeg arithmetic apart": lambda: jpeg(*TELEPHONE, Frame(kind=ARITHMETIC, apart=True)),
    "jpeg long": lambda: jpeg(31_000, 1_600),
    "jpeg progressive 25 MP": lambda: saved(plain("RGB"), "JPEG", progressive=True, subsampling=0),
    "jpeg restarts": lambda: saved(plain("RGB"), "JPEG", restart_marker_rows=1),
    "jpeg of many scans": lambda: saved_again(saved(plain("RGB"), "JPEG", progressive=True)),
    "png rgba 25 MP": lambda: saved(plain("RGBA"), "PNG", compress_level=1),
    "png 16 bit 25 MP": lambda: saved(plain("I;16"), "PNG", compress_level=1),
    "png palette 25 MP": lambda: saved(plain("P"), "PNG", transparency=0),
    "png animated 25 MP": lambda: animated("PNG", disposal=1),
    "png 2 gigapixels": lambda: head_alone(46_000, 46_000),
    "png text bomb": lambda: with_text(compressed=True),
    "png profile bomb": lambda: with_chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(ZEROS))),
    "png exif bomb": lambda: saved(plain("L", (200, 200)), "PNG", exif=bytes(9_000_000)),
    "gif 25 MP": lambda: saved(plain("P"), "GIF", transparency=0),
    "gif animated 25 MP": lambda: animated("GIF", disposal=2),
    "webp 25 MP": lambda: saved(plain("RGB"), "WEBP", lossless=True, method=0),
    "webp rough 25 MP": lambda: saved(plain("RGB"), "WEBP", quality=5, method=0),
    "webp 12 MP": lambda: saved(plain("RGBA", (4032, 3024)), "WEBP", lossless=True, method=0),
    "webp animated 12 MP": lambda: animated("WEBP", size=(4032, 3024), method=0),
    "jpeg exif bomb": lambda: saved(plain("RGB", (200, 200)), "JPEG", exif=exif_bomb()),
    "jpeg profile": lambda: saved(plain("RGB"), "JPEG", icc_profile=bytes(5_000_000)),
}


def collection() -> dict[str, bytes]:
    """Return the pictures by name: the crafted ones and every format that Pillow writes."""
    made = {name: make() for name, make in CRAFTED.items()}
    return made | dict(_formats()) | {"noise": random.Random(0).randbytes(1_000_000)}


def _formats() -> Iterator[tuple[str, bytes]]:
    """Yield a picture of 25 megapixels in each format that can be so large."""
    Image.init()
    for kind in sorted(Image.SAVE):
        for size in (SQUARE, (200, 200)):
            with suppress(*UNWRITABLE):
                data = saved(plain("RGB", size), kind)
                if len(data) < 10_000_000:
                    yield f"{kind} {size[0]} x {size[1]}", data
                    break


def saved(picture: Image.Image, kind: str, **how: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **how)
    return out.getvalue()


def plain(mode: str, size: tuple[int, int] = SQUARE) -> Image.Image:
    return Image.new(mode, size, 90 if mode in {"L", "P", "I;16"} else (90, 120, 150))


def animated(kind: str, size: tuple[int, int] = SQUARE, **how: Any) -> bytes:
    later = [Image.new("RGB", size, colour) for colour in ("red", "green")]
    return saved(plain("RGB", size), kind, save_all=True, append_images=later, **how)


def saved_again(data: bytes) -> bytes:
    """Repeat the last scan of a JPEG fifty times."""
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * 50 + data[-2:]


def head_alone(width: int, height: int) -> bytes:
    head = struct.pack(">LL5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def with_text(*, compressed: bool) -> bytes:
    text = PngImagePlugin.PngInfo()
    for number in range(8):
        text.add_itxt(f"a{number}", "0" * ZEROS, zip=compressed)
        text.add_text(f"b{number}", "0" * ZEROS, zip=compressed)
    return saved(plain("L", (200, 200)), "PNG", pnginfo=text)


def with_chunk(kind: bytes, body: bytes) -> bytes:
    data = saved(plain("L", (200, 200)), "PNG")
    return data[:33] + chunk(kind, body) + data[33:]


def exif_bomb() -> bytes:
    """Build a directory that names itself as the next one, with values of 4 gigabytes."""
    entry = struct.pack("<HHLL", 0x010E, 2, 0xFFFFFFFF, 8)
    return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", 500) + entry * 500 + struct.pack("<L", 8)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">L", len(body)) + kind + body + struct.pack(">L", zlib.crc32(kind + body))
