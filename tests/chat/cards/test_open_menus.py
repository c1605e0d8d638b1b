"""An open menu is brought up to date with its card, and stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.cards.menus import open_menu
from bot.chat.cards.views import view_of
from bot.chat.model.payloads import replacement
from bot.chat.model.replies import Reply
from bot.chat.store import link_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.post_rows import OWN
from bot.core.database.database import Transaction
from tests.support.chat_harness import DROP, ChatHarness, get_link, service_answer
from tests.support.shared_cards import SharedCards

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.people import Person


@pytest.fixture
def drop(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, DROP, service_answer(total_units=5, remaining_units=5))


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
