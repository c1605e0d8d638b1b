"""The messages of a lane that may be claimed now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import lanes

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.claims.class_shares import ClassTurns
    from bot.core.outbox.queue_policy import Queue

CLAIMED = (
    "SELECT id, lane, priority, body, attempts, failures, crashes, uncertain, created_at, rank"
    " FROM outbox"
)
BY_ID = f"{CLAIMED} WHERE id = :id"
DUE = (
    f"{CLAIMED} WHERE queue = :queue AND lane = :lane AND state = 'waiting' AND due_at <= :now"
    " ORDER BY due_at, id LIMIT :free"
)


def find_due(tx: Transaction, queue: Queue, lane: str, now: int, turns: ClassTurns) -> list[Row]:
    """Return the messages of a lane that its order and its width let go now, the next one first."""
    free = queue.width - lanes.count_leased(tx, queue, lane)
    if not queue.ordered:
        return tx.query(DUE, queue=queue.name, lane=lane, now=now, free=free)
    # Classes don't wait for each other: a reply that can't be sent delays no alert.
    heads = tx.query(lanes.HEADS, queue=queue.name, lane=lane)
    due = {head["priority"]: head["id"] for head in heads if head["due_at"] <= now}
    return [
        row for one in turns.order_classes(lane, due)[:free] for row in tx.query(BY_ID, id=due[one])
    ]
