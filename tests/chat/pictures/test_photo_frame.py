"""Photos in their frames: cropped where little is lost, else whole."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from bot.chat.pictures.sheet import DIMMED, framed
from tests.support.sample_pictures import pixel, saved

FRAME = (1280, 672)
RED, BLUE = (200, 20, 20), (20, 20, 200)


def marked(size: tuple[int, int]) -> bytes:
    """Make a red photo with blue edges at its left, upper, right and lower end."""
    photo = Image.new("RGB", size, RED)
    width = max(2, min(size) // 12)
    ImageDraw.Draw(photo).rectangle((0, 0, size[0] - 1, size[1] - 1), outline=BLUE, width=width)
    return saved(photo, quality=95)


@pytest.mark.parametrize("size", [(1280, 960), (960, 1280), (1280, 672), (320, 240), (1280, 720)])
def test_a_usual_photo_fills_the_frame(size: tuple[int, int]) -> None:
    picture = framed(marked(size), FRAME)
    assert picture.size == FRAME
    assert pixel(picture, (640, 336)) == pytest.approx(RED, abs=30)
    assert pixel(picture, (2, 336)) == pytest.approx(BLUE, abs=40)


@pytest.mark.parametrize("size", [(1280, 200), (300, 1280), (64, 64), (64, 1280), (1280, 64)])
def test_a_long_or_tiny_photo_is_whole_on_its_dimmed_colours(size: tuple[int, int]) -> None:
    picture = framed(marked(size), FRAME)
    middle_row = [pixel(picture, (across, 336)) for across in range(FRAME[0])]
    middle_column = [pixel(picture, (640, down)) for down in range(FRAME[1])]
    for line in (middle_row, middle_column):
        edges = [pixel for pixel in line if pixel[2] > 150]
        assert len(edges) >= 4
    red = [pixel[0] for pixel in middle_row if pixel[2] < 100]
    assert max(red) > 170
    corner = pixel(picture, (3, 3))
    assert max(corner) <= 200 * DIMMED + 10


def test_a_crop_keeps_more_of_the_upper_part() -> None:
    photo = Image.new("RGB", (960, 1280), RED)
    photo.paste(BLUE, (0, 640, 960, 1280))
    picture = framed(saved(photo), FRAME)
    assert pixel(picture, (640, FRAME[1] // 2)) == pytest.approx(RED, abs=30)
