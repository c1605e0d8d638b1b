"""E-mails out: composed, handed to the mail server, and settled by what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import MailRefused
from bot.core.worker import Job
from bot.service import mail
from bot.service.model.delivery import Channel
from bot.service.notify.outcomes import Book, Outcome
from bot.service.usecases.deliveries import MAILS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.db import Database
    from bot.core.outbox import Message
    from bot.service.mail import Mailer

ROOM = 4  # letters under way at once: mail servers count connections


class Mails:
    """Delivers the e-mails of the outbox; `job` is what a worker works.

    `sender` is who they are from, `public_url` where their links lead.
    """

    def __init__(
        self, db: Database, mailer: Mailer, now: Callable[[], int], *, sender: str, public_url: str
    ) -> None:
        self._mailer = mailer
        self._now = now
        self._sender = sender
        self._public_url = public_url
        self._book = Book(db, Channel.EMAIL, MAILS, now)
        self.job = Job(MAILS, self.handle, ROOM)

    async def handle(self, message: Message) -> None:
        """Make one attempt and settle it; of the address, the log has the domain alone."""
        began = self._now()
        outcome = await self._attempt(message)
        domain = message.body["address"].rpartition("@")[2]
        await self._book.settle(message, outcome, began, domain)

    async def _attempt(self, message: Message) -> Outcome:
        try:
            letter = mail.compose(message.body, message.id, self._sender, self._public_url)
            code, text = await self._mailer.send(letter)
        except MailRefused as error:
            return Outcome(error.code, error.answer.encode(), error.told, error.final)
        return Outcome(code, text.encode())
