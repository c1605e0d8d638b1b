"""Payloads: what a reply becomes in the queue, as a new message or in the place of another."""

from __future__ import annotations

import pytest

from bot.chat.model.payloads import CardMessage, TextMessage, new_message, replacement
from bot.chat.model.replies import Button, Reply

LINK = "abcdefghij"
ROWS = ((Button("Go", action=("new",)),),)
KEYBOARD = {"inline_keyboard": [[{"text": "Go", "callback_data": "new"}]]}


def test_a_text_is_sent_as_a_message() -> None:
    assert new_message(Reply("Hi", ROWS), "en") == TextMessage("Hi", "en", KEYBOARD)


def test_without_buttons_there_is_no_keyboard() -> None:
    assert new_message(Reply("Hi"), "en") == TextMessage("Hi", "en")


def test_a_card_is_named_by_its_link_and_drawn_when_it_is_sent() -> None:
    assert new_message(Reply("Hi", ROWS, LINK), "en") == CardMessage(LINK, "en")


@pytest.mark.parametrize(
    ("message_id", "is_picture", "reply", "method"),
    [
        (5, False, Reply("Hi"), "editMessageText"),
        (5, True, Reply("Hi"), "editMessageCaption"),
        (5, True, Reply("Hi", picture=LINK), "editMessageCaption"),
        (5, False, Reply("Hi", picture=LINK), "sendPhoto"),
        (None, False, Reply("Hi"), "sendMessage"),
        (None, True, Reply("Hi", picture=LINK), "sendPhoto"),
    ],
)
def test_a_reply_takes_the_place_of_a_message_where_telegram_lets_it(
    message_id: int | None, reply: Reply, method: str, *, is_picture: bool
) -> None:
    assert replacement(reply, "en", message_id, is_picture=is_picture).method == method


def test_an_edit_names_its_message_and_takes_buttons_away() -> None:
    edit = replacement(Reply("Hi"), "en", 5, is_picture=False)

    assert edit == TextMessage("Hi", "en", keyboard=None, message_id=5)
