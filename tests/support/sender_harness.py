"""The sender: messages are put, sent to the sandbox, and checked there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.model.payloads import CallbackAnswer, MessagePayload, new_message
from bot.chat.model.replies import Reply
from bot.chat.telegram.sender import Sender
from bot.core.database.database import Transaction
from bot.core.outbox import outbox
from bot.core.outbox.claiming import next_claim
from bot.core.outbox.queue_policy import REPLY
from bot.sandbox.world.errors import Fault, FaultKind
from tests.support.chat_harness import ChatHarness, text_of
from tests.support.outbox_queue import bodies, handle_all

if TYPE_CHECKING:
    from telegram import Bot

    from bot.sandbox.world.model import Chat


REFUSAL: dict[str, Any] = {
    "kind": "error",
    "method": "sendMessage",
    "code": 400,
    "description": "Bad Request: no",
}
BLOCKED: dict[str, Any] = {
    "kind": "error",
    "method": "sendMessage",
    "code": 403,
    "description": "Forbidden: bot was blocked by the user",
}


class SenderHarness:
    """The sender at work against the sandbox."""

    def __init__(self, chat: ChatHarness, bot: Bot) -> None:
        self.chat = chat
        self.queues = chat.queues
        self.sender = Sender(chat.db, bot, chat.queues, chat.clock)

    def put(self, chat: Chat, *texts: str, priority: int = REPLY) -> None:
        for text in texts:
            self.put_body(chat, new_message(Reply(text), "en"), priority)

    def put_body(self, chat: Chat, body: MessagePayload, priority: int = REPLY) -> None:
        queue, now, lane = self.queues.messages, self.chat.clock(), str(chat.id)
        self.chat.db.run(
            lambda tx: outbox.put(tx, queue, lane, body, now, priority=priority) and None
        )

    async def work(self) -> None:
        await handle_all(self.chat.db, self.queues.messages, self.sender.send, self.chat.clock)

    async def work_later(self, seconds: float = 60) -> None:
        self.chat.clock.advance(seconds)
        await self.work()

    async def answer(self, query_id: str, toast: str | None = None) -> None:
        queue, now = self.queues.answers, self.chat.clock()
        body = CallbackAnswer(query_id, toast)
        await self.chat.db.transaction(lambda tx: outbox.put(tx, queue, "7", body, now))
        await handle_all(self.chat.db, queue, self.sender.answer, self.chat.clock)

    def fault(self, kind: FaultKind, **given: Any) -> None:
        self.chat.world.faults.add(Fault(kind, **given))

    @property
    def waiting(self) -> list[str]:
        found = bodies(self.chat.db, self.queues.messages)
        return [text_of(self.chat.db, body, self.chat.clock()) for body in found]

    @property
    def waits(self) -> int | None:
        """Return the milliseconds until a message may be sent, None if none waits."""
        queue = self.queues.messages

        def look(tx: Transaction) -> int | None:
            return next_claim(tx, queue, self.chat.clock()).at

        moment = self.chat.db.run(look)
        return None if moment is None else moment - self.chat.clock()
