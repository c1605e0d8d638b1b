"""The outcome of an attempt and its consequence: delivered, retried, or dead."""

from __future__ import annotations

import asyncio
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

STORE_SECONDS = 0.005
"""How long an outcome waits for others, to store them together."""

MOST_STORED = 32
"""Attempts in one transaction, for which payments of the same requests wait."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """An attempt to store."""

    message: outbox.Message
    outcome: AttemptOutcome
    attempt: notification.Attempt
    due_at: int | None
    """When the next attempt is due, None after the last attempt."""

    host: str
    """For the log."""

    stored: asyncio.Future[None]
    """Set once the attempt is stored."""

    def ending(self, queue: queue_policy.Queue, now: int) -> outbox.Ending:
        """Return how the message ends, or when it is retried."""
        message, note = self.message, self.outcome.note
        if self.outcome.delivered:
            return outbox.as_done(queue, message, now)
        if self.due_at is None:
            return outbox.settled(message, "dead", now, note)
        return outbox.retried(message, self.due_at, note, uncertain=message.uncertain)

    @property
    def name(self) -> str:
        """Return the label under which it is counted."""
        if self.outcome.delivered:
            return "delivered"
        return "dead" if self.due_at is None else "failed"


class AttemptRecorder:
    """Stores the attempts of one queue with their consequences, several in one transaction."""

    def __init__(
        self,
        db: database.Database,
        channel: notification.Channel,
        queue: queue_policy.Queue,
        now: Callable[[], int],
    ) -> None:
        self.queue = queue
        self._db, self._channel, self._now = db, channel, now
        self._waiting: list[Result] = []
        self._storing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def settle(
        self, message: outbox.Message, outcome: AttemptOutcome, began: int, host: str
    ) -> asyncio.Future[None]:
        """Settle an attempt begun at `began` (epoch ms); the future is set once it is stored.

        `host` is for the log.
        """
        now, loop = self._now(), asyncio.get_running_loop()
        attempt = outcome.attempt(began, now)
        delay = None if outcome.final else RETRIES.delay(message.attempts, outcome.retry_after)
        due_at = None if delay is None else now + delay
        stored: asyncio.Future[None] = loop.create_future()
        self._waiting.append(Result(message, outcome, attempt, due_at, host, stored))
        if self._timer is None and self._storing is None:
            self._timer = loop.call_later(STORE_SECONDS, self._store_now)
        return stored

    def settle_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Count a notification that became a dead letter, and settle the members of its letter."""
        if self._channel is notification.Channel.EMAIL:
            recipients.settle_letter(tx, message.id, self._now())
        tx.count("delivery_attempts", self._channel.value, "dead")

    def _store_now(self) -> None:
        self._timer = None
        self._storing = asyncio.create_task(self._store_waiting())

    async def _store_waiting(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:MOST_STORED], self._waiting[MOST_STORED:]
                await self._store(group)
        finally:
            self._storing = None

    async def _store(self, group: list[Result]) -> None:
        """Store results in one transaction; if that fails, store each in its own transaction."""
        try:
            in_time = await self._db.transaction_until_stored(lambda tx: self._settle(tx, group))
        except Exception as error:  # noqa: BLE001 - the handler of the message gets it
            if len(group) > 1:
                for one in group:
                    await self._store([one])
            elif not group[0].stored.done():
                group[0].stored.set_exception(error)
            return
        for result, ours in zip(group, in_time, strict=True):
            self._log(result, ours=ours)
            if not result.stored.done():
                result.stored.set_result(None)

    def _settle(self, tx: database.Transaction, group: list[Result]) -> list[bool]:
        """Settle messages and store their attempts; return whether each lease was still held.

        An attempt is stored even if its lease was lost, because the peer has seen it. It is not
        stored twice if only the response to an earlier commit was lost.
        """
        now = self._now()
        ends = [one.ending(self.queue, now) for one in group]
        in_time = outbox.end_leases(tx, self.queue, ends)
        return [
            self._add_attempt(tx, one, now, ours=ours)
            for one, ours in zip(group, in_time, strict=True)
        ]

    def _add_attempt(
        self, tx: database.Transaction, result: Result, now: int, *, ours: bool
    ) -> bool:
        notification_id = result.message.id
        if not ours and notification_rows.has_attempt(tx, notification_id, result.attempt):
            return True
        # The lane's lock keeps attempt numbers unique.
        notification_rows.add_attempt(tx, notification_id, result.attempt)
        if self._channel is notification.Channel.EMAIL:
            recipients.settle_letter(tx, notification_id, now)
        tx.count("delivery_attempts", self._channel.value, result.name if ours else "late")
        return ours

    def _log(self, result: Result, *, ours: bool) -> None:
        outcome, message = result.outcome, result.message
        facts: dict[str, Any] = {
            "delivery": message.id,
            "request": message.body.request_id,
            "host": result.host,
            "attempt": message.attempts,
            "took_ms": result.attempt.took,
        }
        if ours and outcome.delivered:
            log.info(f"{self._channel} delivered", status=outcome.status, **facts)  # noqa: G004 - structlog
            return
        facts["why"] = outcome.note
        if ours and result.due_at is not None:
            facts["again_in_s"] = (result.due_at - self._now()) // 1000
        log.warning(f"{self._channel} {result.name if ours else 'came too late'}", **facts)  # noqa: G004 - structlog
