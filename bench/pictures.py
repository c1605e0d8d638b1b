"""The figure `pictures`: processor time of the card, the poster and the square of a request."""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PIL import Image

from bench.table import Row
from bot.chat.pictures import card_picture, photo_preparation, poster
from bot.chat.pictures.canvas import PictureContent, SellerLook

ROUNDS = 20
SIDES = (1280, 960)
NOISE = 12
"""Deviation of grey levels: the photo becomes 200 KB, as those of telephones are."""

LINK = "https://pay.example.org/pay/{:024x}"
WORDS = "Ten vinyl stickers, cut by hand and weatherproof. Thank you for supporting our shop!"
CARD_GOAL, POSTER_GOAL = "≤ 30 ms", "≤ 300 ms"
PACKING = "Pillow packs the same pixels"


async def pictures() -> list[Row]:
    """Draw each with a photo of 1280 pixels, for other links; the card for other photos, too."""
    photos = [_photo() for _ in range(ROUNDS + 1)]
    links = [LINK.format(number) for number in range(ROUNDS + 1)]
    seller = SellerLook("Mia's Prints", photo=photos[0])
    hint = "Pay Mia's Prints"
    content = PictureContent("Sticker pack", "$2.50", "", photos[0], hint, seller=seller)
    poster_content = replace(content, text=WORDS)
    contents = [replace(content, code=link) for link in links]
    strangers = [replace(one, photo=photo) for one, photo in zip(contents, photos, strict=True)]
    posters = [replace(poster_content, code=link) for link in links]
    return [
        _row("card", [partial(card_picture.draw_card, one) for one in contents], CARD_GOAL),
        _row(
            "card, photo not seen before",
            [partial(card_picture.draw_card, one) for one in strangers],
            CARD_GOAL,
        ),
        *(
            _row(name, [partial(draw, one) for one in posters], POSTER_GOAL)
            for name, draw in (("poster", poster.poster_png), ("square", poster.square_png))
        ),
    ]


def _row(name: str, draw: Sequence[Callable[[], bytes]], goal: str) -> Row:
    """Draw once to be warm, then measure; beside what it takes to pack pixels already drawn."""
    with Image.open(io.BytesIO(draw[0]())) as made:
        made.load()
        packing = [partial(made.save, io.BytesIO(), made.format, compress_level=1)] * ROUNDS
        beside = statistics.median(map(_milliseconds, packing))
    ours = statistics.median(map(_milliseconds, draw[1:]))
    return Row(f"{name}, CPU", ours, "ms", beside, PACKING, goal)


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def _photo() -> bytes:
    """Make a photo that has something to decode everywhere."""
    colours = [Image.linear_gradient("L"), Image.radial_gradient("L"), Image.linear_gradient("L")]
    plain = Image.merge("RGB", [colour.resize(SIDES) for colour in colours])
    grain = Image.merge("RGB", [Image.effect_noise(SIDES, NOISE)] * 3)
    out = io.BytesIO()
    Image.blend(plain, grain, 0.5).save(out, "PNG", compress_level=1)
    return photo_preparation.prepare(out.getvalue())
