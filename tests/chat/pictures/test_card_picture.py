"""The picture of a card: its code can be scanned and it shows exactly its content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import zxingcpp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageOps

from bot.chat.cards.request_card import Card
from bot.chat.cards.views import View
from bot.chat.model.drafts import Profile
from bot.chat.model.replies import Reply
from bot.chat.pictures import card_picture
from bot.chat.pictures.canvas import PictureContent, SellerLook, palette_of
from bot.chat.pictures.card_picture import HEIGHT, MARGIN, PHOTO, WIDTH, draw_card
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.post_rows import OWN
from bot.core.brand import COLOURS
from bot.core.images import qr, text_fitting
from bot.core.money.amounts import format_money
from bot.core.text.translations import t
from tests.chat.pictures.samples import ARABIC, LONG_NAME, SELLER, changed_parts
from tests.support.chat_harness import COFFEE
from tests.support.sample_pictures import (
    BASE,
    decode,
    opened,
    pixel,
    prepared_photo,
    sample_link,
    sample_photo,
    saved,
    undecodable_versions,
)

LINK = sample_link(55)
PLAIN = PictureContent("Sticker pack", "$2.50", LINK)
UNASSIGNED = "\U0010fffe"
IN_A_CHAT = 320
"""Pixels of width to which a chat on a small screen scales a card."""


def shown(content: PictureContent) -> Image.Image:
    return opened(draw_card(content))


def same(content: PictureContent, other: PictureContent) -> bool:
    return draw_card(content) == draw_card(other)


def darkest(picture: Image.Image) -> int:
    return next(level for level, count in enumerate(picture.convert("L").histogram()) if count)


def code_box(content: PictureContent) -> tuple[int, int, int, int]:
    """Return where the modules of a card's code are."""
    (code,) = zxingcpp.read_barcodes(shown(content))
    first, last = code.position.top_left, code.position.bottom_right
    return first.x, first.y, last.x, last.y


@pytest.mark.long
@pytest.mark.parametrize("length", [29, 52, 60, 90, 150, 220, 300])
@pytest.mark.parametrize("with_photo", [True, False], ids=["photo", "plain"])
def test_two_decoders_read_the_code_at_half_size_and_at_320_pixels(
    length: int, *, with_photo: bool
) -> None:
    """Also as a rough JPEG, and with any other content of the card."""
    link = sample_link(length)
    content = PictureContent(
        LONG_NAME if length % 3 else "Tea",
        "1,000,000,000.00 USD",
        link,
        photo=prepared_photo() if with_photo else None,
        dark=length % 20 == 0,
        hint="Pay Mia",
        seller=SELLER if length % 4 else None,
    )
    assert not undecodable_versions(shown(content), link, IN_A_CHAT)


def test_two_decoders_read_the_code_of_a_mirrored_card() -> None:
    content = replace(PLAIN, name=ARABIC, photo=prepared_photo())
    assert not undecodable_versions(shown(content), LINK, IN_A_CHAT)


@pytest.mark.parametrize("length", [20, 400, 800])
def test_the_shortest_and_the_longest_links_are_read_too(length: int) -> None:
    content = replace(PLAIN, code=sample_link(length))
    assert not undecodable_versions(shown(content), content.code, least=1)


@pytest.mark.long
def test_a_long_link_gets_more_room_before_its_modules_get_smaller() -> None:
    for length in (52, 300, 700):
        content = replace(PLAIN, code=sample_link(length))
        left, _, right, _ = code_box(content)
        modules = len(qr.matrix(content.code))
        assert (right - left) / modules == pytest.approx(card_picture.MODULE, abs=0.2)
    content = replace(PLAIN, code=(BASE * 40)[:1500])
    assert decode(shown(content)) == {content.code}


@settings(max_examples=12)
@given(
    path=st.text("abcdefghijklmnopqrstuvwxyz0123456789/-_?=&%ABCDEF", max_size=250),
    dark=st.booleans(),
    hint=st.sampled_from([None, "Scan to pay"]),
    with_photo=st.booleans(),
)
def test_any_link_is_read(path: str, *, dark: bool, hint: str | None, with_photo: bool) -> None:
    """By one decoder at least: OpenCV's misses some sound codes."""
    code = f"https://p.example/{path}"
    picture = prepared_photo() if with_photo else None
    content = PictureContent("Tea", "$1", code, picture, hint, dark)
    assert not undecodable_versions(shown(content), code, IN_A_CHAT, least=1)


