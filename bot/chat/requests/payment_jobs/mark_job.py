"""The job that sends a payment's mark to the service as it stands then; it is safe to repeat.

A buyer who keeps the receipt in Telegram hears of it there, another one by the service's email, if
they left an address. The seller reads which.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.chat.model.payment_marks import HIDDEN, PAID_BACK, SENT
from bot.chat.model.receipt import ReceiptKey
from bot.chat.receipts import notices
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.store import kept_receipts, payment_marks
from bot.core.errors import MethodNotAllowed, NotFound, PeerError, Refused, requested_wait
from bot.core.outbox import lanes

if TYPE_CHECKING:
    from bot.chat.messages.jobs import SendMark
    from bot.chat.model.payment_marks import PaymentMarks
    from bot.chat.provider.client import Client
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

TRIED_FOR = 7 * 24 * 3600 * 1000
"""Milliseconds for which the service is asked; the mark stays with the chat in any case."""

FIELDS = {SENT: "sent", PAID_BACK: "paidBack"}
"""The field of each mark at the service."""

EVENTS = {SENT: notices.SENT, PAID_BACK: notices.PAID_BACK}
"""What a buyer in Telegram hears of each mark."""


class MarkHandler:
    """Performs SendMark."""

    def __init__(self, outcomes: Outcomes, client: Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def send(self, message: Message) -> None:
        """Send a mark, and reply to the seller how the buyer is notified; raises StorageError."""
        job: SendMark = message.body
        ids = job.request_id, job.transaction_id
        marks = await self._outcomes.db.read(lambda tx: payment_marks.find_marks(tx, *ids))
        if marks is None:
            await self._outcomes.finish(message)
            return
        is_reached = await self._outcomes.db.read(lambda tx: self._reaches_keeper(tx, ids))
        body = mark_body(marks, job.mark, notify=not is_reached)
        try:
            client = self._client.keyed(message.id)
            is_emailed = await in_time(client.mark_payment(*ids, body))
        except PeerError as error:
            log_failure(job, error)
            await self._retry(message, job, error)
        except Refused as error:
            log_failure(job, error)
            is_unknown = isinstance(error, NotFound | MethodNotAllowed)
            key = "marks-local" if is_unknown else "marks-refused"
            await self._outcomes.finish(message, self._explain, key)
        else:
            unsure = "unsure" if message.attempts > 1 else "none"
            way = "email" if is_emailed else unsure
            await self._outcomes.finish(message, self._conclude, way, marks)

    def give_up(self, tx: Transaction, job: SendMark) -> None:
        """Notify the seller that the buyer hears nothing: the job was set aside."""
        self._explain(tx, job, "marks-given-up")

    async def _retry(self, message: Message, job: SendMark, error: PeerError) -> None:
        if self._outcomes.now() - job.asked_at >= TRIED_FOR:
            await self._outcomes.finish(message, self.give_up)
            return
        delay = RETRIES.delay_or_last(message.attempts, requested_wait(error))
        text = None if job.is_told or job.mark == HIDDEN else "marks-service-down"
        await self._outcomes.retry(message, replace(job, is_told=True), delay, text)

    def _explain(self, tx: Transaction, job: SendMark, key: str) -> None:
        """Notify the seller of a mark that never reached the buyer; not of hidden words."""
        if job.mark != HIDDEN:
            self._outcomes.send_text(tx, job, key)

    def _reaches_keeper(self, tx: Transaction, ids: tuple[str, str]) -> bool:
        """Check whether a buyer in Telegram keeps the receipt, and has not blocked the bot."""
        keeper = kept_receipts.keeper_of(tx, *ids)
        messages = self._outcomes.queues.messages
        return keeper is not None and not lanes.is_paused(tx, messages, str(keeper.account_id))

    def _conclude(self, tx: Transaction, job: SendMark, way: str, sent: PaymentMarks) -> None:
        """Notify the buyer and the seller of a mark that is set.

        They hear of it once, and again of a note that came after it; of a mark that was set since
        the `sent` ones by the job that sends it. `way` is how the buyer hears of it without
        Telegram: `email`, `none`, or `unsure` after an attempt whose answer was lost. A notice to a
        buyer who has blocked the bot waits.
        """
        outcomes, key = self._outcomes, ReceiptKey(job.request_id, job.transaction_id)
        if job.mark == HIDDEN:
            return
        if not payment_marks.announce(tx, key, job.mark, *sent.noted(job.mark)):
            return
        notices.notify_keeper(tx, outcomes.queues, key, EVENTS[job.mark], outcomes.now())
        if self._reaches_keeper(tx, key):
            way = "telegram"
        outcomes.send_text(tx, job, f"marks-{job.mark}-{way}")


def mark_body(marks: PaymentMarks, mark: str, *, notify: bool) -> dict[str, Any]:
    """Return the body that brings a mark at the service to what it is here."""
    if mark == HIDDEN:
        return {"messageHidden": marks.is_hidden}
    at, note = marks.noted(mark)
    if at is None:
        return {FIELDS[mark]: None}
    return {FIELDS[mark]: {"note": note} if note else {}, "notifyPayer": notify}
