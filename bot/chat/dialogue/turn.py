"""One event being dealt with inside its transaction, and what can be done in answer to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.messages.jobs import ReplyTo
from bot.chat.messages.payloads import CallbackAnswer, replacement
from bot.core.outbox import outbox
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.dialogue.events import Person, Tapped
    from bot.chat.messages.jobs import SellerJob
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.messages.reply import Reply
    from bot.chat.model.draft import Draft
    from bot.chat.model.seller import Seller
    from bot.core.database.database import Transaction


@dataclass(frozen=True, slots=True)
class Turn:
    """Who did something, as what, and where the answer goes.

    `may_create` is False for people whom the operator has not let in; `tapped` the press that an
    answer may be put in the place of.
    """

    tx: Transaction
    queues: Queues
    person: Person
    seller: Seller
    draft: Draft | None
    now: int
    bot_name: str = ""
    may_create: bool = True
    tapped: Tapped | None = None

    def say(self, reply: Reply) -> None:
        """Say it: in the place of the message whose button was pressed, if one was."""
        message_id = self.tapped.message_id if self.tapped else None
        is_picture = self.tapped.picture if self.tapped else False
        self.put(replacement(reply, self.seller.language, message_id, is_picture=is_picture))

    def put(self, payload: MessagePayload, subject: str | None = None) -> None:
        """Put a message for this chat."""
        chat = str(self.person.chat_id)
        outbox.put(self.tx, self.queues.messages, chat, payload, self.now, subject=subject)

    def answer(self, tapped: Tapped, toast: str | None) -> None:
        """Answer the press itself, with words or without."""
        answer = CallbackAnswer(tapped.query_id, toast)
        chat = str(tapped.person.chat_id)
        outbox.put(self.tx, self.queues.answers, chat, answer, self.now)

    def add_job(self, job: SellerJob) -> None:
        """Queue a job at the payment service."""
        outbox.put(self.tx, self.queues.jobs, job.listing_id, job, self.now)

    def reply_to(self, tapped: Tapped | None = None) -> ReplyTo:
        """Return where a job's outcome goes: to this chat, in place of `tapped` if given."""
        chat, language = self.person.chat_id, self.seller.language
        if tapped is None:
            return ReplyTo(chat, language)
        return ReplyTo(chat, language, tapped.message_id, tapped.picture)

    def words(self, key: str, **values: object) -> str:
        """Give a text in this person's language."""
        return t(self.seller.language, key, **values)

    def anew(self) -> Turn:
        """Give the same, whose answers are new messages."""
        return replace(self, tapped=None)
