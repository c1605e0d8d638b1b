"""Who sells, on the cards that others see, in inline results and in pictures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.chat.cards.card_text import inline_article, public_card, seller_card, visitor_card
from bot.chat.cards.request_card import Card
from bot.chat.cards.views import View, view_of
from bot.chat.model.drafts import Profile
from bot.chat.model.replies import CAPTION_LIMIT, shown_units
from bot.chat.store import seller_rows
from bot.chat.store.post_rows import OWN, SHARED
from bot.core.brand import COLOURS
from bot.core.text.translations import languages
from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.telegram_limits import check

URL = "https://pay.example.com/pay/0123456789abcdef01234567"
ANNA = Profile("Anna & Co", accent="green")
DROP = Card(
    "abcdefghij", "drop", "Stickers", None, 250, "USD", 10, 7, 3, "active", URL, seller=ANNA
)
GIFT = replace(DROP, kind="donation", total_units=None, remaining_units=None)


def test_others_read_who_sells_and_the_seller_does_not() -> None:
    for reply in (public_card(DROP, "en"), visitor_card(DROP, "en")):
        assert "\nSold by Anna & Co\n" in check(reply)
    assert "Anna" not in check(seller_card(DROP, "en"))
    assert "Sold by" not in check(public_card(replace(DROP, seller=Profile(about="Bread")), "en"))


def test_a_donation_is_for_somebody_and_not_sold() -> None:
    assert "\nFor Anna & Co\n" in check(public_card(GIFT, "en"))
    assert "\nFür Anna & Co\n" in check(public_card(GIFT, "de"))


def test_an_inline_result_names_the_seller() -> None:
    article = inline_article(DROP, "en")
    assert article.description == "$2.50 · 7 of 10 left · Sold by Anna & Co"
    assert "Sold by Anna &amp; Co" in article.text


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("kind", ["drop", "donation", "oneoff"])
def test_the_longest_names_and_links_fit_into_a_caption(kind: str, language: str) -> None:
    longest = replace(
        DROP, kind=kind, name="🌊" * 100, url=f"https://{'a' * 480}.example", currency="BTC",
        description="x" * 500, seller=Profile("🌊" * 100), ends_at=4_000_000_000_000,
        status="active", amount=10**17,
    )  # fmt: skip
    text = public_card(longest, language).text
    assert shown_units(text) <= CAPTION_LIMIT


def draw(chat: ChatHarness, own: int = OWN) -> View:
    (row,) = chat.rows("listings")
    link = chat.link(row["id"])
    return chat.db.run(lambda tx: view_of(tx, link, own, chat.clock()))


async def test_a_change_of_the_profile_changes_the_key_of_pictures_and_of_shared_texts(
    chat: ChatHarness,
) -> None:
    anna = chat.add_person("Anna")
    chat.add_link(anna, STICKERS, service_answer())
    image = chat.db.run(lambda tx: seller_rows.add_image(tx, anna.id, b"", chat.clock()))
    pictures, texts = [draw(chat).seen.picture], [draw(chat, SHARED).seen.words]
    changes = [Profile(about="Bread"), Profile("Anna"), Profile("Anna", image), Profile("Mia")]
    for changed in (*changes, *(Profile("Mia", accent=accent) for accent in COLOURS)):
        chat.db.run(partial(seller_rows.save_profile, seller_id=anna.id, profile=changed))
        pictures.append(draw(chat).seen.picture)
        texts.append(draw(chat, SHARED).seen.words)
    assert pictures[0] == pictures[1]  # payers don't see a profile without a name
    assert len({*pictures}) == len(pictures) - 1
    assert len({*texts}) == 3