@pytest.mark.parametrize("length", [52, 300])
def test_the_code_has_four_modules_of_white_around_it(length: int) -> None:
    """On a dark card with a photo too, beside long texts."""
    content = replace(
        PLAIN,
        name=LONG_NAME,
        price="1,000,000,000.00 USD",
        code=sample_link(length),
        photo=prepared_photo(),
        dark=True,
        seller=SELLER,
    )
    left, top, right, bottom = code_box(content)
    border = qr.BORDER * card_picture.MODULE
    whole = shown(content).convert("L")
    code = whole.crop((left - border, top - border, right + border, bottom + border))
    within = ImageChops.invert(code).point(lambda level: 255 if level > 60 else 0).getbbox()
    assert within is not None
    ends = [border, border, code.width - border, code.height - border]
    assert within == pytest.approx(ends, abs=2)


@pytest.mark.parametrize("size", [(1280, 64), (64, 1280), (64, 64), (1280, 960), (960, 1280)])
def test_a_photo_of_any_shape_fills_70_percent_of_the_card(size: tuple[int, int]) -> None:
    photo = saved(Image.new("RGB", size, (250, 120, 10)))
    picture = shown(replace(PLAIN, photo=photo))
    assert picture.size == (WIDTH, HEIGHT) == (1280, 960)
    assert PHOTO / HEIGHT == 0.7
    for place in ((5, 5), (WIDTH - 5, 5), (5, PHOTO - 5)):
        red, green, blue = pixel(picture, place)
        assert red > 1.5 * green > 1.5 * blue
    assert pixel(picture, (5, PHOTO + 5)) == pytest.approx((255, 255, 255), abs=4)


