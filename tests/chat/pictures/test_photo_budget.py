"""The child's budget: the largest accepted photos of every kind fit into it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from bot.chat.pictures import decoder_process
from bot.core.bounded_process import PICTURE_BUDGET, BoundedChild
from bot.core.errors import OverBudget, PictureError
from tests.support.hostile_images import CRAFTED
from tests.support.sample_pictures import opened

TAKEN = (
    "jpeg baseline 50 MP", "jpeg apart 25 MP", "jpeg cmyk 50 MP", "jpeg cmyk apart 18 MP",
    "jpeg arithmetic", "jpeg progressive 25 MP", "jpeg long", "png rgba 25 MP",
    "png palette 25 MP", "gif 25 MP", "webp 12 MP",
)  # fmt: skip
REFUSED = {
    "jpeg apart 50 MP": "tooLarge",
    "jpeg cmyk apart 25 MP": "tooLarge",
    "jpeg arithmetic apart": "tooLarge",
    "png 2 gigapixels": "tooLarge",
    "webp 25 MP": "tooLarge",
    "webp rough 25 MP": "tooLarge",
}


BUDGET = replace(PICTURE_BUDGET, seconds=100.0)
"""That of the product, but for the wall clock: a child goes last on a machine that is busy."""


async def prepared(name: str) -> bytes:
    made = BoundedChild(decoder_process.MODULE, BUDGET)
    return decoder_process.read_answer(await made.run(CRAFTED[name]()))


@pytest.mark.long
@pytest.mark.parametrize("name", TAKEN)
async def test_the_largest_accepted_photos_fit_into_the_budget(name: str) -> None:
    assert max(opened(await prepared(name)).size) == 1280


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
async def test_photos_beyond_the_budget_are_refused_by_their_header(name: str) -> None:
    with pytest.raises(PictureError) as caught:
        await prepared(name)
    assert caught.value.reason == REFUSED[name]


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(CRAFTED.keys() - set(TAKEN) - REFUSED.keys()))
async def test_any_other_photo_is_accepted_or_refused_with_a_reason(name: str) -> None:
    with suppress(PictureError, OverBudget):
        assert max(opened(await prepared(name)).size) <= 1280
