"""Cards are built when they are sent, kept up to date, and edited only for a change."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from PIL import Image

from bot.chat.cards.message_calls import (
    PICTURE_ATTEMPTS,
    PICTURE_WAIT,
    Call,
    MessageCalls,
    SentMessage,
)
from bot.chat.cards.views import view_of
from bot.chat.model.payloads import CardMessage, PosterFile, replacement
from bot.chat.model.replies import Reply
from bot.chat.store import link_rows, post_rows, seller_rows
from bot.chat.store.link_rows import STOPPED, PaymentLink
from bot.chat.store.post_rows import LIVE_CARDS, OWN
from bot.core.database.database import Database
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import (
    COFFEE,
    DROP,
    STICKERS,
    URL,
    ChatHarness,
    get_link,
    limited_chat,
    service_answer,
)
from tests.support.sellers_and_payers import decoded
from tests.support.service_harness import Clock
from tests.support.shared_cards import SharedCards, open_shared_cards

FIVE = service_answer(total_units=5, remaining_units=5)


@pytest.fixture
def drop(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, DROP, FIVE)


def methods(chat: ChatHarness) -> list[str]:
    """Return the calls that edited or sent a message, in order."""
    told = ("send", "editMessage")
    return [call.method for call in chat.world.calls if call.method.startswith(told)]


def press(
    cards: SharedCards, link: PaymentLink, message: Message, reply: Reply | None = None
) -> None:
    """Queue the reply to a press on a card's button, in its place."""
    chat, card = cards.chat, reply
    if card is None:
        card = chat.db.run(lambda tx: view_of(tx, get_link(tx, link.id), OWN, chat.clock()).reply)
    cards.put_body(message.chat, replacement(card, "en", message.id, is_picture=True))


