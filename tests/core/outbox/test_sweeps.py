"""Sweeps delete everything that is due, and never much of it in one transaction."""

from __future__ import annotations

from functools import partial

from bot.core.database.database import Database, Transaction
from bot.core.outbox import lanes, outbox, worker
from tests.support.outbox_queue import MESSAGES
from tests.support.service_harness import NOON

NUMBER = 2 * lanes.SWEPT + 1
KEPT = "kept"
LANE = "INSERT INTO lanes (queue, lane, held_until) VALUES (:queue, :lane, :until)"
SETTLED = (
    "INSERT INTO outbox (id, queue, lane, priority, body, state, due_at, created_at, settled_at)"
    " VALUES (:id, :queue, 'a', 0, '{}', 'done', 1, 1, :at)"
)


async def test_lanes_are_swept_in_parts(db: Database) -> None:
    """A queue with a lane a request has as many lanes as requests were paid in an hour."""
    queue = MESSAGES.name

    def fill(tx: Transaction) -> None:
        for number in range(NUMBER):
            tx.execute(LANE, queue=queue, lane=str(number), until=0)
        tx.execute(LANE, queue=queue, lane=KEPT, until=NOON + 1)

    await db.bulk(fill)
    assert await db.bulk(partial(lanes.sweep, queue=MESSAGES, now=NOON)) == lanes.SWEPT
    await worker.sweep(db, MESSAGES, NOON)
    assert [row["lane"] for row in await db.query("SELECT lane FROM lanes")] == [KEPT]


async def test_settled_messages_are_swept_in_parts(db: Database) -> None:
    """An hour's updates of a busy bot are ten thousands."""

    def fill(tx: Transaction) -> None:
        for number in range(NUMBER):
            tx.execute(SETTLED, id=str(number), queue=MESSAGES.name, at=NOON)
        tx.execute(SETTLED, id=KEPT, queue=MESSAGES.name, at=NOON + 1)

    await db.bulk(fill)
    swept = await db.bulk(partial(outbox.sweep, queue=MESSAGES, before=NOON + 1))
    assert len(swept) == lanes.SWEPT
    await worker.sweep(db, MESSAGES, NOON + MESSAGES.kept_for + 1)
    assert [row["id"] for row in await db.query("SELECT id FROM outbox")] == [KEPT]
