"""A photo in a frame: cropped to fill it, or whole on a blurred copy of itself."""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image

MIN_SHARPNESS = 0.75
"""Share of the pixels shown that a photo is decoded to at least, which is quicker."""

MIN_SHARE = 0.35
"""Share of a photo that a crop shows at least; of a longer or wider one it would miss too much."""

MAX_ENLARGEMENT = 4
"""Pixels shown for one of the photo, each way: beyond it there is nothing to see."""

UPPER = 0.4
"""Place of a crop in what is cut off, from the top: things stand on the ground in most photos."""

BACKDROP = 5  # pixels across: so few that only the colours are left
DIMMED = 0.8  # brightness of the blurred copy, so that the photo stands out


@lru_cache(maxsize=4)  # of 2.6 MB at most; the card of a drop is drawn again after each sale
def framed(photo: bytes, size: tuple[int, int]) -> Image.Image:
    """Return a photo in the size of a frame; it is cached, so don't draw on it."""
    with Image.open(io.BytesIO(photo)) as image:
        across, down = (part / whole for part, whole in zip(size, image.size, strict=True))
        fill, fit = max(across, down), min(across, down)
        crops = fit >= MIN_SHARE * fill and fill <= MAX_ENLARGEMENT
        scale = fill if crops else min(fit, MAX_ENLARGEMENT)
        shown = (round(image.width * scale), round(image.height * scale))
        image.draft("RGB", (int(MIN_SHARPNESS * shown[0]), int(MIN_SHARPNESS * shown[1])))
        return _crop(image, size) if crops else _on_backdrop(image, shown, size)


def _crop(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    scale = max(size[0] / image.width, size[1] / image.height)
    width, height = min(image.width, size[0] / scale), min(image.height, size[1] / scale)
    left, top = (image.width - width) / 2, (image.height - height) * UPPER
    box = (left, top, left + width, top + height)
    return image.convert("RGB").resize(size, Image.Resampling.BILINEAR, box)


def _on_backdrop(image: Image.Image, shown: tuple[int, int], size: tuple[int, int]) -> Image.Image:
    plain = image.convert("RGB")
    small = _crop(plain, (BACKDROP, max(1, BACKDROP * size[1] // size[0])))
    backdrop = small.point(lambda level: int(level * DIMMED)).resize(size)
    width, height = (max(1, length) for length in shown)
    photo = plain.resize((width, height), Image.Resampling.BICUBIC)
    backdrop.paste(photo, ((size[0] - width) // 2, (size[1] - height) // 2))
    return backdrop
