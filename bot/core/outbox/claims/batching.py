"""Batching: messages that would wait for a rate limit are sent as part of the one that goes now."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from bot.core.errors import Unreadable
from bot.core.outbox import lanes

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

MAX_GATHERED = 100
"""Messages behind one that may be joined to it."""

BEHIND = (
    "SELECT id, body, due_at, uncertain FROM outbox WHERE queue = :queue AND lane = :lane"
    " AND state = 'waiting' AND priority = :priority AND id > :id ORDER BY id LIMIT :most"
)
DELETE = (
    "DELETE FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
    " AND priority = :priority AND id > :first AND id <= :last"
)


def gather_waiting(tx: Transaction, queue: Queue, row: Row, now: int) -> Row:
    """Join the messages behind one to it, if they would have to wait longer than it.

    The joined body is stored, so that a retry sends the same one.
    """
    if queue.gather is None or row["uncertain"]:
        return row
    behind = _behind(tx, queue, row, now)
    if not behind or not lanes.has_backlog(tx, queue, row["lane"], now):
        return row
    try:
        made = queue.gather(queue.decode(one["body"]) for one in (row, *behind))
    except Unreadable:  # it is set aside when its own turn comes
        return row
    if made is None:
        return row
    count, body = made
    span = {"queue": queue.name, "lane": row["lane"], "priority": row["priority"]}
    tx.execute(DELETE, **span, first=row["id"], last=behind[count - 2]["id"])
    written = queue.encode(body)
    tx.execute("UPDATE outbox SET body = :body WHERE id = :id", body=written, id=row["id"])
    return {**row, "body": written}


def _behind(tx: Transaction, queue: Queue, row: Row, now: int) -> list[Row]:
    """Return the messages behind one in its class, up to the first that may not go now."""
    rows = tx.query(
        BEHIND,
        queue=queue.name,
        lane=row["lane"],
        priority=row["priority"],
        id=row["id"],
        most=MAX_GATHERED,
    )
    return list(takewhile(lambda one: one["due_at"] <= now and not one["uncertain"], rows))
