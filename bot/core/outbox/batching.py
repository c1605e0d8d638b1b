"""One message for many: what would have to wait for a pace is brought along by what goes now."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from bot.core.errors import Unreadable
from bot.core.outbox import lanes

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

LOOKED_AT = 100
"""Messages behind one that are looked at for it to bring."""

BEHIND = (
    "SELECT id, body, due_at, uncertain FROM outbox WHERE queue = :queue AND lane = :lane"
    " AND state = 'waiting' AND priority = :priority AND id > :id ORDER BY id LIMIT :most"
)


def gathered(tx: Transaction, queue: Queue, row: Row, now: int) -> Row:
    """Let a message bring what waits behind it, as far as that would have to wait longer.

    What it brings is decided here and kept: if its answer is lost, it brings the same again.
    """
    if queue.gather is None or row["uncertain"]:
        return row
    behind = _behind(tx, queue, row, now)
    if not behind or not lanes.is_pressed(tx, queue, row["lane"], now):
        return row
    try:
        made = queue.gather(queue.decode(one["body"]) for one in (row, *behind))
    except Unreadable:  # it is set aside when its own turn comes
        return row
    if made is None:
        return row
    count, body = made
    for one in behind[: count - 1]:
        tx.execute("DELETE FROM outbox WHERE id = :id", id=one["id"])
    written = queue.encode(body)
    tx.execute("UPDATE outbox SET body = :body WHERE id = :id", body=written, id=row["id"])
    return {**row, "body": written}


def _behind(tx: Transaction, queue: Queue, row: Row, now: int) -> list[Row]:
    """Give what waits behind a message in its class, until one that may not go now."""
    rows = tx.query(
        BEHIND,
        queue=queue.name,
        lane=row["lane"],
        priority=row["priority"],
        id=row["id"],
        most=LOOKED_AT,
    )
    return list(takewhile(lambda one: one["due_at"] <= now and not one["uncertain"], rows))
