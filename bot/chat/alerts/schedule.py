"""The schedule: cards that open, end or get units back with time, summaries and reminders.

Times are stored in the database, so that a restart misses nothing: overdue work is done at startup.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import structlog

from bot.chat.alerts import claim_messages, daily_summary
from bot.chat.model import jobs
from bot.chat.model.queues import BACKGROUND, Queues
from bot.chat.store import link_rows, post_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox, queue_policy

log = structlog.get_logger()

LONGEST_WAIT = {"sqlite": 30.0, "postgresql": 5.0}
"""Maximum seconds between two checks, by engine, because other processes store times too. With
PostgreSQL there may be many replicas, and a wake-up from another machine may be lost."""

BATCH = 50
"""Links in one transaction; a limit, because other transactions wait."""


class Schedule:
    """Performs due work; `now` in epoch ms."""

    def __init__(self, db: database.Database, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._queues = queues
        self._now = now
        self._longest_wait = LONGEST_WAIT[db.engine]

    async def run(self) -> None:
        """Perform due work until cancelled; errors are logged, and the work is tried again later.

        Raises NoLongerLead.
        """
        woken = self._db.listen(post_rows.DUE_TOPIC)
        while True:
            woken.clear()
            wait = self._longest_wait
            try:
                wait = await self.tick()
            except errors.StorageError as error:
                log.debug("due work waits", reason=str(error))
            except errors.NoLongerLead:
                raise
            except Exception:
                log.exception("due work waits")
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), wait)

    async def tick(self) -> float:
        """Perform all due work; return the seconds until the next check.

        Raises StorageError.
        """
        now = self._now()
        for enqueue in DUE_WORK:
            while await self._db.bulk(partial(enqueue, queues=self._queues, now=now)):
                pass
        due_at = await self._db.read(post_rows.next_due)
        wait = self._longest_wait if due_at is None else (due_at - self._now()) / 1000
        return min(max(wait, 0.0), self._longest_wait)


def refresh_due_cards(tx: database.Transaction, queues: Queues, now: int) -> int:
    """Queue the refresh of up to BATCH links whose scheduled change is due at `now` (epoch ms).

    Return their number. If units are reserved, a check is queued too, because only the service
    knows whether they were sold.
    """
    due = post_rows.claim_due(tx, now, BATCH)
    for link_id in due:
        link = link_rows.get_link(tx, link_id)
        post_rows.refresh(tx, queues, link_id, now)
        if link.state == link_rows.LIVE and link.answer and link.answer.reserved_units:
            lane, job = f"{BACKGROUND}{link_id}", jobs.CheckRequest(link_id)
            outbox.put(tx, queues.jobs, lane, job, now, priority=queue_policy.NOTICE)
    return len(due)


def retry_pictures(tx: database.Transaction, queues: Queues, now: int) -> int:
    """Queue another attempt at up to BATCH pictures that Telegram refused; return their number."""
    return post_rows.retry_pictures(tx, queues, now, BATCH)


DUE_WORK = (
    refresh_due_cards,
    retry_pictures,
    daily_summary.enqueue_due,
    claim_messages.enqueue_reminders,
    claim_messages.enqueue_digests,
)
"""Scheduled work: each function queues a batch of due work and returns its size."""
