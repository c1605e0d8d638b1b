"""Pictures that Telegram refuses: their cards go out as texts at once, the picture comes later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards.schedule import LONGEST_WAIT, Schedule
from bot.chat.model.payloads import CardMessage, PosterFile
from bot.chat.store import post_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.post_rows import PICTURE_RETRIES
from bot.chat.telegram.transport import LONGEST_DELAY
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import t
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, URL, ChatHarness, service_answer, telegram_of
from tests.support.shared_cards import SharedCards

REFUSALS = [
    (400, "Bad Request: IMAGE_PROCESS_FAILED"),
    (400, "Bad Request: PHOTO_INVALID_DIMENSIONS"),
    (400, "Bad Request: PHOTO_EXT_INVALID"),
    (400, "Bad Request: PHOTO_SAVE_FILE_INVALID"),
    (400, "Bad Request: wrong file identifier/HTTP URL specified"),
    (400, "Bad Request: failed to get HTTP URL content"),
    (400, "Bad Request: wrong type of the web page content"),
    (400, "Bad Request: MEDIA_EMPTY"),
    (400, "Bad Request: not enough rights to send photos to the chat"),
    (400, "Bad Request: CHAT_SEND_PHOTOS_FORBIDDEN"),
    (403, "Forbidden: CHAT_SEND_MEDIA_FORBIDDEN"),
    (400, "Bad Request: SOMETHING_NEW_ABOUT_IT"),
    (413, "Request Entity Too Large"),
]
BIG = 1000


@pytest.fixture
async def sending(chat: ChatHarness) -> AsyncIterator[SharedCards]:
    chat.world.inline_feedback = True
    async with telegram_of(chat.world) as bot:
        yield SharedCards(chat, bot)


@pytest.fixture
def link(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, COFFEE, service_answer())


def refuse(sending: SharedCards, times: int = BIG, **given: Any) -> None:
    sending.chat.world.faults.add(Fault("picture", times=times, **given))


def calls(sending: SharedCards, method: str) -> int:
    return len(sending.chat.world.calls_of(method))


def refusals(sending: SharedCards) -> int:
    return len(sending.chat.world.refused)


async def later(sending: SharedCards, milliseconds: int) -> None:
    """Let time pass, and perform what is due."""
    sending.chat.clock.advance(milliseconds / 1000)
    await Schedule(sending.chat.db, sending.queues, sending.chat.clock).tick()
    await sending.work()


def post(sending: SharedCards) -> dict[str, Any]:
    (row,) = sending.posts()
    return row


def is_text(message: Message) -> bool:
    return "text" in message.content


async def test_a_card_whose_picture_is_refused_is_a_text_with_its_link_at_once(
    sending: SharedCards, sam: Person
) -> None:
    for number, (code, words) in enumerate(REFUSALS, 1):
        sending.chat.world.faults.add(
            Fault("error", method="sendPhoto", code=code, description=words)
        )
        told = service_answer(id=f"{number:024x}")
        shown = await sending.card(sending.chat.add_link(sam, COFFEE, told))
        assert is_text(shown), words
        assert URL in shown.text
        assert shown.buttons != []
        assert len(sam.chat.from_bot()) == calls(sending, "sendMessage") == number, words
    assert sending.chat.states(sending.queues.messages) == []


async def test_the_picture_is_added_later_to_the_same_message(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    refuse(sending, times=1)
    shown = await sending.card(link)
    await later(sending, PICTURE_RETRIES.delays[0] - 1)
    assert is_text(shown)
    await later(sending, 1)
    assert shown.photo is not None
    assert URL in shown.text
    assert len(sam.chat.from_bot()) == 1
    assert (post(sending)["refused"], post(sending)["retry_at"]) == (None, None)


async def test_the_schedule_wakes_up_for_a_try_unless_a_menu_is_open(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    """Else it would wake up for ever for one that waits until the card is back."""
    schedule = Schedule(sending.chat.db, sending.queues, sending.chat.clock)
    refuse(sending)
    shown = await sending.card(link)
    sending.chat.clock.advance(PICTURE_RETRIES.delays[0] / 1000 - 2)
    assert await schedule.tick() == 2
    sam.press_old(shown, f"alerts:{link.id}")
    await sending.chat.take()
    await sending.work()
    sending.chat.clock.advance(2)
    assert await schedule.tick() == LONGEST_WAIT[sending.chat.db.engine]


async def test_a_refused_picture_is_tried_a_few_times_and_never_again(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    refuse(sending)
    shown = await sending.card(link)
    for number, delay in enumerate(PICTURE_RETRIES.delays, 1):
        assert refusals(sending) == number
        await later(sending, delay)
    assert refusals(sending) == 1 + len(PICTURE_RETRIES.delays)
    assert post(sending)["retry_at"] is None
    for _ in range(10):
        await later(sending, 24 * 3600 * 1000)
    await sending.pay(link)
    await later(sending, 2_000)
    assert refusals(sending) == 1 + len(PICTURE_RETRIES.delays)
    assert is_text(shown)
    assert len(sam.chat.from_bot()) == 2, "the card, and the alert of the payment"


async def test_a_text_card_is_kept_up_to_date_between_the_tries(
    sending: SharedCards, link: PaymentLink
) -> None:
    refuse(sending)
    shown = await sending.card(link)
    before = shown.text
    await sending.pay(link)
    await later(sending, 2_000)
    assert is_text(shown)
    assert shown.text != before
    assert "1 payment" in shown.text
    assert refusals(sending) == 1


async def test_a_changed_picture_is_tried_at_once(sending: SharedCards, link: PaymentLink) -> None:
    refuse(sending, times=1)
    shown = await sending.card(link)
    sending.state(link, "stopped")
    await later(sending, 2_000)
    assert shown.photo is not None


async def test_a_photo_card_whose_new_picture_is_refused_keeps_the_old_one_with_new_words(
    sending: SharedCards, link: PaymentLink
) -> None:
    shown = await sending.card(link)
    old = shown.photo
    refuse(sending, times=1)
    sending.state(link, "stopped")
    await later(sending, 2_000)
    assert shown.photo == old
    assert t("en", "status-stopped") in shown.text
    await later(sending, PICTURE_RETRIES.delays[0])
    assert shown.photo != old
    assert sending.chat.states(sending.queues.messages) == []


async def test_a_try_holds_up_nothing_in_its_chat(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    refuse(sending)
    await sending.card(link)
    for priority in (0, 1, 2):
        sending.put(sam.chat, f"{priority}", priority=priority)
    await sending.work()
    assert [message.text for message in sam.chat.from_bot()][1:] == ["0", "1", "2"]


async def test_buttons_of_a_text_card_change_that_message(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    refuse(sending)
    shown = await sending.card(link)
    card = shown.text
    for word in ("more", "edit", "edit-not"):
        sam.press_old(shown, f"{word}:{link.id}")
        await sending.chat.take()
        await sending.work()
    assert shown.text.startswith("What you can't change in “Coffee”")
    sending.put_body(sam.chat, CardMessage(link.id, "en", shown.id))
    await sending.work()
    assert (shown.text, len(sam.chat.from_bot())) == (card, 1)


@pytest.mark.parametrize("menu", ["alerts", "poster"])
@pytest.mark.parametrize("is_due", [False, True])
async def test_a_picture_waits_while_a_menu_is_in_the_place_of_its_card(
    sending: SharedCards, sam: Person, link: PaymentLink, menu: str, *, is_due: bool
) -> None:
    """It comes once the card is back, also where the menu was opened when the try was due."""
    refuse(sending, times=1)
    shown = await sending.card(link)
    card = shown.text
    sam.press_old(shown, f"{menu}:{link.id}")
    await sending.chat.take()
    if not is_due:
        await sending.work()
    for _ in range(3):
        await later(sending, PICTURE_RETRIES.delays[0])
    assert (is_text(shown), shown.text == card) == (True, False)
    sending.put_body(sam.chat, CardMessage(link.id, "en", shown.id))
    await sending.work()
    assert shown.text == card
    await later(sending, 0)
    assert shown.photo is not None
    assert len(sam.chat.from_bot()) == 1


async def test_a_lost_answer_before_the_refusal_leaves_the_mark_of_a_repetition(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    sending.fault("cut", method="sendPhoto")
    await sending.card(link)
    refuse(sending)
    await sending.work_later()
    first, second = sam.chat.from_bot()
    assert first.photo is not None
    assert second.text.startswith("You may have seen this already.\n")


async def test_a_repeated_file_id_that_is_unknown_is_first_uploaded_anew(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    await sending.card(link)
    words = "Bad Request: wrong file identifier/HTTP URL specified"
    sending.fault("error", method="sendPhoto", code=400, description=words)
    again = await sending.card(link)
    assert again.photo is not None
    assert len(sam.chat.from_bot()) == 2


async def test_a_shared_card_does_not_wait_for_a_picture_that_was_refused(
    sending: SharedCards, sam: Person, pat: Person, link: PaymentLink
) -> None:
    """It gets the picture once the seller's card has it."""
    refuse(sending, times=1)
    await sending.card(link)
    dialog = sam.dialog(pat)
    posted = await sending.share(sam, dialog)
    await sending.work()
    assert is_text(posted)
    assert sending.chat.states(sending.queues.messages) == []
    await later(sending, PICTURE_RETRIES.delays[0])
    assert posted.photo is not None


