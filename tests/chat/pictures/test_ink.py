"""No letter of any script is cut off, covered or drawn over another: its ink counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from PIL import Image

from bot.chat.pictures.canvas import Box, GoalBar, PictureContent, PixelCanvas, SellerLook
from bot.chat.pictures.card_picture import draw_card
from bot.chat.pictures.poster import poster_png, square_png
from bot.core.images import shaping
from bot.core.images.text_fitting import Font
from bot.service.pages import preview_picture
from tests.support.sample_pictures import prepared_photo, sample_link

TEXTS = {
    "arabic": "ع ح ج خ",
    "arabic with vowels": "بِسْمِ ٱللَّٰهِ ٱلرَّحْمَٰنِ",
    "urdu": "پکوان گھر ے",
    "hebrew": "שָׁלוֹם עֲלֵיכֶם",
    "thai": "ที่ปู่ญู้ กี้ฎุ",
    "devanagari": "कैफ़े हिन्दी र्त्स्न्यि ळू",
    "bengali": "কফি র্ক্ষ্মু ঋ",
    "telugu": "కాఫీ స్త్ర్య క్ష్మి",
    "kannada": "ಕಾಫಿ ಕ್ಷ್ಮೆ ಸ್ತ್ರೀ",
    "tamil": "காபி ஸ்ரீ ஔ",
    "vietnamese": "NGHIÊNG ẾẪ ỆỸ",
    "german": "Ägypten ÖÜ gjpq",
    "marks": "A\u0301\u0302\u0303\u0304 j\u0323\u0324\u0325",
    "emoji": "🎉 Tea 👩🏽\u200d🚀",
    "han": "咖啡豆鬱",
}
LONGER = 4
"""As often the text is repeated for a name that needs several lines."""

SPARE = 400
"""Pixels around a line that is drawn alone, more than any ink reaches."""


@dataclass
class Drawn:
    """What was drawn on a picture: the ink of each line, and what covered it later."""

    size: tuple[int, int] = (0, 0)
    lines: list[tuple[str, Font, Box]] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)
    field_box: Box | None = None

    def cover(self, box: Box) -> None:
        self.covered += [line for line, _, ink in self.lines if _overlap(box, ink)]


def _overlap(one: Box, other: Box) -> bool:
    return max(one[0], other[0]) < min(one[2], other[2]) and max(one[1], other[1]) < min(
        one[3], other[3]
    )


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Record what is drawn, each line also alone on a larger canvas."""
    found = Drawn()
    draw, panel, picture = Font.draw, PixelCanvas.draw_panel, PixelCanvas.draw_image

    def draw_text(
        font: Font, image: Image.Image, line: str, at: Any, fill: Any, anchor: Any = "left"
    ) -> None:
        found.size = image.size
        draw(font, image, line, at, fill, anchor)
        x, y = int(at[0]), int(at[1])
        wide = int(font.length(line)) + 2 * SPARE
        alone = Image.new("L", (wide, 6 * font.size))
        place = (SPARE + at[0] - x, 3 * font.size + at[1] - y)
        draw(font, alone, line, place, 255, anchor)
        ink = alone.point(lambda level: 255 * (level > 60)).getbbox()
        assert ink
        left, top = x - SPARE, y - 3 * font.size
        found.lines.append((line, font, (ink[0] + left, ink[1] + top, ink[2] + left, ink[3] + top)))

    def draw_panel(canvas: PixelCanvas, box: Box, *rest: Any) -> None:
        panel(canvas, box, *rest)
        found.cover(box)
        found.field_box = found.field_box or (box if found.size else None)
        found.size = canvas.image.size

    def draw_image(canvas: PixelCanvas, image: Image.Image, box: Box, *rest: Any) -> None:
        picture(canvas, image, box, *rest)
        found.cover(box)

    monkeypatch.setattr(Font, "draw", draw_text)
    monkeypatch.setattr(PixelCanvas, "draw_panel", draw_panel)
    monkeypatch.setattr(PixelCanvas, "draw_image", draw_image)
    return found


