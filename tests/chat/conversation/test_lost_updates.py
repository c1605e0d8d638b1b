"""An update whose lease another worker has by now is handled there: here it has no effect.

A process that stood still for a while, or whose commit was lost, may have handled it already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import QueueHandler, Worker
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


TAKEN = "UPDATE outbox SET lease = 'another/1' WHERE queue = 'updates' AND state = 'leased'"
OF_CHATS = ("sellers", "drafts", "listings", "posts", "lanes", "outbox")


async def lose_update(chat: ChatHarness) -> Message:
    """Store what happened and claim it, and give its lease to another worker."""
    await chat.store()
    queue, now = chat.queues.updates, chat.clock()
    (message,) = chat.db.run(lambda tx: outbox.claim(tx, queue, now, 10))
    chat.db.run(lambda tx: tx.execute(TAKEN))
    return message


def press_stop(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    sam.press_old(sam.send("/help"), f"stop:{link.id}")
    chat.world.updates.pending.popleft()


def post_link(chat: ChatHarness, sam: Person) -> None:
    link = chat.add_link(sam, COFFEE, service_answer())
    chosen = {"result_id": link.id, "from": sam.user.json(), "inline_message_id": "posted"}
    chat.world.push("chosen_inline_result", chosen)


def send_unreadable(chat: ChatHarness, sam: Person) -> None:
    sam.press_old(sam.send("x"), "list:0")
    chat.world.updates.pending.popleft()
    chat.world.updates.pending[0]["callback_query"]["from"] = {}


EVENTS: dict[str, Callable[[ChatHarness, Person], object]] = {
    "message": lambda _, sam: sam.send("/donation 5 USD Coffee"),
    "secret": lambda _, sam: sam.send("nostr+walletconnect://secret"),
    "press": press_stop,
    "group": lambda _, sam: sam.send("/new", sam.new_group("Market")),
    "posted": post_link,
    "blocked": lambda _, sam: sam.block(),
    "unreadable": send_unreadable,
}


@pytest.mark.parametrize("event", EVENTS)
async def test_an_update_of_another_worker_has_no_effect(
    chat: ChatHarness, sam: Person, event: str
) -> None:
    EVENTS[event](chat, sam)
    message = await lose_update(chat)
    before = {table: chat.rows(table) for table in OF_CHATS}
    await chat.dialogue.handle(message)
    assert {table: chat.rows(table) for table in OF_CHATS} == before


async def test_an_update_of_another_worker_gets_no_apology(chat: ChatHarness, sam: Person) -> None:
    sam.send("/help")
    message = await lose_update(chat)
    queue_handler = QueueHandler(
        chat.queues.updates, chat.dialogue.handle, on_dead_letter=chat.dialogue.on_dead_letter
    )
    await Worker(chat.db, queue_handler, chat.clock)._set_aside(message, "failed")
    assert (chat.said, chat.states(chat.queues.updates)) == ([], ["leased"])
