"""The outcome of an attempt and its consequence: delivered, retried, or dead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
        end: Callable[[database.Transaction, queue_policy.Queue, outbox.Message], bool]
        if outcome.delivered:
            name, end = "delivered", partial(outbox.done, now=now)
        elif delay is None:
            name, end = "dead", partial(outbox.dead_letter, now=now, note=outcome.note)
        else:
            name, end = "failed", partial(outbox.retry, due_at=now + delay, note=outcome.note)

        def store(tx: database.Transaction) -> bool:
            """Settle the message and store the attempt; return whether the lease was still held.

            An attempt is stored even if its lease was lost, because the peer has seen it. It is not
            stored twice if only the response to an earlier commit was lost.
            """
            ours = end(tx, self.queue, message)
            if not ours and notification_rows.has_attempt(tx, message.id, attempt):
                return True
            # The lane's lock keeps attempt numbers unique.
            notification_rows.add_attempt(tx, message.id, attempt)
            self._settled(tx, message, name if ours else "late")
            return ours

        ours = await self._db.transaction_until_stored(store)
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
        self._settled(tx, message, "dead")

    def _settled(self, tx: database.Transaction, message: outbox.Message, name: str) -> None:
        if self._channel is notification.Channel.EMAIL:
            recipients.settle_letter(tx, message.id, self._now())
        tx.count("delivery_attempts", self._channel.value, name)
