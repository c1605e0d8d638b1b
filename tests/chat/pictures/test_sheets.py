"""Words that fit a room: sizes, lines, and where they begin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw

from bot.chat.pictures.canvas import GoalBar, PictureContent, palette_of
from bot.chat.pictures.card_picture import draw_card
from bot.chat.pictures.poster import poster_pdf, poster_png, square_png
from bot.chat.pictures.sheet import DIMMED, MAX_TYPED, framed, set_address
from bot.chat.pictures.typesetting import (
    CAPITAL,
    Column,
    is_right_to_left,
    set_heading,
    set_line,
    set_words,
)
from bot.core.brand import COLOURS, Rgb
from tests.chat.pictures.samples import ARABIC, LONG_NAME
from tests.support.sample_pictures import decode, opened, pixel, sample_link, saved

SIZES = (120, 90, 60, 45, 30)
COMPOUND = "Donaudampfschifffahrtsgesellschaft"


def test_a_short_heading_is_large_and_a_long_one_gets_more_lines() -> None:
    short, long = (set_heading(name, (900, 400), SIZES, 3) for name in ("Tea", LONG_NAME))
    assert short is not None
    assert long is not None
    assert (short.text.font.size, short.text.lines) == (120, ("Tea",))
    assert long.text.font.size < 120
    assert len(long.text.lines) == 3
    assert " ".join(long.text.lines) == LONG_NAME


def test_the_lines_of_a_heading_are_about_equally_long() -> None:
    block = set_heading("Hand-cut vinyl sticker pack of ten", (760, 200), (60,), 3)
    assert block is not None
    widths = [block.text.font.length(line) for line in block.text.lines]
    assert len(widths) == 2
    assert min(widths) > 0.7 * max(widths)


def test_a_heading_shrinks_before_a_word_is_split() -> None:
    block = set_heading(f"{COMPOUND} Wien", (900, 400), SIZES, 3)
    assert block is not None
    assert block.text.lines == (COMPOUND, "Wien")


def test_a_word_that_no_size_fits_is_split_and_the_end_cut_off() -> None:
    block = set_heading("x" * 500, (300, 100), (60, 45), 2)
    assert block is not None
    assert len(block.text.lines) == 2
    assert block.text.lines[-1].endswith("…")


def test_a_split_word_is_as_large_as_its_lines_allow() -> None:
    """Small, it would leave a lone letter for the last line."""
    smallest = set_line(COMPOUND, 10_000, SIZES[-1:], "semibold")
    assert smallest is not None
    block = set_heading(COMPOUND, (smallest.text.width - 1, 400), SIZES, 3)
    assert block is not None
    assert block.text.lines == ("Donaudampfschifffahrt-", "sgesellschaft")
    assert block.text.font.size > SIZES[-1]
    assert len(block.text.lines[-1]) > len(COMPOUND) / 4


@settings(max_examples=40)
@given(text=st.text("abcdefgh IJKW\n", max_size=320), width=st.integers(200, 900))
def test_words_stay_in_their_room(text: str, width: int) -> None:
    for block in (
        set_heading(text, (width, 300), SIZES, 4),
        set_words(text, (width, 300), SIZES),
        set_line(text, width, SIZES),
    ):
        if block is None:
            assert not text.strip()
            continue
        assert block.text.width <= width
        assert block.height <= 300


def test_words_keep_their_lines_while_there_is_room() -> None:
    block = set_words("Mo-Fr 9-18\n\nSa 9-13", (900, 300), SIZES)
    assert block is not None
    assert block.text.lines == ("Mo-Fr 9-18", "Sa 9-13")
    assert set_words("Mo-Fr", (900, int(CAPITAL * SIZES[-1]) - 1), SIZES) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea", False), ("شاي", True), ("קפה", True), ("12 شاي", True), ("Tea شاي", False),
        ("", False), ("12", False), ("手作り", False),
    ],
)  # fmt: skip
def test_the_first_letter_with_a_direction_decides(text: str, *, expected: bool) -> None:
    assert is_right_to_left(text) is expected


def test_a_column_is_inset_where_its_lines_begin() -> None:
    assert Column(10, 100).inset(20) == Column(30, 100)
    assert Column(10, 100, mirrored=True).inset(20) == Column(10, 80, mirrored=True)


# The address on a poster: what is in print leads to the link when it is typed.


ADDRESS_SIZES = (54, 50, 46)
WIDE, NARROW = 2000, 900


@pytest.mark.parametrize(
    ("link", "width", "lines"),
    [
        ("https://pay.example.org/pay/7f3e", WIDE, ["pay.example.org/pay/7f3e"]),
        ("http://localhost:8080/pay/7f3e", WIDE, ["http://localhost:8080/pay/7f3e"]),
        ("https://pay.example.org/pay/" + "7f3e" * 6, NARROW, ["pay.example.org/pay/", "7f3e" * 6]),
        ("https://pay.example.org/pay/7f3e?a=b#c", WIDE, ["pay.example.org/pay/7f3e?a=b#c"]),
        ("https://pay.example.org/" + "x" * MAX_TYPED, WIDE, ["pay.example.org"]),
        ("https://pay.example.org", NARROW, ["pay.example.org"]),
    ],
)
def test_a_link_is_shown_whole_or_as_its_site(link: str, width: int, lines: list[str]) -> None:
    block = set_address(link, width, ADDRESS_SIZES)
    assert block is not None
    assert list(block.text.lines) == lines
    assert block.text.width <= width


@pytest.mark.parametrize(
    "link",
    ["http://example.org/" + "x" * MAX_TYPED, "https://" + "x" * 99, "https://a.example/\u202e"],
)
def test_an_address_that_could_not_be_typed_is_left_out(link: str) -> None:
    assert set_address(link, NARROW, ADDRESS_SIZES) is None


@pytest.mark.parametrize("length", range(24, 120, 7))
def test_an_address_is_never_cut_short(length: int) -> None:
    link = sample_link(length)
    block = set_address(link, NARROW, ADDRESS_SIZES)
    assert block is not None
    assert "".join(block.text.lines) in (link[8:], "pay.example.org")


# Photos in their frames: cropped where little is lost, else whole.


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


# The colours of pictures: words can be read on what they stand on.


def luminance(colour: Rgb) -> float:
    """Compute the relative luminance by WCAG 2.2."""
    parts = [part / 255 for part in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("accent", [None, *COLOURS])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_have_a_contrast_of_at_least_four_and_a_half(
    accent: str | None, *, dark: bool
) -> None:
    shown = palette_of(accent, dark=dark)
    pairs = (
        (shown.ink, shown.ground), (shown.muted, shown.ground), (shown.accent, shown.ground),
        (shown.on_accent, shown.accent), (shown.on_field, shown.field),
    )  # fmt: skip
    for one, other in pairs:
        assert contrast(one, other) >= 4.5


def test_an_unknown_accent_is_the_default_one() -> None:
    assert palette_of("nothing", dark=False) == palette_of(None, dark=False)


# The bar of a goal on posters: as long as what was raised, and no longer than the column.


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