def _check(drawn: Drawn) -> None:
    width, height = drawn.size
    for line, _, (left, top, right, bottom) in drawn.lines:
        assert 0 <= left < right <= width, line
        assert 0 <= top < bottom <= height, line
    for (one, font, ink), (other, next_font, next_ink) in combinations(drawn.lines, 2):
        # Accents of a line may reach between the descenders of the one above, as in any book.
        touch = round(0.06 * min(font.size, next_font.size))
        inner = (ink[0], ink[1] + touch, ink[2], ink[3] - touch)
        assert not _overlap(inner, next_ink), (one, other)
    assert drawn.covered == []


@pytest.mark.parametrize("with_photo", [False, True], ids=["field", "photo"])
@pytest.mark.parametrize("times", [1, pytest.param(LONGER, marks=pytest.mark.long)])
@pytest.mark.parametrize("draw", [draw_card, poster_png, square_png])
@pytest.mark.parametrize("script", TEXTS)
def test_all_ink_of_a_picture_is_seen(
    drawn: Drawn,
    script: str,
    draw: Callable[[PictureContent], bytes],
    times: int,
    *,
    with_photo: bool,
) -> None:
    text = TEXTS[script]
    draw(
        PictureContent(
            name=" ".join([text] * times),
            price="12,50 €",
            code=sample_link(60),
            photo=prepared_photo() if with_photo else None,
            hint=text,
            text=f"{text}\n{text}",
            seller=SellerLook(text, "teal"),
            goal=GoalBar(text, 40),
        )
    )
    _check(drawn)
    if not with_photo:
        assert drawn.field_box
        name = drawn.lines[0][1].size
        left, top, right, bottom = drawn.field_box
        for line, _, ink in (one for one in drawn.lines if one[1].size == name):
            assert left <= ink[0] < ink[2] <= right, line
            assert top <= ink[1] < ink[3] <= bottom, line


@pytest.mark.parametrize("goal", [None, "goal"])
@pytest.mark.parametrize("times", [1, LONGER])
@pytest.mark.parametrize("script", TEXTS)
def test_all_ink_of_a_link_preview_is_seen(
    drawn: Drawn, script: str, times: int, goal: str | None
) -> None:
    text = TEXTS[script]
    name = " ".join([text] * times)
    shown = preview_picture.Content("https://pay.example.org/pay/x", name, "12 €", text, None, goal)
    preview_picture.draw.__wrapped__(shown)
    _check(drawn)


class _Reach:
    """The box of the points of an outline: no ink is outside of it."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def moveTo(self, x: float, y: float) -> None:  # noqa: N802
        self.points.append((x, y))

    lineTo = moveTo  # noqa: N815

    def curveTo(self, *points: float) -> None:  # noqa: N802
        self.points.append((points[-2], points[-1]))

    def close(self) -> None:
        """Nothing is added by closing a path."""


@pytest.mark.parametrize("weight", ["regular", "semibold", "bold"])
@pytest.mark.parametrize("script", [name for name in TEXTS if name not in ("german", "vietnamese")])
def test_a_line_is_as_high_and_wide_as_its_outlines(script: str, weight: Any) -> None:
    size, font, text = 200, Font(200, weight), TEXTS[script]
    line = shaping.shape(text, weight, "")
    reach = _Reach()
    for layer in shaping.layers(line):
        shaping.trace(layer, size, weight, (0, 0), reach)
    across, down = zip(*reach.points, strict=True)
    image = Image.new("L", (int(font.length(text)) + 2 * SPARE, 1_200))
    font.draw(image, text, (SPARE, 600), 255)
    ink = image.getbbox()
    assert ink
    above, below = font.ink(text)
    baseline = 600 + font._rise()
    assert ink[0] <= SPARE + min(across) + 1
    assert ink[2] >= SPARE + max(across) - 1
    assert ink[1] <= baseline + min(down) + 1
    assert ink[3] >= baseline + max(down) - 1
    assert above * size >= -min(down) - 1
    assert below * size >= max(down) - 1
    assert min(across) >= -1
    assert max(across) <= font.length(text) + 1
