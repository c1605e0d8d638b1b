"""Sends queued letters to sellers and payers: composes, sends by SMTP, settles by the answer."""

from __future__ import annotations

from collections.abc import Callable
from email.message import EmailMessage
from functools import partial

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox, worker
from bot.core.text import contacts
from bot.service.notifications import (
    letter_texts,
    notification,
    outcomes,
    payer_letters,
    receipt_letter,
    recipients,
    smtp_sender,
)
from bot.service.payments import payment_reports

CONCURRENT_LETTERS = 4
"""Letters to sellers that are sent at once: mail servers limit connections."""

CONCURRENT_RECEIPTS = 2
"""Letters to payers that are sent at once, on their own connections."""


class LetterSender:
    """Sends queued letters to sellers; a worker runs its `queue_handler`.

    Letters come from `sender`, and their links lead to `public_url`.
    """

    def __init__(
        self,
        db: database.Database,
        mailer: smtp_sender.Mailer,
        now: Callable[[], int],
        *,
        sender: str,
        public_url: str,
    ) -> None:
        self._db = db
        self._mailer = mailer
        self._now = now
        self._origin = letter_texts.LetterOrigin(sender, public_url)
        self._recorder = outcomes.AttemptRecorder(
            db, notification.Channel.EMAIL, recipients.MAILS, now
        )
        self.queue_handler = worker.QueueHandler(
            recipients.MAILS, self.handle, CONCURRENT_LETTERS, self._recorder.settle_dead_letter
        )

    async def handle(self, message: outbox.Message) -> None:
        """Make one attempt and settle it, unless the letter must wait or is already settled."""
        began = self._now()
        letter = await self._db.transaction(
            partial(recipients.prepare_letter, message=message, now=began)
        )
        if letter is None:
            return
        outcome = await self._attempt(message, letter)
        domain = message.body.address.rpartition("@")[2]  # the log doesn't get the address
        await self._recorder.settle(message, outcome, began, domain)

    async def _attempt(
        self, message: outbox.Message, letter: recipients.Letter
    ) -> outcomes.AttemptOutcome:
        try:
            code, text = await self._mailer.send(self._compose(message, letter))
        except errors.MailRefused as error:
            return outcomes.AttemptOutcome(
                error.code, error.answer.encode(), error.reason, error.final
            )
        return outcomes.AttemptOutcome(code, text.encode())

    def _compose(self, message: outbox.Message, letter: recipients.Letter) -> EmailMessage:
        recipient = letter.recipient
        target = letter_texts.LetterTarget(message.id, message.body.address, recipient.stop_token)
        if letter.reports:
            return letter_texts.payment_letter(letter.reports, target, self._origin, letter.seller)
        return letter_texts.confirmation_letter(
            recipient.token or "", message.body.asked_at, target, self._origin
        )


class ReceiptSender:
    """Sends queued letters to payers; a worker runs its `queue_handler`.

    `key` signs the links that end receipts. The service's pages check it.
    """

    def __init__(
        self,
        db: database.Database,
        mailer: smtp_sender.Mailer,
        now: Callable[[], int],
        *,
        origin: letter_texts.LetterOrigin,
        key: bytes,
    ) -> None:
        self._db = db
        self._mailer = mailer
        self._now = now
        self._origin = origin
        self._key = key
        self._recorder = outcomes.AttemptRecorder(
            db, notification.Channel.RECEIPT, payer_letters.RECEIPTS, now
        )
        self.queue_handler = worker.QueueHandler(
            payer_letters.RECEIPTS,
            self.handle,
            CONCURRENT_RECEIPTS,
            self._recorder.settle_dead_letter,
        )

    async def handle(self, message: outbox.Message) -> None:
        """Make one attempt and settle it, unless the mailbox has unsubscribed from receipts."""
        began = self._now()
        contents = await self._db.transaction(
            partial(payer_letters.prepare_receipt, message=message, now=began)
        )
        if contents is None:
            return
        outcome = await self._attempt(message, contents)
        domain = message.body.address.rpartition("@")[2]
        await self._recorder.settle(message, outcome, began, domain)

    async def _attempt(
        self, message: outbox.Message, contents: notification.LetterContents
    ) -> outcomes.AttemptOutcome:
        mailbox = contacts.mailbox_digest(message.body.address)
        stop = f"{notification.STOP_RECEIPTS}{notification.stop_token(self._key, mailbox)}"
        target = letter_texts.LetterTarget(message.id, message.body.address, stop)
        try:
            letter = self._compose(message.body, target, contents)
            code, text = await self._mailer.send(letter)
        except errors.MailRefused as error:
            return outcomes.AttemptOutcome(
                error.code, error.answer.encode(), error.reason, error.final
            )
        return outcomes.AttemptOutcome(code, text.encode())

    def _compose(
        self,
        body: payment_reports.ReceiptReport
        | payment_reports.RejectionNotice
        | payment_reports.PaymentNotice,
        target: letter_texts.LetterTarget,
        contents: notification.LetterContents,
    ) -> EmailMessage:
        match body:
            case payment_reports.RejectionNotice():
                return receipt_letter.rejection_letter(body, target, self._origin)
            case payment_reports.PaymentNotice():
                return receipt_letter.notice_letter(body, target, self._origin, contents)
            case payment_reports.ReceiptReport():
                return receipt_letter.receipt_letter(body, target, self._origin, contents)
