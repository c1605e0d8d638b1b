"""Series: messages of one lane that are claimed together and handled one after the other.

A series costs a claim and its lane two statements, however many messages it has, and the next
message of a lane need not wait until the outcome of the last one is stored. Its messages share a
lease. Only queues without order, paces, accounts and gathering have series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

# A lane with a leased message has a series under way.
TAKE = """
    UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until,
    lease = :lease WHERE id IN (
        SELECT id FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'
        AND due_at <= :now AND NOT EXISTS (
            SELECT 1 FROM outbox AS busy
            WHERE busy.queue = :queue AND busy.lane = :lane AND busy.state = 'leased'
        )
        ORDER BY due_at, id LIMIT :most
    )
    RETURNING id, lane, priority, body, attempts - 1 AS attempts, failures, crashes, uncertain,
    created_at, due_at
"""


def take(tx: Transaction, queue: Queue, lane: str, now: int, lease: str) -> list[Row]:
    """Take the next series of an open lane under a lease; return its rows in their order."""
    rows = tx.query(
        TAKE, queue=queue.name, lane=lane, now=now, until=now + queue.lease, lease=lease,
        most=queue.series,
    )  # fmt: skip
    return sorted(rows, key=lambda row: (row["due_at"], row["id"]))
