"""The hourly sweeps of a queue, in transactions that others need not wait long for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.core.outbox import lanes, outbox

if TYPE_CHECKING:
    from bot.core.database.database import Database
    from bot.core.outbox.queue_policy import Queue


async def sweep_settled(db: Database, queue: Queue, before: int) -> None:
    """Delete the messages of a queue that were settled before a time (epoch ms)."""
    while await db.bulk(partial(outbox.sweep, queue=queue, before=before)):
        pass


async def sweep_lanes(db: Database, queue: Queue, now: int) -> None:
    """Delete the rows of a queue's lanes that are not in use.

    Lanes fall out of use all the time: the last part is the one that is not full.
    """
    while await db.bulk(partial(lanes.sweep, queue=queue, now=now)) == lanes.SWEPT:
        pass
