"""The bar of a goal on posters: as long as what was raised, and no longer than the column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PIL import ImageChops

from bot.chat.pictures.canvas import GoalBar, PictureContent
from bot.chat.pictures.card_picture import draw_card
from bot.chat.pictures.poster import poster_pdf, poster_png
from bot.chat.pictures.square import square_png
from tests.chat.pictures.samples import ARABIC, LONG_NAME
from tests.support.sample_pictures import decode, opened, sample_link

if TYPE_CHECKING:
    from PIL import Image


LINK = sample_link(60)
PLAIN = PictureContent("Drums", "From €3", LINK, None, "Scan and choose your amount")


def with_goal(share: int, content: PictureContent = PLAIN) -> PictureContent:
    return replace(content, goal=GoalBar("€420 of €1,000", share))


def difference(one: Image.Image, other: Image.Image) -> tuple[int, int, int, int] | None:
    """Return the box of what differs between two pictures."""
    return ImageChops.difference(one, other).getbbox()


@pytest.mark.long
@pytest.mark.parametrize("draw", [poster_png, square_png])
@pytest.mark.parametrize("content", [PLAIN, replace(PLAIN, name=ARABIC, dark=True)])
def test_a_bar_is_as_long_as_what_was_raised(
    draw: Callable[[PictureContent], bytes], content: PictureContent
) -> None:
    empty, some, full = (opened(draw(with_goal(share, content))) for share in (0, 42, 100))
    part, whole = difference(empty, some), difference(empty, full)
    assert part
    assert whole
    assert (part[2] - part[0]) / (whole[2] - whole[0]) == pytest.approx(0.42, abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize("draw", [poster_png, square_png])
def test_past_the_goal_a_bar_is_full(draw: Callable[[PictureContent], bytes]) -> None:
    assert difference(opened(draw(with_goal(100))), opened(draw(with_goal(104)))) is None


@pytest.mark.long
@pytest.mark.parametrize("draw", [poster_png, square_png])
def test_a_code_below_a_long_name_and_a_goal_is_read(
    draw: Callable[[PictureContent], bytes],
) -> None:
    content = replace(PLAIN, name=LONG_NAME, text="Every cent helps. " * 9)
    assert decode(opened(draw(with_goal(42, content)))) == {LINK}


def test_a_pdf_has_the_bar_too() -> None:
    assert poster_pdf(with_goal(42)) != poster_pdf(PLAIN)


def test_the_card_in_the_chat_has_no_bar() -> None:
    """Its words have it: else every payment would draw and upload a picture."""
    assert draw_card(with_goal(42)) == draw_card(PLAIN)
