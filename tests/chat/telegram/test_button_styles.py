"""Coloured buttons on servers of the Bot API that know styles, and on those that refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.model.payloads import new_message
from bot.chat.model.replies import DANGER, Button, Reply, without_styles
from tests.support.sender_harness import SenderHarness

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


RED = {"text": "Delete", "callback_data": "help", "style": "danger"}
PLAIN = {"text": "Delete", "callback_data": "help"}
ASKED = Reply("Delete?", ((Button("Delete", action=("help",), style=DANGER),),))


async def test_a_style_reaches_the_client(sending: SenderHarness, sam: Person) -> None:
    sending.put_body(sam.chat, new_message(ASKED, "en"))
    await sending.work()
    (message,) = sam.chat.from_bot()
    assert message.buttons == [RED]


@pytest.mark.parametrize("refusal", ["Bad Request: unknown field style", "Bad Request: no"])
async def test_a_server_that_refuses_styles_gets_the_message_without(
    sending: SenderHarness, sam: Person, refusal: str
) -> None:
    """At once, in the same attempt, whatever its words are."""
    sending.fault("error", method="sendMessage", code=400, description=refusal)
    sending.put_body(sam.chat, new_message(ASKED, "en"))
    await sending.work()
    (message,) = sam.chat.from_bot()
    assert message.buttons == [PLAIN]
    assert sending.waiting == []


@pytest.mark.parametrize(
    ("code", "description"), [(429, "Too Many Requests"), (400, "Bad Request: chat not found")]
)
async def test_another_refusal_is_not_repeated_without_styles(
    sending: SenderHarness, sam: Person, code: int, description: str
) -> None:
    sending.fault("error", method="sendMessage", code=code, description=description, times=9)
    sending.put_body(sam.chat, new_message(ASKED, "en"))
    await sending.work()
    assert len(sending.chat.world.refused) == 1


def test_only_styles_are_taken_off() -> None:
    keyboard = {"inline_keyboard": [[RED, PLAIN], [PLAIN]]}
    assert without_styles(keyboard) == {"inline_keyboard": [[PLAIN, PLAIN], [PLAIN]]}
    assert keyboard["inline_keyboard"][0][0] == RED
    for plain in (None, {"inline_keyboard": [[PLAIN]]}):
        assert without_styles(plain) is None
