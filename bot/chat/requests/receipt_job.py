"""The job that fetches a receipt and keeps it for a buyer's account; its call changes nothing.

So it is tried until the service answers, for a day. What was delivered is fetched again when it is
sent: the queue holds the receipt's ids alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from bot.chat.messages.buttons import linkable
from bot.chat.messages.payloads import ReceiptMessage, new_message
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.model.receipt import ReceiptKey
from bot.chat.receipts.delivered_file import telegram_file
from bot.chat.requests.job_failures import RETRIES, in_time
from bot.chat.store import kept_receipts
from bot.chat.store.kept_receipts import Keeper
from bot.core.errors import PeerError, Refused, requested_wait
from bot.core.outbox import outbox
from bot.core.outbox.outbox import State
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.jobs import KeepReceipt
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.model.receipt import Receipt
    from bot.chat.provider.client import Client
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the service is asked; then the buyer has to tap again."""


class ReceiptHandler:
    """Performs KeepReceipt."""

    def __init__(self, outcomes: Outcomes, client: Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def keep(self, message: Message) -> None:
        """Keep a receipt that the service has; the reply about any other address says nothing."""
        job: KeepReceipt = message.body
        try:
            receipt = await in_time(self._client.receipt(_key(job)))
        except Refused as error:
            log.info("receipt not found", error=type(error).__name__)
            await self._outcomes.finish(message, self._reply, "receipt-unknown")
        except PeerError as error:
            log.warning("receipt not fetched", error=type(error).__name__, reason=str(error))
            await self._retry(message, job, error)
        else:
            await self._outcomes.finish(message, self._keep, receipt)

    def give_up(self, tx: Transaction, job: KeepReceipt) -> None:
        """Ask the buyer to try again, after a job that was set aside."""
        self._reply(tx, job, "receipt-given-up")

    def _keep(self, tx: Transaction, job: KeepReceipt, receipt: Receipt) -> None:
        """Keep the receipt and queue what shows it; one of another account is not shown."""
        reply_to, now = job.reply_to, self._outcomes.now()
        keeper = Keeper(reply_to.chat_id, reply_to.language)
        if kept_receipts.keep(tx, _key(job), keeper, receipt, now):
            self._put(tx, job, ReceiptMessage(*_key(job), reply_to.language))
            if telegram_file(tx, job.request_id):
                self._put(tx, job, ReceiptMessage(*_key(job), reply_to.language, is_file=True))
        else:
            self._put(tx, job, new_message(_taken(receipt, reply_to.language), reply_to.language))

    async def _retry(self, message: Message, job: KeepReceipt, error: PeerError) -> None:
        """Retry later; the buyer is told once that it takes longer."""
        outcomes = self._outcomes
        if outcomes.now() - job.asked_at >= TRIED_FOR:
            await outcomes.finish(message, self.give_up)
            return
        due_at = outcomes.now() + RETRIES.delay_or_last(message.attempts, requested_wait(error))
        state = State(replace(job, is_told=True))

        def work(tx: Transaction) -> None:
            note = "the service does not answer"
            kept = outbox.retry(tx, outcomes.queues.jobs, message, due_at, note, state=state)
            if kept and not job.is_told:
                self._reply(tx, job, "receipt-later")

        await outcomes.db.transaction_until_stored(work)

    def _reply(self, tx: Transaction, job: KeepReceipt, key: str) -> None:
        language = job.reply_to.language
        self._put(tx, job, new_message(Reply(t(language, key)), language))

    def _put(self, tx: Transaction, job: KeepReceipt, payload: MessagePayload) -> None:
        outcomes, chat = self._outcomes, str(job.reply_to.chat_id)
        outbox.put(tx, outcomes.queues.messages, chat, payload, outcomes.now())


def _key(job: KeepReceipt) -> ReceiptKey:
    return ReceiptKey(job.request_id, job.transaction_id)


def _taken(receipt: Receipt, language: str) -> Reply:
    """Reply that another account keeps a receipt, with the address of its page and no contents."""
    text = t(language, "receipt-taken")
    if not linkable(receipt.url):
        page = t(language, "receipt-kept-page", url=escaped(receipt.url))
        return Reply(f"{text}\n{page}")
    return Reply(text, ((Button(t(language, "button-receipt"), url=receipt.url),),))
