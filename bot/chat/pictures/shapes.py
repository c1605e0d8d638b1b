"""Shapes with smooth edges: white panels with round corners, the stamp across a code."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from bot.core.images import text_fitting

SMOOTHNESS = 4
"""Pixels drawn for one that is shown, each way."""

STAMP = (620, 164)  # pixels, before it is rotated
STAMP_SIZES = (108, 96, 84, 72, 62, 54, 46, 40, 34, 28)
STAMP_FRAME, STAMP_CORNER = 10, 24
STAMP_INSET = 36
STAMP_TILT = 14  # degrees, rising to the right


def draw_rounded_rectangle(
    picture: Image.Image, box: tuple[int, int, int, int], radius: int, fill: tuple[int, int, int]
) -> None:
    """Draw a rectangle with round corners; right and bottom of the box lie outside it."""
    left, top, right, bottom = box
    pen = ImageDraw.Draw(picture)
    pen.rectangle((left, top + radius, right - 1, bottom - radius - 1), fill=fill)
    pen.rectangle((left + radius, top, right - radius - 1, bottom - 1), fill=fill)
    near_right, near_bottom = right - radius, bottom - radius
    places = ((left, top), (left, near_bottom), (near_right, near_bottom), (near_right, top))
    for turns, place in enumerate(places):
        picture.paste(fill, place, _corner(radius).rotate(90 * turns))


@lru_cache(maxsize=8)
def _corner(radius: int) -> Image.Image:
    """Return the upper left quarter of a disc."""
    side = radius * SMOOTHNESS
    large = Image.new("L", (side, side))
    ImageDraw.Draw(large).circle((side, side), side, fill=255)
    return large.reduce(SMOOTHNESS)


@lru_cache(maxsize=8)
def stamp_masks(text: str | None) -> tuple[Image.Image, Image.Image]:
    """Return the masks of a rotated stamp, paper and ink; None as text is a bar without words."""
    paper, ink = Image.new("L", STAMP), Image.new("L", STAMP)
    edge = (0, 0, STAMP[0] - 1, STAMP[1] - 1)
    ImageDraw.Draw(paper).rounded_rectangle(edge, STAMP_CORNER, fill=255)
    pen = ImageDraw.Draw(ink)
    pen.rounded_rectangle(edge, STAMP_CORNER, outline=255, width=STAMP_FRAME)
    if text:
        fitted = text_fitting.fit(text, STAMP[0] - 2 * STAMP_INSET, STAMP_SIZES, bold=True)
        middle = (STAMP[0] / 2, STAMP[1] / 2)
        pen.text(middle, fitted.lines[0], fill=255, font=fitted.font, anchor="mm")
    else:
        top, bottom = STAMP[1] // 2 - STAMP_FRAME, STAMP[1] // 2 + STAMP_FRAME
        pen.rectangle((STAMP_INSET, top, STAMP[0] - STAMP_INSET, bottom), fill=255)
    return _rotate(paper), _rotate(ink)


def _rotate(mask: Image.Image) -> Image.Image:
    return mask.rotate(STAMP_TILT, Image.Resampling.BICUBIC, expand=True)


def paste_stamp(
    picture: Image.Image,
    middle: tuple[int, int],
    masks: tuple[Image.Image, Image.Image],
    colour: tuple[int, int, int],
) -> None:
    """Paint a stamp around a point: white paper, ink of a colour."""
    for mask, fill in zip(masks, ((255, 255, 255), colour), strict=True):
        picture.paste(fill, (middle[0] - mask.width // 2, middle[1] - mask.height // 2), mask)
