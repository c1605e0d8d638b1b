"""Sends queued letters to sellers and payers: composes, sends by SMTP, settles by the answer."""

from __future__ import annotations

from collections.abc import Callable
from email.message import EmailMessage
from typing import Generic, TypeVar

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox, queue_policy, worker
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

Contents = TypeVar("Contents")


class LetterSender(Generic[Contents]):
    """Sends the queued letters of a channel; a worker runs its `queue_handler`.

    `prepare` returns what `compose` needs, None if the letter must wait or is already settled.
    """

    def __init__(
        self,
        db: database.Database,
        mailer: smtp_sender.Mailer,
        now: Callable[[], int],
        channel: notification.Channel,
        queue: queue_policy.Queue,
        concurrency: int,
        prepare: Callable[[database.Transaction, outbox.Message, int], Contents | None],
        compose: Callable[[outbox.Message, Contents], EmailMessage],
    ) -> None:
        self._db, self._mailer, self._now = db, mailer, now
        self._prepare, self._compose = prepare, compose
        self._recorder = outcomes.AttemptRecorder(db, channel, queue, now)
        self.queue_handler = worker.QueueHandler(
            queue, self.handle, concurrency, self._recorder.settle_dead_letter
        )

    async def handle(self, message: outbox.Message) -> None:
        """Make one attempt and settle it, unless there is nothing to send now."""
        began = self._now()
        contents = await self._db.transaction(lambda tx: self._prepare(tx, message, began))
        if contents is None:
            return
        try:
            code, text = await self._mailer.send(self._compose(message, contents))
            outcome = outcomes.AttemptOutcome(code, text.encode())
        except errors.MailRefused as error:
            outcome = outcomes.AttemptOutcome(
                error.code, error.answer.encode(), error.reason, error.final
            )
        domain = message.body.address.rpartition("@")[2]  # the log doesn't get the address
        await self._recorder.settle(message, outcome, began, domain)


def to_sellers(
    db: database.Database,
    mailer: smtp_sender.Mailer,
    now: Callable[[], int],
    origin: letter_texts.LetterOrigin,
) -> LetterSender[recipients.Letter]:
    """Return the sender of letters to sellers."""

    def compose(message: outbox.Message, letter: recipients.Letter) -> EmailMessage:
        recipient, body = letter.recipient, message.body
        target = letter_texts.LetterTarget(message.id, body.address, recipient.stop_token)
        if letter.reports:
            return letter_texts.payment_letter(letter.reports, target, origin, letter.seller)
        token = recipient.token or ""
        return letter_texts.confirmation_letter(token, body.asked_at, target, origin)

    return LetterSender(
        db, mailer, now, notification.Channel.EMAIL, recipients.MAILS, CONCURRENT_LETTERS,
        recipients.prepare_letter, compose,
    )  # fmt: skip


def to_payers(
    db: database.Database,
    mailer: smtp_sender.Mailer,
    now: Callable[[], int],
    origin: letter_texts.LetterOrigin,
    key: bytes,
) -> LetterSender[notification.LetterContents]:
    """Return the sender of letters to payers.

    `key` signs the links that end receipts. The service's pages check it.
    """

    def compose(message: outbox.Message, contents: notification.LetterContents) -> EmailMessage:
        body, mailbox = message.body, contacts.mailbox_digest(message.body.address)
        stop = f"{notification.STOP_RECEIPTS}{notification.stop_token(key, mailbox)}"
        target = letter_texts.LetterTarget(message.id, body.address, stop)
        match body:
            case payment_reports.RejectionNotice():
                return receipt_letter.rejection_letter(body, target, origin)
            case payment_reports.PaymentNotice():
                return receipt_letter.notice_letter(body, target, origin, contents)
            case _:
                return receipt_letter.receipt_letter(body, target, origin, contents)

    return LetterSender(
        db, mailer, now, notification.Channel.RECEIPT, payer_letters.RECEIPTS,
        CONCURRENT_RECEIPTS, payer_letters.prepare_receipt, compose,
    )  # fmt: skip
