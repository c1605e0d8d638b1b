"""What came of an attempt, and what follows: settled, tried again, or given up."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.core.outbox import outbox
from bot.core.text import sanitize
from bot.service.model.delivery import Attempt, Channel
from bot.service.store import deliveries
from bot.service.usecases import letter_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.lanes import Queue
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

# Seconds before each attempt; no more of them, dead.
SCHEDULE = (0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600)
JITTER = 200  # per mille, both ways
LONGEST_RETRY_AFTER = 24 * 3600  # seconds; an endpoint can't park its webhooks for ever
MOST_KEPT = 1024  # bytes of an answer
MOST_TROUBLE = 200  # characters
SUCCESS = range(200, 300)
"""Both protocols say so: RFC 9110 section 15.3, RFC 5321 section 4.2.1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt: `status` and `answer`, or `trouble` where there was none.

    `final` where trying again is of no use; `retry_after` in seconds.
    """

    status: int | None = None
    answer: bytes = b""
    trouble: str | None = None
    final: bool = False
    retry_after: int = 0

    @property
    def delivered(self) -> bool:
        """Whether the other side took it."""
        return self.status in SUCCESS

    @property
    def note(self) -> str:
        """Say it to the operator."""
        if self.trouble is None:
            return f"answered {self.status}"
        return sanitize.line(self.trouble, MOST_TROUBLE)

    def attempt(self, began: int, ended: int) -> Attempt:
        """Give it as it is written down, with nothing in it that could do harm where it is read."""
        text = self.answer[:MOST_KEPT].decode("utf-8", "replace")
        return Attempt(
            at=began,
            took=max(0, ended - began),
            status=self.status,
            answer=sanitize.text(text) if self.status is not None else None,
            trouble=self.note if self.trouble is not None else None,
        )


def next_attempt(made: int, now: int, retry_after: int, jitter: int) -> int | None:
    """Give when to try after `made` attempts, in epoch ms; None after the last one.

    `jitter` is in per mille of the wait, `retry_after` in seconds.
    """
    if made >= len(SCHEDULE):
        return None
    wait = SCHEDULE[made] * (1000 + jitter)
    return now + max(wait, min(retry_after, LONGEST_RETRY_AFTER) * 1000)


@dataclass(frozen=True, slots=True)
class DeliveryRecorder:
    """Where the attempts of one queue are written down together with what follows from them."""

    db: Database
    channel: Channel
    queue: Queue
    now: Callable[[], int]

    async def settle(self, message: Message, outcome: Outcome, began: int, where: str) -> None:
        """Settle an attempt that began at `began` (epoch ms); the log says `where` it went."""
        now = self.now()
        attempt, due_at = outcome.attempt(began, now), _due(message, outcome, now)
        work = partial(self._write, message=message, outcome=outcome, attempt=attempt)
        in_time = await self.db.transaction_until_stored(partial(work, due_at=due_at, now=now))
        told = log.bind(
            delivery=message.id,
            request=message.body.request_id,
            host=where,
            attempt=message.attempts,
            took_ms=attempt.took,
        )
        if not in_time:
            told.warning(f"{self.channel} came too late", why=outcome.note)
        elif outcome.delivered:
            told.info(f"{self.channel} delivered", status=outcome.status)
        elif due_at is None:
            told.warning(f"{self.channel} dead", why=outcome.note)
        else:
            again = (due_at - now) // 1000
            told.warning(f"{self.channel} failed", why=outcome.note, again_in_s=again)

    def buried(self, tx: Transaction, message: Message) -> None:
        """Count a delivery that the worker set aside; it is dead, and listed with the reason."""
        if self.channel is Channel.EMAIL:
            letter_limits.settle_letter(tx, message.id, self.now())
        tx.count("delivery_attempts", self.channel.value, "dead")

    def _write(
        self,
        tx: Transaction,
        *,
        message: Message,
        outcome: Outcome,
        attempt: Attempt,
        due_at: int | None,
        now: int,
    ) -> bool:
        """Write all of it; False where the lease was lost and another attempt decides.

        The attempt is kept even so, for the other side has seen it.
        """
        deliveries.add_attempt(tx, message.id, attempt)
        queue = self.queue
        if outcome.delivered:
            came, ours = "delivered", outbox.done(tx, queue, message, now)
        elif due_at is None:
            came, ours = "dead", outbox.bury(tx, queue, message, now, outcome.note)
        else:
            came, ours = "failed", outbox.retry(tx, queue, message, due_at, outcome.note)
        if self.channel is Channel.EMAIL:
            letter_limits.settle_letter(tx, message.id, now)
        tx.count("delivery_attempts", self.channel.value, came if ours else "late")
        return ours


def _due(message: Message, outcome: Outcome, now: int) -> int | None:
    if outcome.final:
        return None
    jitter = secrets.randbelow(2 * JITTER + 1) - JITTER
    return next_attempt(message.attempts, now, outcome.retry_after, jitter)
