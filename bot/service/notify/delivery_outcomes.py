"""The outcome of an attempt, and what follows: delivered, tried again, or dead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import RetryTable
from bot.core.text import sanitize
from bot.service.model.delivery import Attempt, Channel
from bot.service.store import deliveries
from bot.service.usecases.letters import letter_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.core.outbox.queue_policy import Queue

log = structlog.get_logger()

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
RETRIES = RetryTable(
    (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR),
    jitter=200,
    longest_asked=24 * HOUR,
)
"""Attempts at a webhook and at a letter; an endpoint can't delay its webhooks for ever."""

LONGEST_ANSWER = 1024  # bytes
LONGEST_TROUBLE = 200  # characters
SUCCESS = range(200, 300)
"""For both protocols: RFC 9110 section 15.3, RFC 5321 section 4.2.1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt: `status` and `answer`, or the `trouble` that prevented them.

    `final`: another attempt would be useless; `retry_after` in seconds.
    """

    status: int | None = None
    answer: bytes = b""
    trouble: str | None = None
    final: bool = False
    retry_after: int = 0

    @property
    def delivered(self) -> bool:
        """Return whether the other side accepted the delivery."""
        return self.status in SUCCESS

    @property
    def note(self) -> str:
        """Describe it to the operator."""
        if self.trouble is None:
            return f"answered {self.status}"
        return sanitize.line(self.trouble, LONGEST_TROUBLE)

    def attempt(self, began: int, ended: int) -> Attempt:
        """Return the attempt to store, without characters that could harm its reader."""
        text = self.answer[:LONGEST_ANSWER].decode("utf-8", "replace")
        return Attempt(
            at=began,
            took=max(0, ended - began),
            status=self.status,
            answer=sanitize.text(text) if self.status is not None else None,
            trouble=self.note if self.trouble is not None else None,
        )


@dataclass(frozen=True, slots=True)
class DeliveryRecorder:
    """Stores the attempts of one queue, each in one transaction with its consequences."""

    db: Database
    channel: Channel
    queue: Queue
    now: Callable[[], int]

    async def settle(self, message: Message, outcome: Outcome, began: int, host: str) -> None:
        """Settle an attempt that began at `began` (epoch ms); `host` is for the log."""
        now = self.now()
        attempt, due_at = outcome.attempt(began, now), _due_at(message, outcome, now)
        in_time = await self.db.transaction_until_stored(
            lambda tx: self._store(tx, message, outcome, attempt, due_at)
        )
        entry = log.bind(
            delivery=message.id,
            request=message.body.request_id,
            host=host,
            attempt=message.attempts,
            took_ms=attempt.took,
        )
        if not in_time:
            entry.warning(f"{self.channel} came too late", why=outcome.note)
        elif outcome.delivered:
            entry.info(f"{self.channel} delivered", status=outcome.status)
        elif due_at is None:
            entry.warning(f"{self.channel} dead", why=outcome.note)
        else:
            again = (due_at - now) // 1000
            entry.warning(f"{self.channel} failed", why=outcome.note, again_in_s=again)

    def count_buried(self, tx: Transaction, message: Message) -> None:
        """Count a delivery that the worker buried, and settle the members of its letter."""
        if self.channel is Channel.EMAIL:
            letter_limits.settle_letter(tx, message.id, self.now())
        tx.count("delivery_attempts", self.channel.value, "dead")

    def _store(
        self,
        tx: Transaction,
        message: Message,
        outcome: Outcome,
        attempt: Attempt,
        due_at: int | None,
    ) -> bool:
        """Store an attempt and settle its message; return False if the lease was lost.

        The attempt is stored even then, because the other side has seen it. One that is stored
        already stays alone: the answer to its commit was lost.
        """
        queue, now = self.queue, self.now()
        if outcome.delivered:
            result, ours = "delivered", outbox.done(tx, queue, message, now)
        elif due_at is None:
            result, ours = "dead", outbox.bury(tx, queue, message, now, outcome.note)
        else:
            result, ours = "failed", outbox.retry(tx, queue, message, due_at, outcome.note)
        if not ours and deliveries.has_attempt(tx, message.id, attempt):
            return True
        deliveries.add_attempt(tx, message.id, attempt)  # numbered under the lock of the lane
        if self.channel is Channel.EMAIL:
            letter_limits.settle_letter(tx, message.id, now)
        tx.count("delivery_attempts", self.channel.value, result if ours else "late")
        return ours


def _due_at(message: Message, outcome: Outcome, now: int) -> int | None:
    delay = None if outcome.final else RETRIES.delay(message.attempts, outcome.retry_after)
    return None if delay is None else now + delay
