"""The messages of a lane that may be claimed now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.lane_locks import ACCOUNT

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.claims.class_shares import ClassTurns
    from bot.core.outbox.queue_policy import Queue

CLAIMED = (
    "SELECT id, lane, priority, subject, body, attempts, failures, crashes, uncertain, created_at,"
    " rank"
    " FROM outbox"
)
BY_ID = f"{CLAIMED} WHERE id = :id"
DUE = (
    f"{CLAIMED} WHERE queue = :queue AND lane = :lane AND state = 'waiting' AND due_at <= :now"
    " ORDER BY due_at, id LIMIT :free"
)


DUE_IN_TURN = DUE.replace(
    "ORDER BY",
    "ORDER BY COALESCE((SELECT turn.arrival_at FROM lanes AS turn WHERE turn.queue = :queue"
    " AND turn.lane = :account || outbox.subject), 0),",
)


def find_due(tx: Transaction, queue: Queue, lane: str, now: int, turns: ClassTurns) -> list[Row]:
    """Return the messages of a lane that its order and its width let go now, the next one first."""
    free = queue.width - lanes.count_leased(tx, queue, lane)
    if queue.subject_turns:
        account = _account(lane)
        return tx.query(
            DUE_IN_TURN, queue=queue.name, lane=lane, now=now, free=free, account=account
        )
    if not queue.ordered:
        return tx.query(DUE, queue=queue.name, lane=lane, now=now, free=free)
    # Classes don't wait for each other: a reply that can't be sent delays no alert.
    heads = tx.query(lanes.HEADS, queue=queue.name, lane=lane)
    due = {head["priority"]: head["id"] for head in heads if head["due_at"] <= now}
    return [
        row for one in turns.order_classes(lane, due)[:free] for row in tx.query(BY_ID, id=due[one])
    ]


def record_turn(tx: Transaction, queue: Queue, row: Row, now: int) -> None:
    """Store when a subject was served in its lane, where subjects take turns."""
    if queue.subject_turns and row["subject"] is not None:
        lanes.store(tx, queue, f"{_account(row['lane'])}{row['subject']}", "arrival_at", now)


def _account(lane: str) -> str:
    """Return what the names of the rows begin with that keep the turns of a lane's subjects."""
    return f"{ACCOUNT}{lane} "
