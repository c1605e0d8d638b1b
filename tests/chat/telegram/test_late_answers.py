"""Telegram's answer to a call whose message another worker has by now changes nothing.

That worker makes the call again and learns the same from its own answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from tests.support.sender_harness import BLOCKED, REFUSAL, SenderHarness

if TYPE_CHECKING:
    from bot.sandbox.world.model import Chat
    from bot.sandbox.world.people import Person


TAKEN = "UPDATE outbox SET lease = 'another/1' WHERE queue = 'messages' AND state = 'leased'"

THROTTLED = REFUSAL | {"code": 429, "retry_after": 30}


def lose_message(sending: SenderHarness, chat: Chat) -> Message:
    """Claim the first of two messages to a chat, and give its lease to another worker."""
    sending.put(chat, "first", "second")
    queue, now = sending.queues.messages, sending.chat.clock()
    (message,) = sending.chat.db.run(lambda tx: outbox.claim(tx, queue, now, 1))
    sending.chat.db.run(lambda tx: tx.execute(TAKEN))
    return message


@pytest.mark.parametrize("fault", [BLOCKED, THROTTLED])
async def test_a_late_answer_changes_no_lane(
    sending: SenderHarness, sam: Person, fault: dict[str, Any]
) -> None:
    message = lose_message(sending, sam.chat)
    before = sending.chat.rows("lanes"), sending.chat.rows("outbox")
    sending.fault(**fault)
    await sending.sender.send(message)
    assert (sending.chat.rows("lanes"), sending.chat.rows("outbox")) == before


async def test_a_late_answer_that_a_group_moved_moves_nothing(
    sending: SenderHarness, sam: Person
) -> None:
    group = sam.new_group("Market")
    message = lose_message(sending, group)
    sam.migrate(group)
    before = sending.chat.rows("lanes"), sending.chat.rows("outbox")
    await sending.sender.send(message)
    assert (sending.chat.rows("lanes"), sending.chat.rows("outbox")) == before
