"""What happens by time alone: cards that open, end or get units back, and daily summaries.

When is written in the database, so a restart misses nothing: what came due meanwhile is done then.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import structlog

from bot.chat.alerts import daily_summary
from bot.chat.messages.queues import AGAIN
from bot.chat.store import listings, posts, sellers
from bot.chat.store.listings import LIVE
from bot.core.errors import StorageError
from bot.core.outbox import lanes, outbox
from bot.core.outbox.clock_changes import Jumps
from bot.core.text.translations import choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.messages.queues import Queues
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction

log = structlog.get_logger()

Due: TypeAlias = "Callable[[Transaction, Queues, int], int]"
"""Does a bounded number of what is due at a time (epoch ms); how many, 0 once nothing is left."""

LONGEST_WAIT = 30.0
"""Seconds between two looks: other processes write times too, and the clock may be set."""

BATCH = 50
"""Listings in one transaction, for others wait for it."""


class Schedule:
    """Does what is due; `now` in epoch ms, `steady` in ms of a clock that nobody sets."""

    def __init__(
        self,
        db: Database,
        queues: Queues,
        now: Callable[[], int],
        steady: Callable[[], int] | None = None,
    ) -> None:
        self._db = db
        self._queues = queues
        self._now = now
        self._jumps = Jumps(steady) if steady else None
        self._works: tuple[Due, ...] = (refresh_due_cards, daily_summary.put_due)

    async def run(self) -> None:
        """Do what is due until cancelled; trouble is a line in the log, and what is due waits."""
        woken = self._db.listen(posts.DUE_TOPIC)
        while True:
            woken.clear()
            wait = LONGEST_WAIT
            try:
                wait = await self.tick()
            except StorageError as error:
                log.debug("what is due waits", reason=str(error))
            except Exception:
                log.exception("what is due waits")
            try:
                async with asyncio.timeout(wait):
                    await woken.wait()
            except TimeoutError:
                continue

    async def tick(self) -> float:
        """Do all that is due by now; the seconds until the next look. Raises StorageError."""
        now = self._now()
        if self._jumps:
            if self._jumps.since(now) < 0:
                await self._db.transaction(partial(posts.pull_due, now=now))
            self._jumps.seen(now)
        for work in self._works:
            while await self._db.transaction(partial(_do, work, self._queues, now)):
                pass
        due_at = await self._db.read(posts.next_due)
        wait = LONGEST_WAIT if due_at is None else (due_at - self._now()) / 1000
        return min(max(wait, 0.0), LONGEST_WAIT)


def _do(work: Due, queues: Queues, now: int, tx: Transaction) -> int:
    return work(tx, queues, now)


def refresh_due_cards(tx: Transaction, queues: Queues, now: int) -> int:
    """Let the cards show what time has changed by `now` (epoch ms), at most BATCH; how many.

    Only the service knows whether a unit that was being paid for is sold or free again: it is
    asked.
    """
    due = posts.claim_due(tx, now, BATCH)
    for listing_id in due:
        listing = listings.get_listing(tx, listing_id)
        posts.refresh(tx, queues, listing_id, now)
        if listing.state == LIVE and listing.answer and listing.answer.reserved_units:
            _look(tx, queues, listing, now)
    return len(due)


def _look(tx: Transaction, queues: Queues, listing: Listing, now: int) -> None:
    language = sellers.language_of(tx, listing.seller_id) or choose(None)
    body = {
        "call": "look", "listing": listing.id, "chat": listing.chat_id, "language": language,
    }  # fmt: skip
    outbox.put(tx, queues.calls, f"{AGAIN}{listing.id}", body, now, priority=lanes.NOTICE)
