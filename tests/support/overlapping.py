"""Two transactions on PostgreSQL that overlap in a forced order, on two connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.core.database.database import Database, Transaction

PATIENCE = 20.0
WAITERS = (
    "SELECT COUNT(*) AS n FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@dataclass
class Counted:
    """A transaction function, and how often it ran: more than once after a conflict."""

    work: Callable[[Transaction], Any]
    runs: int = 0

    def __call__(self, tx: Transaction) -> Any:
        self.runs += 1
        return self.work(tx)


@dataclass
class Overlap:
    """What became of two overlapping transactions: results, or the exceptions that they raised."""

    first: Any
    second: Any
    runs: tuple[int, int] = field(default=(1, 1))


async def overlap(
    db: Database, first: Callable[[Transaction], Any], second: Callable[[Transaction], Any]
) -> Overlap:
    """Run `second` after `first` has done its work and before it is committed.

    `first` is committed once `second` waits for one of its locks, or is over.
    """
    has_run, may_commit = threading.Event(), threading.Event()
    one, two = Counted(first), Counted(second)

    def hold(tx: Transaction) -> Any:
        result = one(tx)
        has_run.set()
        assert may_commit.wait(PATIENCE)
        return result

    earlier = asyncio.create_task(db.transaction(hold))
    assert await asyncio.to_thread(has_run.wait, PATIENCE)
    later = asyncio.create_task(db.transaction(two))
    async with asyncio.timeout(PATIENCE):
        while not later.done() and not (await db.query(WAITERS))[0]["n"]:
            await asyncio.wait([later], timeout=0.005)
    may_commit.set()
    results = await asyncio.gather(earlier, later, return_exceptions=True)
    return Overlap(*results, (one.runs, two.runs))
