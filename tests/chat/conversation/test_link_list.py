"""The list of a seller's payment links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.conversation.pages import PAGE
from bot.chat.model.payloads import TextMessage
from bot.chat.store.link_rows import CREATING, DELETED, FAILED, STOPPED
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


async def test_the_list_is_newest_first_and_in_pages(chat: ChatHarness, sam: Person) -> None:
    made = []
    for number in range(PAGE + 1):
        chat.clock.advance(1)
        made.append(chat.add_link(sam, COFFEE, service_answer(id=f"{number}")).id)
    await chat.says(sam, "/list")
    await chat.presses(sam, "list:1")
    await chat.presses(sam, "list:999999")
    pages = [cards_of(body) for body in chat.said]
    assert pages == [made[:0:-1], made[:1], made[:1]]


def cards_of(body: TextMessage) -> list[str]:
    rows = body.keyboard["inline_keyboard"] if body.keyboard else []
    data = [button.get("callback_data", "") for row in rows for button in row]
    return [one.removeprefix("card:") for one in data if one.startswith("card:")]


async def test_requests_that_are_not_live_are_not_listed(chat: ChatHarness, sam: Person) -> None:
    for state in (CREATING, FAILED, DELETED):
        chat.add_link(sam, COFFEE, service_answer(id=state), state=state)
    stopped = chat.add_link(sam, COFFEE, service_answer(), state=STOPPED)
    await chat.says(sam, "/list")
    assert cards_of(chat.said[0]) == [stopped.id]
