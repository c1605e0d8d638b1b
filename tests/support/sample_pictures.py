"""Sample photos, and decoders of the codes in pictures."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import cv2
import numpy as np
import zxingcpp
from PIL import Image, ImageDraw

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
