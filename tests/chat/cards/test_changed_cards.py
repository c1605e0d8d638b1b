"""An open menu is brought up to date with its card, and stays open."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from PIL import Image

from bot.chat.cards.menus import open_menu
from bot.chat.cards.views import view_of
from bot.chat.model.payloads import replacement
from bot.chat.model.replies import Reply
from bot.chat.store import link_rows, seller_rows
from bot.chat.store.link_rows import DELETED, PaymentLink
from bot.chat.store.post_rows import OWN
from bot.core.database.database import Transaction
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import DROP, URL, ChatHarness, get_link, service_answer
from tests.support.sellers_and_payers import decoded
from tests.support.shared_cards import SharedCards

FIVE = service_answer(total_units=5, remaining_units=5)


@pytest.fixture
def drop(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, DROP, FIVE)


async def press(
    cards: SharedCards, link: PaymentLink, message: Message, menu: str | None = None
) -> None:
    """Reply to a press on a card's button: with a menu, or with the card (None)."""

    def reply(tx: Transaction) -> Reply:
        view = view_of(tx, get_link(tx, link.id), OWN, cards.chat.clock())
        return open_menu(view.card, menu, "en") if menu else view.reply

    body = replacement(cards.chat.db.run(reply), "en", message.id, is_picture=True)
    cards.put_body(message.chat, body)
    await cards.work()


@pytest.mark.parametrize("menu", ["more", "edit"])
async def test_an_open_menu_shows_the_units_left_and_stays_open(
    cards: SharedCards, drop: PaymentLink, menu: str
) -> None:
    card = await cards.card(drop)
    await press(cards, drop, card, menu)
    buttons = card.buttons
    assert "5 of 5 left" in card.text
    await cards.pay(drop)
    await cards.work_later()
    assert ("4 of 5 left" in card.text, card.buttons) == (True, buttons)
    await press(cards, drop, card)
    assert ("4 of 5 left" in card.text, card.buttons == buttons) == (True, False)
    await cards.pay(drop)
    await cards.work_later()
    assert ("3 of 5 left" in card.text, card.buttons == buttons) == (True, False)


async def test_an_open_menu_is_no_obstacle_to_sold_out_or_deleted(
    cards: SharedCards, drop: PaymentLink
) -> None:
    """The picture changes too, for shared cards show it as well; a deleted card has no menu."""
    card = await cards.card(drop)
    before = card.photo
    await press(cards, drop, card, "more")
    await cards.pay(drop, 5)
    await cards.work_later()
    assert ("SOLD OUT: all 5 sold" in card.text, card.photo == before) == (True, False)
    cards.state(drop, link_rows.DELETED)
    await cards.work_later()
    assert (card.buttons, cards.posts()) == ([], [])


async def test_the_delete_question_counts_the_payments_made_meanwhile(
    cards: SharedCards, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    await press(cards, drop, card, "delete")
    await cards.pay(drop, 2)
    await cards.work_later()
    assert "The 2 payments already made" in card.text


# A deleted request is shown as deleted in every post, in text and on the picture.


def answers(cards: SharedCards, card: Message, reply: Reply) -> None:
    """Queue the reply to a press on a card's button, in its place."""
    cards.put_body(card.chat, replacement(reply, "en", card.id, is_picture=True))


def gone_and_stamped(cards: SharedCards, own: Message, *shared: Message) -> None:
    """Check that each post shows the deletion in text and picture, and none is refreshed."""
    assert own.text == "Stickers has been deleted. Its link no longer works."
    assert {message.text for message in shared} <= {"Stickers is no longer available."}
    assert {message.photo for message in shared} <= {own.photo}
    assert not any(message.buttons for message in (own, *shared))
    with pytest.raises(ValueError, match="unpack"):
        decoded(cards.chat.world, own)
    assert (cards.posts(), cards.waiting) == ([], [])


async def test_a_deleted_request_is_stamped_wherever_it_is_shown(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    """Nobody shall scan a code that leads nowhere."""
    card, second = await cards.card(drop), await cards.card(drop)
    chats = [sam.dialog(chat.add_person(name)) for name in ("Pat", "Kim")]
    posted = [await cards.share(sam, group) for group in chats]
    await cards.work()
    assert decoded(chat.world, posted[0]) == URL
    cards.state(drop, DELETED)
    for _ in range(3):
        await cards.work_later(3)
    gone_and_stamped(cards, card, *posted)
    assert second.photo == card.photo


async def test_a_shared_card_posted_before_the_deletion_is_stamped_too(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    """The question replaces the seller's card: no stamped picture exists until it is answered."""
    card = await cards.card(drop)
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    await cards.work()
    answers(cards, card, Reply("Delete it?"))
    await cards.work()
    cards.state(drop, DELETED)
    await cards.work_later(3)
    assert (posted.text, card.text) == ("Stickers is no longer available.", "Delete it?")
    answers(cards, card, Reply("gone", picture=drop.id))
    await cards.work_later(3)
    gone_and_stamped(cards, card, posted)


async def test_a_deleted_request_is_stamped_although_its_photo_is_swept(
    cards: SharedCards, chat: ChatHarness, sam: Person
) -> None:
    """The card is drawn without the photo."""
    out = io.BytesIO()
    Image.new("RGB", (64, 48), (200, 30, 30)).save(out, "JPEG")
    image = chat.db.run(lambda tx: seller_rows.add_image(tx, sam.id, out.getvalue(), chat.clock()))
    link = chat.add_link(sam, replace(DROP, image=image), FIVE)
    card = await cards.card(link)
    chat.db.run(lambda tx: seller_rows.delete_unused(tx, [image]))
    assert chat.rows("images") == []
    cards.state(link, DELETED)
    await cards.work_later()
    gone_and_stamped(cards, card)