async def test_a_shared_card_whose_picture_is_refused_keeps_its_words_up_to_date(
    sending: SharedCards, sam: Person, pat: Person, link: PaymentLink
) -> None:
    await sending.card(link)
    posted = await sending.share(sam, sam.dialog(pat))
    refuse(sending, times=1, method="editMessageMedia")
    await later(sending, 3_000)
    assert is_text(posted)
    await later(sending, PICTURE_RETRIES.delays[0])
    assert posted.photo is not None


async def test_a_visitor_gets_the_card_as_a_text_too(
    sending: SharedCards, pat: Person, link: PaymentLink
) -> None:
    refuse(sending, times=1)
    sending.put_body(pat.chat, CardMessage(link.id, "en", is_public=True))
    await sending.work()
    (shown,) = pat.chat.from_bot()
    assert is_text(shown)
    pat.press_old(shown, f"look:{link.id}")
    await sending.chat.take()
    await sending.work()
    await later(sending, PICTURE_RETRIES.delays[0])
    assert shown.photo is not None
    assert len(pat.chat.from_bot()) == 1


async def test_in_place_of_a_refused_poster_its_link_is_sent_with_a_way_to_try_again(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    refuse(sending, times=1)
    body = PosterFile(link.id, "en", "square-light.png", "coffee-square-light.png")
    sending.put_body(sam.chat, body)
    await sending.work()
    (shown,) = sam.chat.from_bot()
    assert URL in shown.text
    (button,) = shown.buttons
    assert button["callback_data"] == f"poster:{link.id}:square-light"
    sam.press(shown, button["text"])
    await sending.chat.take()
    await sending.work()
    assert "document" in sam.chat.from_bot()[-1].content


async def test_a_card_whose_words_are_refused_as_well_is_given_up(
    sending: SharedCards, sam: Person, link: PaymentLink
) -> None:
    refuse(sending)
    sending.fault("error", method="sendMessage", code=400, description="Bad Request: no", times=5)
    sending.put_body(sam.chat, CardMessage(link.id, "en"))
    await sending.work()
    assert sam.chat.from_bot() == []
    assert sending.chat.states(sending.queues.messages) == ["dead"]


async def test_inline_results_are_answered_without_their_pictures_where_these_are_refused(
    sending: SharedCards, sam: Person
) -> None:
    words = "Bad Request: WEBDOCUMENT_URL_INVALID"
    sending.fault("error", method="answerInlineQuery", code=400, description=words)
    pictured = replace(COFFEE, image="0" * 24)
    sending.chat.add_link(sam, pictured, service_answer(id="1" * 24))
    asked = sam.ask_inline("")
    await sending.inline.answer(sending.chat.world.updates.pending.pop())
    assert len(asked.results) == 1
    assert not any("thumbnail_url" in result for result in asked.results)


async def test_a_refusal_of_a_post_that_is_gone_is_nothing(sending: SharedCards) -> None:
    place = post_rows.MessagePlace("7", 1)
    sending.chat.db.run(lambda tx: post_rows.record_refusal(tx, place, "k", sending.chat.clock()))
    assert sending.posts() == []


@pytest.mark.parametrize("words", ["MEDIA_EMPTY", "not enough rights to send photos to the chat"])
async def test_such_words_about_a_text_are_a_refusal_like_any_other(
    sending: SharedCards, sam: Person, words: str
) -> None:
    """It is sent once Telegram takes it: an alert has no picture to be left out."""
    description = f"Bad Request: {words}"
    sending.fault("error", method="sendMessage", code=400, description=description)
    sending.put(sam.chat, "paid", priority=ALERT)
    await sending.work()
    assert sending.chat.states(sending.queues.messages) == ["waiting"]
    await sending.work_later(LONGEST_DELAY / 1000)
    assert [message.text for message in sam.chat.from_bot()] == ["paid"]