async def test_a_card_is_a_picture_and_recorded_as_a_post(
    cards: SharedCards, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    assert decoded(cards.chat.world, card) == URL
    assert card.text.splitlines()[:4] == ["Stickers", "A pack", "", "Limited drop · $2.50"]
    (post,) = cards.posts()
    assert (post["lane"], post["message_id"], post["own"]) == (str(drop.chat_id), card.id, OWN)
    lent = cards.chat.db.run(lambda tx: post_rows.card_picture(tx, drop.id))
    assert lent == (card.photo, post["picture"])


async def test_a_burst_of_payments_is_one_edit_with_units_left_and_revenue(
    cards: SharedCards, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    await cards.pay(drop, 3)
    assert len(cards.chat.refreshes) == 1
    await cards.work_later(1)
    assert "🟢 2 of 5 left\n3 payments · $7.50\n" in card.text
    assert [name for name in methods(cards.chat) if "edit" in name] == ["editMessageCaption"]


async def test_a_refresh_waits_a_moment_for_further_changes(
    cards: SharedCards, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    await cards.pay(drop)
    await cards.work_later(0.9)
    assert "5 of 5 left" in card.text
    await cards.work_later(0.1)
    assert "4 of 5 left" in card.text


async def test_a_card_is_refreshed_when_its_chat_is_no_longer_blocked(
    cards: SharedCards, drop: PaymentLink, sam: Person
) -> None:
    """Its refresh is kept until the seller unblocks the bot."""
    card = await cards.card(drop)
    sam.block()
    cards.state(drop, STOPPED)
    await cards.work_later(1)
    await cards.work_later(1)
    assert (len(cards.chat.world.refused), "Paused" in card.text) == (2, False)
    cards.chat.world.refused.clear()
    sam.unblock()
    await cards.chat.says(sam, "/privacy")
    await cards.work()
    assert "Paused" in card.text


async def test_an_edit_without_a_change_is_not_sent(cards: SharedCards, drop: PaymentLink) -> None:
    """Telegram refuses such edits: no refresh and no press causes one."""
    card = await cards.card(drop)
    cards.change(drop, lambda _tx: None)
    press(cards, drop, card)
    press(cards, drop, card)
    await cards.work_later()
    assert (cards.edits(), cards.waiting) == (0, [])


async def test_a_sold_out_card_gets_a_stamped_picture(
    cards: SharedCards, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    before = card.photo
    await cards.pay(drop, 5)
    await cards.work_later()
    assert "SOLD OUT: all 5 sold" in card.text
    assert card.photo != before
    assert "editMessageMedia" in methods(cards.chat)


@pytest.mark.parametrize("state", [STOPPED, link_rows.LIVE])
async def test_a_resumed_card_gets_its_earlier_picture_again(
    cards: SharedCards, drop: PaymentLink, state: str
) -> None:
    card = await cards.card(drop)
    before = card.photo
    for step in (STOPPED, state):
        cards.state(drop, step)
        await cards.work_later()
    assert card.photo != before
    assert ("Paused" in card.text) == (state == STOPPED)


async def test_other_words_in_place_of_a_card_are_not_replaced_by_a_refresh(
    cards: SharedCards, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    press(cards, drop, card, Reply("the poster's designs"))
    await cards.work()
    await cards.pay(drop)
    await cards.work_later()
    assert card.text == "the poster's designs"
    press(cards, drop, card)
    await cards.work()
    assert "4 of 5 left" in card.text
    await cards.pay(drop)
    await cards.work_later()
    assert "3 of 5 left" in card.text
    assert "editMessageMedia" not in methods(cards.chat)


async def test_the_newest_cards_are_refreshed_and_a_press_makes_one_the_newest(
    cards: SharedCards, drop: PaymentLink
) -> None:
    shown = []
    for _ in range(LIVE_CARDS + 1):
        shown.append(await cards.card(drop))
        cards.chat.clock.advance(1)
    await cards.pay(drop)
    await cards.work_later()
    assert ["4 of 5" in card.text for card in shown] == [False, True, True, True]
    press(cards, drop, shown[0])
    await cards.work_later()
    await cards.pay(drop)
    await cards.work_later()
    assert ["3 of 5" in card.text for card in shown] == [True, False, True, True]
    uploads = [name for name in methods(cards.chat) if name == "editMessageMedia"]
    assert uploads == []


async def test_an_unrecorded_card_is_refreshed_by_a_press(
    cards: SharedCards, drop: PaymentLink
) -> None:
    """Its content is unknown, so picture and text are sent."""
    card = await cards.card(drop)
    cards.chat.db.run(lambda tx: tx.execute("DELETE FROM posts"))
    await cards.pay(drop)
    press(cards, drop, card)
    await cards.work()
    assert "4 of 5 left" in card.text
    assert len(cards.posts()) == 1


async def test_a_card_that_changed_while_it_was_sent_is_refreshed(
    cards: SharedCards, drop: PaymentLink
) -> None:
    chat = cards.chat
    showing = MessageCalls(chat.db, chat.queues, chat.clock)
    view = chat.db.run(lambda tx: view_of(tx, get_link(tx, drop.id), OWN, chat.clock()))
    body = CardMessage(drop.id, "en")
    call = await showing.build(body, str(drop.chat_id), 1)
    assert isinstance(call, Call)
    assert call.args["caption"] == view.reply.text
    await cards.pay(drop)
    assert chat.refreshes == []
    chat.db.run(lambda tx: showing.record(tx, call, str(drop.chat_id), SentMessage(7, "file")))
    assert len(chat.refreshes) == 1


async def test_the_sellers_picture_is_drawn_beside_the_code(
    cards: SharedCards, chat: ChatHarness, sam: Person
) -> None:
    out = io.BytesIO()
    Image.new("RGB", (640, 480), (200, 30, 30)).save(out, "JPEG")
    data = out.getvalue()
    image = chat.db.run(lambda tx: seller_rows.add_image(tx, sam.id, data, chat.clock()))
    plain = await cards.card(chat.add_link(sam, COFFEE, service_answer()))
    pictured = await cards.card(
        chat.add_link(sam, replace(COFFEE, image=image), service_answer(id="b" * 24))
    )
    assert decoded(chat.world, pictured) == decoded(chat.world, plain) == URL
    sizes = [len(chat.world.files.get(card.photo or "").data) for card in (plain, pictured)]  # type: ignore[union-attr]  # both are kept
    assert sizes[0] != sizes[1]


async def test_an_unknown_file_id_is_forgotten_and_the_picture_uploaded(
    cards: SharedCards, drop: PaymentLink
) -> None:
    """As after a change of the bot's token: each bot has its own file_ids."""
    first = await cards.card(drop)
    lent = cards.chat.db.run(lambda tx: post_rows.card_picture(tx, drop.id))
    assert lent
    cards.chat.db.run(lambda tx: post_rows.save_card_picture(tx, drop.id, "another bot's", lent[1]))
    second = await cards.card(drop)
    assert decoded(cards.chat.world, second) == URL
    assert first.id != second.id
    assert [call.reason for call in cards.chat.world.refused] != []
    cards.chat.world.refused.clear()


async def test_a_second_card_of_a_request_is_sent_without_an_upload(
    cards: SharedCards, drop: PaymentLink
) -> None:
    first, second = await cards.card(drop), await cards.card(drop)
    assert (first.photo, first.id == second.id) == (second.photo, False)


async def test_a_deleted_card_is_forgotten(
    cards: SharedCards, sam: Person, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    cards.chat.world.remove(card)
    await cards.pay(drop)
    await cards.work_later()
    assert (cards.posts(), len(cards.chat.world.refused)) == ([], 1)
    cards.chat.world.refused.clear()
    await cards.pay(drop)
    await cards.work_later()
    assert sam.chat.from_bot()[-1].text.startswith("💰")


async def test_a_shared_request_becomes_a_card_with_its_picture_and_a_pay_button(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    assert posted.photo is None
    await cards.work()
    assert posted.photo == card.photo
    assert posted.text.splitlines()[3:5] == ["Limited drop · $2.50", "5 of 5 left"]
    assert [button["text"] for button in posted.buttons] == ["Pay $2.50"]


async def test_a_shared_card_shows_units_sold_and_loses_its_button_at_the_end(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    await cards.work()
    await cards.pay(drop, 2)
    for _ in range(2):
        await cards.work_later(3)
    assert "3 of 5 left" in posted.text
    assert "Taken" not in posted.text
    await cards.pay(drop, 3)
    for _ in range(3):
        await cards.work_later(3)
    assert "SOLD OUT" in posted.text
    assert posted.buttons == []
    assert posted.photo == card.photo


async def test_only_the_text_of_a_shared_card_changes_without_an_uploaded_picture(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    card = await cards.card(drop)
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    await cards.work()
    before = posted.photo
    chat.world.remove(card)
    await cards.pay(drop, 5)
    for _ in range(PICTURE_ATTEMPTS + 2):
        await cards.work_later(PICTURE_WAIT / 1000)
    assert "SOLD OUT" in posted.text
    assert posted.photo == before
    assert [call.reason for call in chat.world.refused] == [
        "Bad Request: message to edit not found"
    ]
    chat.world.refused.clear()


async def test_a_request_without_an_uploaded_picture_is_shared_as_text(
    cards: SharedCards, chat: ChatHarness, sam: Person, drop: PaymentLink
) -> None:
    """No card with a picture is known. Its refreshes continue all the same."""
    posted = await cards.share(sam, sam.dialog(chat.add_person("Pat")))
    await cards.work_later()
    assert cards.edits() == 0
    await cards.pay(drop)
    await cards.work_later()
    assert "4 of 5 left" in posted.text
    await cards.card(drop)
    await cards.work_later()
    assert posted.photo


@pytest.mark.long
async def test_a_drop_in_five_chats_is_sold_out_in_all_after_few_edits(
    db: Database, clock: Clock
) -> None:
    """Two hundred payments within a minute, at Telegram's limits: no call is refused."""
    chat = limited_chat(db, clock)
    sam = chat.add_person("Sam")
    spec = replace(STICKERS, units=200)
    link = chat.add_link(sam, spec, service_answer(total_units=200, remaining_units=200))
    async with open_shared_cards(chat) as cards:
        card = await cards.card(link)
        chats = [sam.dialog(chat.add_person(f"P{number}")) for number in range(4)]
        chats.append(sam.new_group("Market", chat.add_person("Pat")))
        posted = [await cards.share(sam, group) for group in chats]
        for _ in range(50):
            await cards.pay(link, 4)
            chat.clock.advance(1)
            await cards.work()
        for _ in range(60):
            await cards.work_later(1)
        assert ["SOLD OUT" in message.text for message in (card, *posted)] == [True] * 6
        assert {message.photo for message in posted} == {card.photo}
        assert [message.buttons for message in posted] == [[]] * 5
        per_post = 20 + 4  # a minute's worth at a group's pace, and what a rest saves up
        assert cards.edits() <= 50 + 5 * per_post
        assert cards.waiting == []


async def test_posters_are_drawn_and_sent_as_documents(
    cards: SharedCards, sam: Person, drop: PaymentLink
) -> None:
    for name in ("print-light.png", "print-dark.pdf", "square-dark.png"):
        cards.put_body(sam.chat, PosterFile(drop.id, "en", name, f"x-{name}"))
    await cards.work()
    names = [message.content["document"]["file_name"] for message in sam.chat.from_bot()]
    assert names == ["x-print-light.png", "x-print-dark.pdf", "x-square-dark.png"]
