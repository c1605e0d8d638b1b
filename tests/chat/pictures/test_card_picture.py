"""The picture of a card: its code can be scanned and it shows exactly its content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import zxingcpp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from bot.chat.cards.request_card import Card
from bot.chat.cards.views import View
from bot.chat.messages.reply import Reply
from bot.chat.model.profile import Profile
from bot.chat.pictures import card_picture
from bot.chat.pictures.canvas import PictureContent, SellerLook
from bot.chat.pictures.card_picture import draw_card
from bot.chat.pictures.header import draw_header
from bot.chat.store.listings import Listing
from bot.chat.store.posts import OWN
from bot.core.images import qr, text_fitting
from bot.core.money.amounts import format_money
from bot.core.text.translations import t
from tests.support.chat_harness import COFFEE
from tests.support.sample_pictures import (
    BASE,
    decode,
    opened,
    prepared_photo,
    sample_link,
    sample_photo,
    saved,
    undecodable_versions,
)

LINK = sample_link(55)
PLAIN = PictureContent("Sticker pack", "$2.50", LINK)
UNASSIGNED = "\U0010fffe"


def changed(field: str, value: Any) -> PictureContent:
    return replace(PLAIN, **{field: value})


def shown(content: PictureContent) -> Image.Image:
    return opened(draw_card(content))


def same(content: PictureContent, other: PictureContent) -> bool:
    return draw_card(content) == draw_card(other)


def darkest(picture: Image.Image) -> int:
    return next(level for level, count in enumerate(picture.convert("L").histogram()) if count)


@pytest.mark.parametrize("length", [29, 55, 90, 150, 220, 300])
@pytest.mark.parametrize("with_photo", [True, False], ids=["photo", "plain"])
def test_the_code_is_read_as_sent_at_half_size_and_as_a_rough_jpeg(
    length: int, *, with_photo: bool
) -> None:
    """And both at once, with any other content of the card."""
    content = PictureContent(
        "Sticker pack",
        "1,000,000,000.00 USD",
        sample_link(length),
        photo=prepared_photo() if with_photo else None,
        dark=length % 20 == 0,
        hint="Scan to pay" if length % 3 == 0 else None,
    )
    assert not undecodable_versions(shown(content), sample_link(length))


def test_the_code_of_a_usual_link_fills_its_white_panel() -> None:
    """With its border it has at least nine tenths of the panel's width."""
    (code,) = zxingcpp.read_barcodes(shown(PLAIN))
    across = code.position.top_right.x - code.position.top_left.x
    modules = qr.module_image(LINK).width
    whole = across * modules / (modules - 2 * qr.BORDER)
    assert whole >= 0.9 * (card_picture.WIDTH - 2 * card_picture.MARGIN)


@pytest.mark.parametrize("length", [20, 400, 800])
def test_the_shortest_and_the_longest_links_are_read_too(length: int) -> None:
    assert not undecodable_versions(
        shown(replace(PLAIN, code=sample_link(length))), sample_link(length)
    )


def test_a_long_link_gets_more_room_before_its_modules_get_too_small() -> None:
    long, usual = (shown(replace(PLAIN, code=(BASE * 40)[:length])) for length in (1000, 300))
    assert long.height > usual.height + 25
    assert decode(long) == {(BASE * 40)[:1000]}


@settings(max_examples=12)
@given(
    path=st.text("abcdefghijklmnopqrstuvwxyz0123456789/-_?=&%ABCDEF", max_size=250),
    dark=st.booleans(),
    hint=st.sampled_from([None, "Scan to pay"]),
    with_photo=st.booleans(),
)
def test_any_link_is_read(path: str, *, dark: bool, hint: str | None, with_photo: bool) -> None:
    code = f"https://p.example/{path}"
    picture = prepared_photo() if with_photo else None
    assert not undecodable_versions(
        shown(PictureContent("Tea", "$1", code, picture, hint, dark)), code
    )


def test_the_code_has_four_modules_of_white_around_it() -> None:
    """On a dark card with a photo too, between the texts above and below."""
    picture = shown(replace(PLAIN, photo=prepared_photo(), dark=True, hint="Scan to pay")).convert(
        "L"
    )
    modules = qr.module_image(LINK).width
    module = card_picture.CODE // modules
    side, top = modules * module, card_picture.HEADER + card_picture.MARGIN + card_picture.PADDING
    left = (card_picture.WIDTH - side) // 2
    code = picture.crop((left, top, left + side, top + side))
    within = ImageChops.invert(code).point(lambda level: 255 if level > 60 else 0).getbbox()
    assert within is not None
    ends = [4 * module, 4 * module, side - 4 * module, side - 4 * module]
    assert within == pytest.approx(ends, abs=1)


