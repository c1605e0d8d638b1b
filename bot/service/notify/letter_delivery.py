"""The delivery of letters: composed, sent to the mail server, and settled by its answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.core.errors import MailRefused
from bot.core.outbox.worker import Job
from bot.service.model.delivery import Channel
from bot.service.notify import letter_texts
from bot.service.notify.delivery_outcomes import DeliveryRecorder, Outcome
from bot.service.notify.letter_texts import LetterOrigin, LetterTarget
from bot.service.usecases.letters import letter_limits
from bot.service.usecases.letters.letter_limits import MAILS

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage

    from bot.core.database.database import Database
    from bot.core.outbox.outbox import Message
    from bot.service.notify.smtp_sender import Mailer
    from bot.service.usecases.letters.letter_limits import Letter

CONCURRENCY = 4  # letters under way: mail servers limit connections


class LetterDelivery:
    """Delivers queued letters; a worker performs its `job`.

    Letters come from `sender`, and their links lead to `public_url`.
    """

    def __init__(
        self, db: Database, mailer: Mailer, now: Callable[[], int], *, sender: str, public_url: str
    ) -> None:
        self._db = db
        self._mailer = mailer
        self._now = now
        self._origin = LetterOrigin(sender, public_url)
        self._recorder = DeliveryRecorder(db, Channel.EMAIL, MAILS, now)
        self.job = Job(MAILS, self.handle, CONCURRENCY, self._recorder.count_buried)

    async def handle(self, message: Message) -> None:
        """Make one attempt and settle it, unless the letter has to wait or was settled.

        The log has only the domain of the address.
        """
        began = self._now()
        letter = await self._db.transaction(
            partial(letter_limits.prepare_letter, message=message, now=began)
        )
        if letter is None:
            return
        outcome = await self._attempt(message, letter)
        domain = message.body.address.rpartition("@")[2]
        await self._recorder.settle(message, outcome, began, domain)

    async def _attempt(self, message: Message, letter: Letter) -> Outcome:
        try:
            code, text = await self._mailer.send(self._written(message, letter))
        except MailRefused as error:
            return Outcome(error.code, error.answer.encode(), error.told, error.final)
        return Outcome(code, text.encode())

    def _written(self, message: Message, letter: Letter) -> EmailMessage:
        recipient = letter.recipient
        target = LetterTarget(message.id, message.body.address, recipient.stop_token)
        if letter.reports:
            return letter_texts.payment_letter(letter.reports, target, self._origin, letter.seller)
        return letter_texts.confirmation_letter(
            recipient.token or "", message.body.asked_at, target, self._origin
        )
