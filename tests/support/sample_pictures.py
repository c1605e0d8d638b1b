"""Pictures of tests: samples, and every odd one that a stranger may send."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
import zxingcpp
from PIL import Image, ImageDraw, PngImagePlugin

from bot.chat.pictures import photo_preparation

BASE = "https://pay.example.org/pay/"
ROUGH = 60
"""Quality of JPEG to which chats bring pictures at worst."""


def sample_link(length: int) -> str:
    """Build a link of so many characters, mixed as ids are."""
    return (BASE + "0a7F3e-9bC1d_52486" * 20)[:length]


def sample_photo(size: tuple[int, int] = (1600, 1200)) -> Image.Image:
    """Draw a photo with light and dark, even and rough parts."""
    grey = [
        Image.linear_gradient("L"),
        Image.radial_gradient("L"),
        Image.effect_noise((256, 256), 60),
    ]
    picture = Image.merge("RGB", [one.resize(size) for one in grey])
    ImageDraw.Draw(picture).ellipse((size[0] // 3, 20, size[0] // 2, size[1] // 2), "white")
    return picture


def saved(picture: Image.Image, kind: str = "JPEG", **how: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **how)
    return out.getvalue()


@cache
def prepared_photo() -> bytes:
    """Prepare a photo as sellers' photos are kept."""
    return photo_preparation.prepare(saved(sample_photo()))


def opened(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def pixel(picture: Image.Image, at: tuple[int, int]) -> tuple[int, ...]:
    """Return the red, green and blue of a pixel."""
    return tuple(picture.crop((*at, at[0] + 1, at[1] + 1)).convert("RGB").tobytes())


def readings(picture: Image.Image) -> list[set[str]]:
    """Return the texts that each of two decoders reads: zxing-cpp, and OpenCV by two methods."""
    plain = picture.convert("RGB")
    pixels = np.array(plain)
    methods = cv2.QRCodeDetectorAruco(), cv2.QRCodeDetector()
    texts = (method.detectAndDecode(pixels)[0] for method in methods)
    return [
        {code.text for code in zxingcpp.read_barcodes(plain)},
        {next(filter(None, texts), "")} - {""},
    ]


def decode(picture: Image.Image) -> set[str]:
    """Return the texts that at least one of two decoders reads."""
    return set().union(*readings(picture))


def versions(picture: Image.Image, widths: Iterable[int]) -> Iterator[tuple[str, Image.Image]]:
    """Yield the picture as sent and in other widths, and each of them as a rough JPEG."""
    plain = picture.convert("RGB")
    for width in (plain.width, *widths):
        one = plain.resize((width, round(width * plain.height / plain.width)))
        yield f"{width}", one
        yield f"{width}, rough", opened(saved(one, quality=ROUGH))


def undecodable_versions(
    picture: Image.Image, expected: str, *widths: int, least: int = 2
) -> list[str]:
    """Return the versions in which fewer than `least` decoders read just this one text.

    They are the picture as sent, at half its size and in other widths, plain and as a rough JPEG.
    """
    found = versions(picture, (picture.width // 2, *widths))
    return [name for name, one in found if readings(one).count({expected}) < least]


def photo(size: tuple[int, int] = (640, 480), colour: str = "teal") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "JPEG")
    return out.getvalue()


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