def test_a_usual_code_leaves_the_photo_but_a_corner() -> None:
    left, top, _, _ = code_box(replace(PLAIN, code=sample_link(52)))
    border = qr.BORDER * card_picture.MODULE
    covered = (WIDTH - left + border) * (PHOTO - top + border)
    assert covered < 0.04 * WIDTH * PHOTO


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["Tea", LONG_NAME, ARABIC])
def test_words_keep_to_the_margins(name: str, *, dark: bool) -> None:
    """And above the lower one; the ground beyond them is plain."""
    content = replace(
        PLAIN,
        name=name,
        price="1,000,000,000.00 USD",
        photo=prepared_photo(),
        dark=dark,
        hint="Pay Mia",
        seller=SELLER,
    )
    picture = shown(content)
    if name == ARABIC:
        picture = ImageOps.mirror(picture)
    side, below = (0, PHOTO + 20, MARGIN, HEIGHT), (0, HEIGHT - MARGIN + 16, WIDTH // 2, HEIGHT)
    for box in (side, below):
        levels = picture.crop(box).convert("L").tobytes()
        assert max(levels) - min(levels) < 12


@pytest.mark.parametrize("words", ["SOLD OUT", "AUSVERKAUFT", "EXPIRED", "PAID", "完売"])
@pytest.mark.parametrize("length", [29, 55, 300, 800])
def test_nobody_can_scan_a_stamped_card(words: str, length: int) -> None:
    """The stamp lies across a faded code: no dark module is left."""
    content = replace(PLAIN, code=sample_link(length), stamp=words, dark=True, seller=SELLER)
    picture = shown(content)
    assert decode(picture) == decode(picture.resize((640, 480))) == set()
    accent = palette_of(SELLER.accent, dark=False).accent
    box = (WIDTH - MARGIN - card_picture.STAMP[0] + 8, 0, WIDTH - MARGIN - 8, HEIGHT)
    part = picture.crop(box)
    levels = ImageChops.difference(part, Image.new("RGB", part.size, accent)).convert("L")
    reach = levels.point(lambda level: 255 * (level < 12)).getbbox()
    assert reach is not None
    assert reach[2] - reach[0] >= 0.98 * part.width
    if not words.isascii():
        return
    above = picture.crop((WIDTH - 200, reach[1] - 60, WIDTH, reach[1] - 4))
    assert darkest(above) > 190


def test_a_stamp_takes_the_colours_of_the_photo() -> None:
    """Only those of the seller's accent are left."""
    content = replace(PLAIN, photo=saved(Image.new("RGB", (1280, 960), (250, 40, 10))), dark=True)
    red, green, blue = pixel(shown(replace(content, stamp="SOLD OUT")), (100, 100))
    assert max(red, green, blue) - min(red, green, blue) < 40


@pytest.mark.parametrize("dark", [False, True])
def test_a_stamp_does_not_turn_a_photo_into_its_negative(*, dark: bool) -> None:
    """What is bright in the photo stays brighter than what is not."""
    photo = Image.new("RGB", (1280, 960), (40, 60, 20))
    photo.paste((250, 240, 200), (0, 0, 640, 960))
    content = replace(PLAIN, photo=saved(photo), dark=dark, stamp="SOLD OUT")
    bright, shady = (sum(pixel(shown(content), (x, 100))) for x in (100, 1180))
    assert bright > shady + 100


def test_different_stamps_look_different() -> None:
    stamps = ["SOLD OUT", "EXPIRED", "PAID"]
    assert len({draw_card(replace(PLAIN, stamp=stamp)) for stamp in stamps}) == len(stamps)


@pytest.mark.parametrize("accent", COLOURS)
def test_each_accent_looks_different_in_light_and_dark(accent: str) -> None:
    content = replace(PLAIN, seller=replace(SELLER, accent=accent))
    for dark in (False, True):
        field = pixel(shown(replace(content, dark=dark)), (WIDTH // 2, 10))
        assert field == pytest.approx(palette_of(accent, dark=dark).field, abs=4)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["photo", "white", "noise", "plain"])
def test_a_card_is_small_enough_to_send_quickly(mode: str) -> None:
    photo = {
        "photo": prepared_photo(),
        "white": saved(Image.new("RGB", (1280, 1280), "white")),
        "noise": saved(
            Image.merge("RGB", [Image.effect_noise((1280, 960), 200) for _ in "RGB"]), quality=95
        ),
        "plain": None,
    }[mode]
    for code in (LINK, (BASE * 60)[:1500]):
        assert len(draw_card(replace(PLAIN, photo=photo, code=code))) < 300_000


def test_each_part_of_the_content_is_drawn() -> None:
    contents = [*changed_parts(PLAIN), replace(PLAIN, stamp="SOLD OUT")]
    assert len({draw_card(content) for content in contents}) == len(contents)


@pytest.mark.parametrize(
    "name", ["ᚠᚢᚦ", "ក្តៅ", "- !", "\u202e", "", UNASSIGNED, "\ud800", "\ue000 Tea"]
)
def test_a_name_that_no_font_can_draw_is_left_out(name: str) -> None:
    for content in (PLAIN, replace(PLAIN, photo=prepared_photo())):
        assert same(replace(content, name=name), replace(content, name=""))
        assert not same(replace(content, name="x"), replace(content, name=""))


@settings(max_examples=30)
@given(text=st.text(max_size=120), where=st.sampled_from(["name", "price", "stamp", "hint"]))
@example(text="x" * 4096, where="name")
@example(text="\u0301" * 4096, where="name")
@example(text="a\u0301\u0302\u0303" * 50, where="name")
def test_no_text_breaks_a_card_or_draws_a_missing_glyph(text: str, where: str) -> None:
    """Only letters of the fonts are drawn: removing the others changes nothing."""
    said = text_fitting.drawable_text(text)
    content: dict[str, Any] = {where: text}
    drawn: dict[str, Any] = {where: said or ""}
    if where == "stamp" and not said:
        drawn = content
    assert same(replace(PLAIN, **content), replace(PLAIN, **drawn))


@pytest.mark.parametrize("code", ["", "x" * 3000])
def test_a_link_that_no_code_holds_is_a_value_error(code: str) -> None:
    with pytest.raises(ValueError, match="QR code"):
        draw_card(replace(PLAIN, code=code))


def test_a_card_is_drawn_alike_twice() -> None:
    """Cached images are not drawn on."""
    one, other = (
        replace(PLAIN, photo=prepared_photo(), seller=SELLER),
        replace(PLAIN, name="W" * 90, photo=prepared_photo(), stamp="PAID", seller=SELLER),
    )
    first = draw_card(one)
    draw_card(other)
    assert draw_card(one) == first
    assert decode(opened(first)) == {LINK}
    assert sample_photo().size == (1600, 1200)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_card_of_an_ended_request_is_dark_and_has_no_hint(language: str) -> None:
    """The card of a payable request is light and has a hint in the seller's language."""
    link = PaymentLink("abcdefghij", 7, 7, "", "live", COFFEE, None, None, 3, 0)
    drawn = {}
    for status in ("active", "soldOut"):
        shown_card = Card("abcdefghij", "drop", "Tea", None, 250, "USD", 10, 7, 3, status, LINK)
        view = View(link, shown_card, Reply(""), language, OWN)
        drawn[status] = view.draw_card(None)
    content = PictureContent("Tea", format_money(250, "USD", language), LINK)
    assert drawn["active"] == draw_card(replace(content, hint=t(language, "poster-scan")))
    assert drawn["soldOut"] == draw_card(
        replace(content, stamp=t(language, "stamp-soldOut"), dark=True)
    )


@pytest.mark.parametrize(("language", "hint"), [("en", "Pay Mia"), ("de", "An Mia zahlen")])
def test_the_hint_names_the_seller(language: str, hint: str) -> None:
    link = PaymentLink("abcdefghij", 7, 7, "", "live", COFFEE, None, None, 3, 0)
    card = Card("abcdefghij", "drop", "Tea", None, 250, "USD", 10, 7, 3, "active", LINK)
    price, seller = format_money(250, "USD", language), SellerLook("Mia", "teal")
    content = PictureContent("Tea", price, LINK, hint=hint, seller=seller)
    shown = replace(card, seller=Profile(name="Mia", accent="teal"))
    drawn = View(link, shown, Reply(""), language, OWN).draw_card(None)
    assert drawn == draw_card(content)
