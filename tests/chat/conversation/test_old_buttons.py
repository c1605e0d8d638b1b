"""Buttons of messages that were sent before: they stay in chats for years."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.conversation.actions import BUTTONS
from bot.chat.forms.inputs import VERBS
from bot.core.text.translations import t
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person

PAYMENT = "{link}:1790000000000:0123abcd"

SENT = [
    "draft:abc123:cancel",
    *("new", "help", "settings", "settings:zone", "settings:sellername"),
    *("profile", "profile:later", "profile:use:0123abcd"),
    *("getpaid", "getpaid:bank", "getpaid:lnbits"),
    *("account:lnbits", "account:lnbits:remove", "account:lnbits:remove:0123abcd"),
    *("card:{link}", "refresh:{link}", "stop:{link}", "resume:{link}"),
    *("delete:{link}", "delete-yes:{link}", "more:{link}"),
    *("edit:{link}", "edit:{link}:name", "edit-not:{link}", "duplicate:{link}", "codes:{link}"),
    *("poster:{link}", "poster:{link}:print-dark", "payments:{link}:0"),
    *("alerts:{link}", "alerts:{link}:off", "look:{link}"),
    *("list:0", "incoming:0", "bought", "bought:0", "undelivered:again"),
    *("claim:abcde12345", "missing:abcde12345", "missing:abcde12345:list"),
    *("missing-yes:abcde12345", "received:abcde12345", "received:abcde12345:digest"),
    *(f"payment:{PAYMENT}", f"sent:{PAYMENT}", f"sent:{PAYMENT}:a", f"sent-undo:{PAYMENT}"),
    *(f"paid-back:{PAYMENT}", f"paid-back-undo:{PAYMENT}"),
    *(f"hide:{PAYMENT}", f"hide:{PAYMENT}:p0", f"hide-undo:{PAYMENT}"),
    *("receipt:abcde12345", "receipt-remove:abcde12345"),
]
"""The data of a button of each kind, as version 0.1 sends it. Lines are only added here."""

TIMES = "zone moment"
SENT_IN_FORMS = {
    "new": (
        f"kind keep back amount currency choose goal create continue restart cancel options open"
        f" clear done instrument ask later goods file {TIMES}"
    ),
    "line": "amount currency choose continue cancel",
    "settings": "zone hours minute off back continue cancel clear offer accent telegram-photo",
    "payback": "clear continue cancel",
    "codes": "continue cancel",
    "payout": "back keep skip land save change continue cancel",
    "edit": f"goal goods clear back continue cancel {TIMES}",
}
"""The verbs of each form's buttons, as version 0.1 sends them."""


@pytest.mark.parametrize("data", SENT)
async def test_a_button_that_was_sent_before_is_known(
    chat: ChatHarness, sam: Person, data: str
) -> None:
    """It does what it did, or says why it can't; "no longer works" is for data of a stranger."""
    link = chat.add_link(sam, COFFEE, service_answer())
    await chat.presses(sam, data.format(link=link.id))
    assert len(chat.answers) == 1
    assert chat.answers[0].text != t("en", "button-unknown")


def test_each_kind_of_button_was_sent() -> None:
    assert {data.partition(":")[0] for data in SENT} == BUTTONS.keys()


def test_each_button_of_a_form_was_sent() -> None:
    assert {form: {*verbs} for form, verbs in VERBS.items()} == {
        form: {*verbs.split()} for form, verbs in SENT_IN_FORMS.items()
    }
