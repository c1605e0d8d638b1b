"""A deleted request is shown as deleted in every post, in text and on the picture."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from bot.chat.model.payloads import replacement
from bot.chat.model.replies import Reply
from bot.chat.store import seller_rows
from bot.chat.store.link_rows import DELETED, PaymentLink
from tests.support.chat_harness import DROP, URL, ChatHarness, service_answer
from tests.support.sellers_and_payers import decoded
from tests.support.shared_cards import SharedCards

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.people import Person


FIVE = service_answer(total_units=5, remaining_units=5)


@pytest.fixture
def drop(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, DROP, FIVE)


def answers(cards: SharedCards, card: Message, reply: Reply) -> None:
    """Queue the reply to a press on a card's button, in its place."""
    cards.put_body(card.chat, replacement(reply, "en", card.id, is_picture=True))


def gone_and_stamped(cards: SharedCards, own: Message, *shared: Message) -> None:
    """Check that each post shows the deletion in text and picture, and none is refreshed."""
    assert own.text == "Stickers has been deleted. Its link no longer works."
    assert {message.text for message in shared} <= {"Stickers is no longer available."}
    assert {message.photo for message in shared} <= {own.photo}
    with pytest.raises(ValueError, match="unpack"):
        decoded(cards.chat.world, own)
    assert (cards.posts(), cards.waiting) == ([], [])


async def test_a_shared_card_of_a_deleted_request_shows_it_and_is_no_longer_refreshed(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    await cards.work()
    cards.state(drop, DELETED)
    await cards.work_later()
    assert posted.text == "Stickers is no longer available."
    assert card.text == "Stickers has been deleted. Its link no longer works."
    assert (posted.buttons, card.buttons, cards.posts()) == ([], [], [])


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
