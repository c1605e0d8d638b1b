"""Sample photos, and decoders of the codes in pictures."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import zxingcpp
from PIL import Image, ImageDraw

from bot.chat.pictures import photo_preparation

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def decode(picture: Image.Image) -> set[str]:
    """Return the texts that at least one of two decoders reads."""
    found = {code.text for code in zxingcpp.read_barcodes(picture.convert("RGB"))}
    said = (
        "" if found else cv2.QRCodeDetector().detectAndDecode(np.array(picture.convert("RGB")))[0]
    )
    return found or {said} - {""}


def versions(picture: Image.Image) -> Iterator[tuple[str, Image.Image]]:
    """Yield the picture as sent, at half the size, as a rough JPEG, and both."""
    half = picture.convert("RGB").resize((picture.width // 2, picture.height // 2))
    for name, one in (("sent", picture.convert("RGB")), ("half", half)):
        yield name, one
        yield f"{name}, rough", opened(saved(one, quality=ROUGH))


def undecodable_versions(picture: Image.Image, expected: str) -> list[str]:
    """Return the versions in which the link is not the one text that is read."""
    return [name for name, one in versions(picture) if decode(one) != {expected}]


def photo(size: tuple[int, int] = (640, 480), colour: str = "teal") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "JPEG")
    return out.getvalue()
