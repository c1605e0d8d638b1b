"""The outcome of an attempt and its consequence: delivered, retried, or dead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from bot.core.database import database
from bot.core.outbox import outbox, queue_policy
from bot.core.text import sanitize
from bot.service.notifications import notification, notification_rows, recipients

log = structlog.get_logger()

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
RETRIES = queue_policy.RetryTable(
    (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR),
    jitter=200,
    longest_asked=24 * HOUR,
)
"""Retry intervals of webhooks and letters. A longer delay that an endpoint asks for is capped, so
that it can't delay its webhooks forever.
"""

LONGEST_ANSWER = 1024  # bytes
LONGEST_PROBLEM = 200  # characters

SUCCESS = range(200, 300)
"""Statuses of both protocols: RFC 9110 section 15.3, RFC 5321 section 4.2.1."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The result of an attempt: an answer, or the problem that prevented one."""

    status: int | None = None
    answer: bytes = b""
    problem: str | None = None
    final: bool = False
    """True if another attempt would be useless."""

    retry_after: int = 0
    """Seconds that the peer asks to wait, 0 if it names none."""

    @property
    def delivered(self) -> bool:
        """True if the peer accepted the notification."""
        return self.status in SUCCESS

    @property
    def note(self) -> str:
        """Describe the outcome to the operator."""
        if self.problem is None:
            return f"answered {self.status}"
        return sanitize.line(self.problem, LONGEST_PROBLEM)

    def attempt(self, began: int, ended: int) -> notification.Attempt:
        """Return the attempt to store; times in epoch ms.

        Characters that could be harmful to display are removed.
        """
        text = self.answer[:LONGEST_ANSWER].decode("utf-8", "replace")
        return notification.Attempt(
            at=began,
            took=max(0, ended - began),
            status=self.status,
            answer=sanitize.text(text) if self.status is not None else None,
            problem=self.note if self.problem is not None else None,
        )


class AttemptRecorder:
    """Stores the attempts of one queue, each in one transaction with its consequence."""

    def __init__(
        self,
        db: database.Database,
        channel: notification.Channel,
        queue: queue_policy.Queue,
        now: Callable[[], int],
    ) -> None:
        self.queue = queue
        self._db, self._channel, self._now = db, channel, now

    async def settle(
        self, message: outbox.Message, outcome: AttemptOutcome, began: int, host: str
    ) -> None:
        """Settle an attempt begun at `began` (epoch ms); `host` is for the log."""
        now = self._now()
        attempt = outcome.attempt(began, now)
        delay = None if outcome.final else RETRIES.delay(message.attempts, outcome.retry_after)
        if outcome.delivered:
            name, ending = "delivered", outbox.as_done(self.queue, message, now)
        elif delay is None:
            name, ending = "dead", outbox.settled(message, "dead", now, outcome.note)
        else:
            name, due_at = "failed", now + delay
            ending = outbox.retried(message, due_at, outcome.note, uncertain=message.uncertain)
        ours = await self._db.transaction_until_stored(
            lambda tx: self._store(tx, message, attempt, name, ending)
        )
        facts: dict[str, Any] = {
            "delivery": message.id,
            "request": message.body.request_id,
            "host": host,
            "attempt": message.attempts,
            "took_ms": attempt.took,
        }
        if ours and outcome.delivered:
            log.info(f"{self._channel} delivered", status=outcome.status, **facts)  # noqa: G004 - structlog
            return
        facts["why"] = outcome.note
        if ours and name == "failed":
            facts["again_in_s"] = (delay or 0) // 1000
        log.warning(f"{self._channel} {name if ours else 'came too late'}", **facts)  # noqa: G004 - structlog

    def settle_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Count a notification that became a dead letter, and settle the members of its letter."""
        if self._channel is notification.Channel.EMAIL:
            recipients.settle_letter(tx, message.id, self._now())
        tx.count("delivery_attempts", self._channel.value, "dead")

    def _store(
        self,
        tx: database.Transaction,
        message: outbox.Message,
        attempt: notification.Attempt,
        name: str,
        ending: outbox.Ending,
    ) -> bool:
        """Settle a message and store its attempt; return whether the lease was still held.

        An attempt is stored even if its lease was lost, because the peer has seen it. It is not
        stored twice if only the response to an earlier commit was lost.
        """
        (ours,) = outbox.end_leases(tx, self.queue, [ending])
        if not ours and notification_rows.has_attempt(tx, message.id, attempt):
            return True
        # The lane's lock keeps attempt numbers unique.
        notification_rows.add_attempt(tx, message.id, attempt)
        if self._channel is notification.Channel.EMAIL:
            recipients.settle_letter(tx, message.id, self._now())
        tx.count("delivery_attempts", self._channel.value, name if ours else "late")
        return ours