@pytest.mark.parametrize("words", ["SOLD OUT", "AUSVERKAUFT", "EXPIRED", "完売"])
def test_a_stamp_lies_across_a_faded_code(words: str) -> None:
    """It is red from side to side of the code, and no dark module is left."""
    plain, stamped = shown(PLAIN), shown(replace(PLAIN, stamp=words))
    assert plain.size == stamped.size
    box = (90, card_picture.HEADER + card_picture.MARGIN + 12, 710, plain.height - 55)
    code = stamped.crop(box)
    _, green, _ = code.split()
    red = ImageChops.subtract(code.getchannel("R"), green).point(lambda level: 255 * (level > 120))
    reach = red.getbbox()
    assert reach is not None
    assert reach[2] - reach[0] > 0.9 * code.width
    assert darkest(code.getchannel("R")) > 100
    assert darkest(plain.crop(box)) < 20


def test_different_stamps_look_different() -> None:
    """A text that can't be drawn becomes a bar."""
    stamps = ["SOLD OUT", "EXPIRED", "完売"]
    assert len({draw_card(replace(PLAIN, stamp=stamp)) for stamp in stamps}) == len(stamps)


def test_light_and_dark_cards_both_have_the_code_on_white() -> None:
    for dark, ground in ((False, (0xEE, 0xF1, 0xF6)), (True, (0x12, 0x15, 0x1C))):
        picture = shown(replace(PLAIN, dark=dark))
        corner, paper = picture.getpixel((5, 800)), picture.getpixel((60, 800))
        assert corner == pytest.approx(ground, abs=4)
        assert paper == pytest.approx((255, 255, 255), abs=4)


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


def contrasts(picture: Image.Image) -> list[float]:
    """Compute the contrast of white letters on each pixel by WCAG 2.2, the lowest first."""
    parts = np.asarray(picture.convert("RGB")) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return sorted((1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05)).ravel().tolist())


