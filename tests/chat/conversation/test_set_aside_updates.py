"""Of an update that is set aside, nothing is kept that nobody but its sender or a buyer may see."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from bot.core.outbox.worker import QueueHandler
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.crashed_attempts import crash, work
from tests.support.receipt_steps import LINK

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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
