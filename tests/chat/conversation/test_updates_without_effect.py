"""Of an update that is set aside, nothing is kept that nobody but its sender or a buyer may see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import QueueHandler, Worker
from bot.sandbox.world.people import Person
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.outbox_queue import crash, work
from tests.support.receipt_steps import LINK

CODES = "ABC-123\nDEF-456"
CONNECTION = f"nostr+walletconnect://{'5a' * 32}?relay=wss://relay.example&secret={'3c' * 32}"


def start_in_group(sam: Person) -> None:
    sam.send(f"/start@PaymentRequestBot {LINK}", sam.new_group("Friends"))


PRIVATE: dict[str, Callable[[Person], object]] = {
    "receipt": lambda sam: sam.start(LINK),
    "receipt in a group": start_in_group,
}


async def set_aside(chat: ChatHarness) -> str:
    """Set aside the newest update, whose attempts all failed; return what is stored of it."""
    while len(chat.world.updates.pending) > 1:
        chat.world.updates.pending.popleft()
    await chat.store()
    queue = chat.queues.updates
    crash(chat.db, queue, chat.clock, queue.max_crashes)
    await work(
        chat.db,
        QueueHandler(queue, chat.dialogue.handle, on_dead_letter=chat.dialogue.on_dead_letter),
        chat.clock,
    )
    return str(chat.rows("outbox"))


@pytest.mark.parametrize("event", PRIVATE)
async def test_no_address_of_a_receipt_is_kept(chat: ChatHarness, sam: Person, event: str) -> None:
    PRIVATE[event](sam)
    assert LINK not in await set_aside(chat)


GOODS: dict[str, Callable[[Person], object]] = {
    "text": lambda sam: sam.send(CODES),
    "file": lambda sam: sam.send_document("codes.txt", b"1", caption=CODES),
    "command": lambda sam: sam.send("/help ABC-123"),
}


@pytest.mark.parametrize("event", GOODS)
async def test_no_text_file_or_code_for_buyers_is_kept(
    chat: ChatHarness, sam: Person, event: str
) -> None:
    """Whatever comes while the bot asks for it; a command is none."""
    link = chat.add_link(sam, COFFEE, service_answer())
    await chat.presses(sam, f"edit:{link.id}:goods")
    GOODS[event](sam)
    assert ("ABC-123" in await set_aside(chat)) == (event == "command")


async def test_other_messages_are_kept(chat: ChatHarness, sam: Person) -> None:
    sam.send(CODES)
    assert "ABC-123" in await set_aside(chat)


@pytest.mark.parametrize("text", [CONNECTION, "Hello"])
async def test_no_secret_of_an_update_that_cannot_be_read_is_kept(
    chat: ChatHarness, sam: Person, text: str
) -> None:
    sam.send(text)
    chat.world.updates.pending[-1]["message"]["from"] = {}
    await chat.take()
    assert chat.states(chat.queues.updates)[-1] == "dead"
    assert (text in str(chat.rows("outbox"))) == (text == "Hello")


async def test_a_group_gets_no_apology(chat: ChatHarness, sam: Person) -> None:
    """It would land in the General topic, whichever one the command was written in."""
    start_in_group(sam)
    await set_aside(chat)
    assert chat.said == []


# An update whose lease another worker has by now is handled there: here it has no effect.


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


# A chat whose person blocked the bot is paused until they return.


async def paused(chat: ChatHarness) -> dict[str, str | None]:
    return {row["lane"]: row["paused"] for row in chat.rows("lanes") if row["queue"] == "messages"}


async def test_a_chat_is_paused_while_the_bot_is_blocked(chat: ChatHarness, sam: Person) -> None:
    sam.block()
    await chat.take()
    assert await paused(chat) == {str(sam.id): "the bot was blocked"}
    sam.unblock()
    await chat.take()
    assert await paused(chat) == {str(sam.id): None}


async def test_a_paused_chat_is_resumed_when_the_person_writes(
    chat: ChatHarness, sam: Person
) -> None:
    sam.block()
    sam.chat.bot_status = "member"
    await chat.says(sam, "/help")
    assert await paused(chat) == {str(sam.id): None}