@pytest.mark.parametrize("colour", ["white", "lime", "yellow", "cyan", "#ffb080", "#8080ff", None])
def test_name_and_price_can_be_read_on_a_photo_of_any_colour(colour: str | None) -> None:
    """The contrast is at least 4.5, except for one pixel in fifty."""
    photo = saved(Image.new("RGB", (1280, 960), colour)) if colour else prepared_photo()
    ground = draw_header(photo, (card_picture.WIDTH, card_picture.HEADER), (300, 250), dark=False)
    behind = contrasts(ground.crop((0, 250, 300, card_picture.HEADER)))
    assert behind[len(behind) // 50] >= 4.5


def test_a_photo_is_darkened_only_behind_the_text() -> None:
    """A white photo stays white above and beside the text, a dark one stays as it is."""
    white = shown(replace(PLAIN, photo=saved(Image.new("RGB", (1280, 960), "white"))))
    for box in ((0, 0, 800, 100), (640, 0, 800, card_picture.HEADER - 8)):
        assert 255 - darkest(ImageChops.invert(white.crop(box))) == 255
        assert darkest(white.crop(box)) >= 250
    dark = Image.new("RGB", (1280, 960), (70, 60, 50))
    ground = draw_header(
        saved(dark), (card_picture.WIDTH, card_picture.HEADER), (300, 250), dark=False
    )
    assert darkest(ground.convert("RGB")) >= 58


def test_text_is_white_on_a_dark_enough_photo() -> None:
    """Behind white letters a white photo is dark enough for a contrast of 4.5."""
    content = replace(PLAIN, photo=saved(Image.new("RGB", (1280, 960), "white")))
    behind = shown(content).crop((0, card_picture.HEADER - 190, 30, card_picture.HEADER - 8))
    assert 255 - darkest(ImageChops.invert(behind)) <= 118


@pytest.mark.parametrize("size", [(1280, 64), (64, 1280), (64, 64), (1280, 960), (960, 1280)])
def test_a_photo_of_any_shape_fills_the_header(size: tuple[int, int]) -> None:
    picture = shown(replace(PLAIN, photo=saved(Image.new("RGB", size, (250, 120, 10)))))
    assert picture.getpixel((5, 5)) == pytest.approx((250, 120, 10), abs=8)
    assert picture.getpixel((795, 5)) == pytest.approx((250, 120, 10), abs=8)


def test_each_part_of_the_content_is_drawn() -> None:
    contents = [
        PLAIN,
        *(
            changed(field, value)
            for field, value in (
                ("name", "Tea"), ("price", "$3"), ("code", sample_link(60)),
                ("photo", prepared_photo()),
                ("stamp", "SOLD OUT"), ("dark", True), ("hint", "Scan to pay"),
            )
        ),
    ]  # fmt: skip
    assert len({draw_card(content) for content in contents}) == len(contents)


@pytest.mark.parametrize(
    "name", ["コーヒー", "קפה", "قهوة", "कॉफ़ी", "☕☕", "\u202e", "", UNASSIGNED, "\ud800"]
)
def test_a_name_that_the_font_cannot_draw_is_left_out(name: str) -> None:
    assert same(replace(PLAIN, name=name), replace(PLAIN, name=""))
    assert not same(replace(PLAIN, name="x"), replace(PLAIN, name=""))


@pytest.mark.parametrize(
    "name",
    ["Sticker pack ☕", "🎉Sticker 👩🏽‍🚀 pack🇩🇪", "Sticker\u200b pack", "\u202eSticker\npack ✔️"],
)
def test_emoji_are_dropped_from_a_name_and_the_rest_stays(name: str) -> None:
    assert same(replace(PLAIN, name=name), PLAIN)


@settings(max_examples=30)
@given(text=st.text(max_size=120), where=st.sampled_from(["name", "price", "stamp", "hint"]))
@example(text="x" * 4096, where="name")
@example(text="\u0301" * 4096, where="name")
@example(text="a\u0301\u0302\u0303" * 50, where="name")
def test_no_text_breaks_a_card_or_draws_a_missing_glyph(text: str, where: str) -> None:
    """Only letters of the font are drawn: removing the others changes nothing."""
    said = text_fitting.drawable_text(text)
    assert said is None or text_fitting.can_draw(said)
    assert same(changed(where, text), changed(where, said or ""))


@pytest.mark.parametrize("code", ["", "x" * 3000])
def test_a_link_that_no_code_holds_is_a_value_error(code: str) -> None:
    with pytest.raises(ValueError, match="QR code"):
        draw_card(replace(PLAIN, code=code))


def test_a_card_is_drawn_alike_twice() -> None:
    """Cached images are not drawn on."""
    one, other = (
        replace(PLAIN, photo=prepared_photo()),
        replace(PLAIN, name="W" * 90, photo=prepared_photo()),
    )
    first = draw_card(one)
    draw_card(other)
    draw_card(replace(PLAIN, name="W" * 90))
    assert draw_card(one) == first
    assert decode(opened(first)) == {LINK}
    assert sample_photo().size == (1600, 1200)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_card_of_an_ended_request_is_dark_and_has_no_hint(language: str) -> None:
    """The card of a payable request is light and has a hint in the seller's language."""
    listing = Listing("abcdefghij", 7, 7, "", "live", COFFEE, None, None, 3, 0)
    drawn = {}
    for status in ("active", "soldOut"):
        shown_card = Card("abcdefghij", "drop", "Tea", None, 250, "USD", 10, 7, 3, status, LINK)
        view = View(listing, shown_card, Reply(""), language, OWN)
        drawn[status] = view.draw_card(None)
    content = PictureContent("Tea", format_money(250, "USD", language), LINK)
    assert drawn["active"] == draw_card(replace(content, hint=t(language, "poster-scan")))
    assert drawn["soldOut"] == draw_card(
        replace(content, stamp=t(language, "stamp-soldOut"), dark=True)
    )


@pytest.mark.parametrize(("language", "hint"), [("en", "Pay Mia"), ("de", "An Mia zahlen")])
def test_the_hint_names_the_seller(language: str, hint: str) -> None:
    listing = Listing("abcdefghij", 7, 7, "", "live", COFFEE, None, None, 3, 0)
    card = Card("abcdefghij", "drop", "Tea", None, 250, "USD", 10, 7, 3, "active", LINK)
    price, seller = format_money(250, "USD", language), SellerLook("Mia", "teal")
    content = PictureContent("Tea", price, LINK, hint=hint, seller=seller)
    shown = replace(card, seller=Profile(name="Mia", accent="teal"))
    drawn = View(listing, shown, Reply(""), language, OWN).draw_card(None)
    assert drawn == draw_card(content)
