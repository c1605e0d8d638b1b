"""Contents of pictures for their tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bot.chat.pictures.canvas import PictureContent, SellerLook
from tests.support.sample_pictures import prepared_photo, sample_link

SELLER = SellerLook("Mia's Prints", "teal")
LONG_NAME = (
    "Hand-cut weatherproof vinyl stickers for bicycles, laptops and guitars, a set of ten designs"
)
ARABIC = "ملصقات مقاومة للماء"
PARTS: tuple[tuple[str, Any], ...] = (
    ("name", "Tea"),
    ("price", "$3"),
    ("code", sample_link(60)),
    ("hint", "Pay here"),
    ("dark", True),
    ("seller", SELLER),
    ("seller", replace(SELLER, name="Bo")),
    ("seller", replace(SELLER, accent="red")),
)


def changed_parts(content: PictureContent) -> Iterator[PictureContent]:
    """Yield the content, and contents that differ from it in one part each."""
    yield content
    yield replace(content, photo=prepared_photo())
    yield replace(content, seller=replace(SELLER, photo=prepared_photo()))
    for field, value in PARTS:
        yield replace(content, **{field: value})
