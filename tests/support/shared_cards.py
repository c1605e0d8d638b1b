"""Requests shown in the sandbox: cards in their seller's chat, and posted inline anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards.views import view_of
from bot.chat.model.payloads import MessagePayload, new_message
from bot.chat.store import link_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.chat.store.post_rows import OWN
from bot.chat.telegram.inline_queries import InlineResults
from bot.core.database.database import Row, Transaction
from tests.support.chat_harness import REQUEST_ID, ChatHarness, get_link, telegram_of
from tests.support.sender_harness import SenderHarness

if TYPE_CHECKING:
    from telegram import Bot

    from bot.sandbox.world.model import Chat, Message
    from bot.sandbox.world.people import Person


PUBLIC_URL = "https://bot.example.org"
EDITS = ("editMessageText", "editMessageCaption", "editMessageMedia")


class SharedCards(SenderHarness):
    """The sender, with sellers who share and payers who pay."""

    def __init__(self, chat: ChatHarness, bot: Bot) -> None:
        super().__init__(chat, bot)
        self.inline = InlineResults(bot, chat.dialogue, PUBLIC_URL)

    async def card(self, link: PaymentLink) -> Message:
        """Send the seller's card; return the message."""
        chat = self.chat

        def put(tx: Transaction) -> MessagePayload:
            view = view_of(tx, get_link(tx, link.id), OWN, chat.clock())
            return new_message(view.reply, view.language)

        private = chat.world.chats[link.chat_id]
        self.put_body(private, chat.db.run(put))
        await self.work()
        return private.from_bot()[-1]

    async def share(self, person: Person, chat: Chat, text: str = "") -> Message:
        """Search after the bot's name, post the first result into a chat; return the message."""
        asked = person.ask_inline(text, chat)
        await self.inline.answer(self.chat.world.updates.pending.pop())
        posted = person.choose(asked, asked.results[0]["id"], chat)
        await self.chat.take()
        return posted

    async def pay(self, link: PaymentLink, number: int = 1) -> None:
        """Record so many payments of a drop, as the receiver does."""
        for _ in range(number):
            now = self.chat.link(link.id)
            left = None if now.left is None else now.left - 1
            transaction = link_rows.short_id(12)
            paid = Payment(REQUEST_ID, transaction, now.spec.amount, now.spec.currency, {})
            await self.chat.record(now, paid, left)

    def state(self, link: PaymentLink, state: str) -> None:
        """Set the state of a link, as an answer of the service does."""
        self.change(link, lambda tx: link_rows.set_state(tx, link.id, state))

    def end(self, link: PaymentLink, at: int | None) -> None:
        """Set the end of a request, in epoch ms."""
        told = self.chat.link(link.id).answer
        assert told
        answer = replace(told, expires_at=at)
        self.change(link, lambda tx: link_rows.set_answer(tx, link.id, answer))

    def change(self, link: PaymentLink, work: Callable[[Transaction], object]) -> None:
        """Change a link and have its posts refreshed, in one transaction."""

        def whole(tx: Transaction) -> None:
            work(tx)
            self.chat.refresh(link.id, tx)

        self.chat.db.run(whole)

    def posts(self) -> list[Row]:
        return self.chat.rows("posts")

    def edits(self) -> int:
        """Count the edits that Telegram took."""
        return sum(len(self.chat.world.calls_of(method)) for method in EDITS)


@asynccontextmanager
async def open_shared_cards(chat: ChatHarness) -> AsyncIterator[SharedCards]:
    """Open the cards with inline feedback on; Telegram must refuse no call."""
    chat.world.inline_feedback = True
    async with telegram_of(chat.world) as bot:
        yield SharedCards(chat, bot)
    assert chat.world.refused == []
