"""Of an update that is set aside, nothing is kept that nobody but its sender or a buyer may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core.outbox import outbox
from bot.core.outbox.worker import Job, Worker
from tests.support.chat_harness import COFFEE, service_answer
from tests.support.receipt_steps import LINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.sandbox.world.people import Person
    from tests.support.chat_harness import ChatHarness

CODES = "ABC-123\nDEF-456"


def start_in_group(sam: Person) -> None:
    sam.send(f"/start@PaymentRequestBot {LINK}", sam.new_group("Friends"))


PRIVATE: dict[str, Callable[[Person], object]] = {
    "receipt": lambda sam: sam.start(LINK),
    "receipt in a group": start_in_group,
}


async def set_aside(chat: ChatHarness) -> str:
    """Set aside the newest update as the worker does after three failures; what is stored of it."""
    while len(chat.world.updates.pending) > 1:
        chat.world.updates.pending.popleft()
    await chat.store()
    queue, now = chat.queues.updates, chat.clock()
    (message,) = chat.db.run(lambda tx: outbox.claim(tx, queue, now, 10))
    job = Job(queue, chat.dialogue.handle, buried=chat.dialogue.buried)
    await Worker(chat.db, job, chat.clock)._set_aside(message, "failed")
    assert chat.states(queue)[-1] == "dead"
    return str(chat.rows("outbox"))


@pytest.mark.parametrize("event", PRIVATE)
async def test_no_address_of_a_receipt_is_kept(chat: ChatHarness, sam: Person, event: str) -> None:
    PRIVATE[event](sam)
    assert LINK not in await set_aside(chat)


async def test_no_text_file_or_code_for_buyers_is_kept(chat: ChatHarness, sam: Person) -> None:
    """Whatever comes while the bot asks for it; a command is none."""
    listing = chat.add_listing(sam, COFFEE, service_answer())
    await chat.presses(sam, f"edit:{listing.id}:goods")
    sam.send(CODES)
    assert "ABC-123" not in await set_aside(chat)
    sam.send_document("codes.txt", b"1", caption=CODES)
    assert "ABC-123" not in await set_aside(chat)
    sam.send("/help ABC-123")
    assert "ABC-123" in await set_aside(chat)


async def test_other_messages_are_kept(chat: ChatHarness, sam: Person) -> None:
    sam.send(CODES)
    assert "ABC-123" in await set_aside(chat)
