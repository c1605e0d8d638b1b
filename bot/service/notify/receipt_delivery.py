"""The delivery of payers' receipts: composed, sent to the mail server, settled by its answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.core.errors import MailRefused
from bot.core.outbox.worker import Job
from bot.core.text import email_addresses
from bot.service.model import receipt_links
from bot.service.model.delivery import Channel
from bot.service.model.payment_reports import PaymentNotice, ReceiptReport, RejectionNotice
from bot.service.model.recipient import STOP_RECEIPTS
from bot.service.notify.delivery_outcomes import DeliveryRecorder, Outcome
from bot.service.notify.letter_texts import LetterTarget
from bot.service.notify.receipt_letter import notice_letter, receipt_letter, rejection_letter
from bot.service.usecases.letters import payer_receipts
from bot.service.usecases.letters.payer_receipts import RECEIPTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage

    from bot.core.database.database import Database
    from bot.core.outbox.outbox import Message
    from bot.service.model.letter_words import LetterContents
    from bot.service.notify.letter_texts import LetterOrigin
    from bot.service.notify.smtp_sender import Mailer

CONCURRENCY = 2
"""Receipts under way: sellers' letters have connections to the mail server of their own."""


class ReceiptDelivery:
    """Delivers queued receipts; a worker performs its `job`.

    `key` signs the links that end them; the service's pages have the same.
    """

    def __init__(
        self, db: Database, mailer: Mailer, now: Callable[[], int], *, origin: LetterOrigin,
        key: bytes,
    ) -> None:  # fmt: skip
        self._db = db
        self._mailer = mailer
        self._now = now
        self._origin = origin
        self._key = key
        self._recorder = DeliveryRecorder(db, Channel.RECEIPT, RECEIPTS, now)
        self.job = Job(RECEIPTS, self.handle, CONCURRENCY, self._recorder.count_buried)

    async def handle(self, message: Message) -> None:
        """Make one attempt and settle it, unless the mailbox wants no receipts."""
        began = self._now()
        contents = await self._db.transaction(
            partial(payer_receipts.prepare_receipt, message=message, now=began)
        )
        if contents is not None:
            outcome = await self._attempt(message, contents)
            domain = message.body.address.rpartition("@")[2]
            await self._recorder.settle(message, outcome, began, domain)

    async def _attempt(self, message: Message, contents: LetterContents) -> Outcome:
        mailbox = email_addresses.mailbox_digest(message.body.address)
        stop = f"{STOP_RECEIPTS}{receipt_links.stop_token(self._key, mailbox)}"
        target = LetterTarget(message.id, message.body.address, stop)
        try:
            letter = self._written(message.body, target, contents)
            code, text = await self._mailer.send(letter)
        except MailRefused as error:
            return Outcome(error.code, error.answer.encode(), error.told, error.final)
        return Outcome(code, text.encode())

    def _written(
        self,
        body: ReceiptReport | RejectionNotice | PaymentNotice,
        target: LetterTarget,
        contents: LetterContents,
    ) -> EmailMessage:
        match body:
            case RejectionNotice():
                return rejection_letter(body, target, self._origin)
            case PaymentNotice():
                return notice_letter(body, target, self._origin, contents)
            case ReceiptReport():
                return receipt_letter(body, target, self._origin, contents)
