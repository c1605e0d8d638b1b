"""Letters on their way: the service that queues them, a worker, the mail server that gets them."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any

from bot.core.outbox import outbox
from bot.service.notifications.emails import LetterSender
from tests.support.mail_servers import MailServerStub
from tests.support.service_harness import ServiceHarness


class MailRound:
    """The service, the mail server, and the letters that one sender sends between them."""

    def __init__(
        self,
        service: ServiceHarness,
        office: MailServerStub,
        mails: LetterSender[Any],
    ) -> None:
        self.service = service
        self.office = office
        self.mails = mails
        self._payments = 0

    @property
    def letters(self) -> list[EmailMessage]:
        return self.office.letters

    async def work(self, seconds: float = 0) -> int:
        """Pass time and send all letters that are due; return how many were sent."""
        self.service.clock.advance(seconds)
        before = len(self.letters)
        while claimed := self.service.db.run(
            lambda tx: outbox.claim(tx, self.mails.queue_handler.queue, self.service.clock(), 4)
        ):
            for message in claimed:
                await self.mails.handle(message)
        return len(self.letters) - before
