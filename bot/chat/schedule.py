"""The schedule: cards that open, end or get units back by time alone, summaries, reminders.

The times are in the database, so a restart misses nothing: overdue work is done at the start.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from bot.chat.alerts import claim_messages, daily_summary
from bot.chat.messages.jobs import CheckRequest
from bot.chat.messages.queues import BACKGROUND
from bot.chat.store import listings, posts
from bot.chat.store.listings import LIVE
from bot.core.errors import NoLongerLead, StorageError
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import NOTICE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Database, Transaction

log = structlog.get_logger()

LONGEST_WAIT = {"sqlite": 30.0, "postgresql": 5.0}
"""Seconds between two checks, by engine: other processes store times too. Those of replicas are
many, and a wake-up from another machine may be lost."""

BATCH = 50
"""Listings in one transaction: other transactions wait for it."""


class Schedule:
    """Performs due work; `now` in epoch ms."""

    def __init__(self, db: Database, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._queues = queues
        self._now = now
        self._longest_wait = LONGEST_WAIT[db.engine]

    async def run(self) -> None:
        """Perform due work until cancelled; an error is a line in the log, and the work waits.

        Raises NoLongerLead.
        """
        woken = self._db.listen(posts.DUE_TOPIC)
        while True:
            woken.clear()
            wait = self._longest_wait
            try:
                wait = await self.tick()
            except StorageError as error:
                log.debug("due work waits", reason=str(error))
            except NoLongerLead:
                raise
            except Exception:
                log.exception("due work waits")
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), wait)

    async def tick(self) -> float:
        """Perform all work that is due; return the seconds until the next check.

        Raises StorageError.
        """
        now = self._now()
        for enqueue in DUE_WORK:
            while await self._db.bulk(partial(enqueue, queues=self._queues, now=now)):
                pass
        due_at = await self._db.read(posts.next_due)
        wait = self._longest_wait if due_at is None else (due_at - self._now()) / 1000
        return min(max(wait, 0.0), self._longest_wait)


def refresh_due_cards(tx: Transaction, queues: Queues, now: int) -> int:
    """Queue the refresh of up to BATCH cards that time has changed by `now` (epoch ms).

    Return their number. Only the service knows whether a reserved unit was sold: it is asked.
    """
    due = posts.claim_due(tx, now, BATCH)
    for listing_id in due:
        listing = listings.get_listing(tx, listing_id)
        posts.refresh(tx, queues, listing_id, now)
        if listing.state == LIVE and listing.answer and listing.answer.reserved_units:
            lane, job = f"{BACKGROUND}{listing_id}", CheckRequest(listing_id)
            outbox.put(tx, queues.jobs, lane, job, now, priority=NOTICE)
    return len(due)


def retry_pictures(tx: Transaction, queues: Queues, now: int) -> int:
    """Queue another try of up to BATCH pictures that Telegram refused; return their number."""
    return posts.retry_pictures(tx, queues, now, BATCH)


DUE_WORK = (
    refresh_due_cards,
    retry_pictures,
    daily_summary.enqueue_due,
    claim_messages.enqueue_reminders,
    claim_messages.enqueue_digests,
)
"""What time alone causes: each queues a batch of what is due and returns its size."""
