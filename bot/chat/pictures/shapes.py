"""Shapes with smooth edges: white cards with round corners, the stamp that lies across a code."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from bot.core.images import lettering

SMOOTHNESS = 4
"""Pixels that are drawn for one that is shown, each way."""

STAMP = (620, 164)
"""Pixels of the stamp before it is turned."""

STAMP_SIZES = (108, 96, 84, 72, 62, 54, 46, 40, 34, 28)
STAMP_FRAME, STAMP_CORNER = 10, 24
STAMP_INSET = 36
STAMP_TILT = 14  # degrees, rising to the right


def rounded(
    picture: Image.Image, box: tuple[int, int, int, int], radius: int, fill: tuple[int, int, int]
) -> None:
    """Paint a rectangle with round corners; the box ends before its right and lower bounds."""
    left, top, right, bottom = box
    pen = ImageDraw.Draw(picture)
    pen.rectangle((left, top + radius, right - 1, bottom - radius - 1), fill=fill)
    pen.rectangle((left + radius, top, right - radius - 1, bottom - 1), fill=fill)
    corner = _corner(radius)
    for turns, (across, down) in enumerate(
        (
            (left, top),
            (left, bottom - radius),
            (right - radius, bottom - radius),
            (right - radius, top),
        )
    ):
        picture.paste(fill, (across, down), corner.rotate(90 * turns))


@lru_cache(maxsize=8)
def _corner(radius: int) -> Image.Image:
    """Give the upper left quarter of a disc."""
    side = radius * SMOOTHNESS
    large = Image.new("L", (side, side))
    ImageDraw.Draw(large).circle((side, side), side, fill=255)
    return large.reduce(SMOOTHNESS)


@lru_cache(maxsize=8)
def stamp(text: str | None) -> tuple[Image.Image, Image.Image]:
    """Give a stamp, turned: where its paper is, and where its ink. None is a bar without words."""
    paper, ink = Image.new("L", STAMP), Image.new("L", STAMP)
    edge = (0, 0, STAMP[0] - 1, STAMP[1] - 1)
    ImageDraw.Draw(paper).rounded_rectangle(edge, STAMP_CORNER, fill=255)
    pen = ImageDraw.Draw(ink)
    pen.rounded_rectangle(edge, STAMP_CORNER, outline=255, width=STAMP_FRAME)
    if text:
        said = lettering.fitted(text, STAMP[0] - 2 * STAMP_INSET, STAMP_SIZES, bold=True)
        middle = (STAMP[0] / 2, STAMP[1] / 2)
        pen.text(middle, said.lines[0], fill=255, font=said.font, anchor="mm")
    else:
        pen.rectangle(
            (
                STAMP_INSET,
                STAMP[1] // 2 - STAMP_FRAME,
                STAMP[0] - STAMP_INSET,
                STAMP[1] // 2 + STAMP_FRAME,
            ),
            fill=255,
        )
    return _turned(paper), _turned(ink)


def _turned(mask: Image.Image) -> Image.Image:
    return mask.rotate(STAMP_TILT, Image.Resampling.BICUBIC, expand=True)


def lay(
    picture: Image.Image,
    middle: tuple[int, int],
    made: tuple[Image.Image, Image.Image],
    colour: tuple[int, int, int],
) -> None:
    """Lay a stamp on a place: white paper, ink of a colour."""
    for mask, fill in zip(made, ((255, 255, 255), colour), strict=True):
        picture.paste(fill, (middle[0] - mask.width // 2, middle[1] - mask.height // 2), mask)
