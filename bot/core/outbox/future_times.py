"""Times that a clock wrote while it was ahead: corrected at the start, so that nothing waits long.

Times in the outbox are the wall clock's, for other processes read them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import fair_accounts, lanes
from bot.core.outbox.lanes import ACCOUNT, WHOLE_QUEUE

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

LONGEST_HOLD = 60_000
"""Milliseconds that a start keeps a hold at most: one call too early only prolongs it."""


def correct(tx: Transaction, queue: Queue, now: int) -> None:
    """Set the times of a queue right that this clock can't have written yet.

    A message put in the future is put now, and keeps its delay.
    """
    tx.execute(
        "UPDATE outbox SET due_at = :now + (due_at - created_at), created_at = :now"
        " WHERE queue = :queue AND state = 'waiting' AND created_at > :now",
        queue=queue.name,
        now=now,
    )
    tx.execute(
        "UPDATE lanes SET held_until = :latest WHERE queue = :queue AND held_until > :latest",
        queue=queue.name,
        latest=now + LONGEST_HOLD,
    )
    rows = tx.query(
        "SELECT lane, arrival_at FROM lanes"
        " WHERE queue = :queue AND (arrival_at > :now OR open_at > :now)",
        queue=queue.name,
        now=now,
    )
    for row in rows:
        _correct_lane(tx, queue, row, now)


def _correct_lane(tx: Transaction, queue: Queue, row: Row, now: int) -> None:
    lane, arrival_at = row["lane"], row["arrival_at"]
    if lane.startswith(ACCOUNT):
        at = fair_accounts.clamp(queue, arrival_at, now)
    else:
        pace = queue.pace if lane == WHOLE_QUEUE else queue.lane_pace(lane)
        at = pace.clamp(arrival_at, now) if pace else 0
    tx.execute(
        "UPDATE lanes SET arrival_at = :at WHERE queue = :queue AND lane = :lane",
        queue=queue.name,
        lane=lane,
        at=at,
    )
    lanes.reopen(tx, queue, lane)
