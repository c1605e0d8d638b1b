"""Back-pressure: a queue whose messages cause replies claims no more than can be answered.

Waiting messages are stored, in order and cheap; their replies are queued only when they can be
sent soon. So a flood waits in its own lane and not before everybody's replies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.queue_policy import REPLY, SECOND

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import BackPressure, Queue

CHECK_INTERVAL = 50
"""Milliseconds until a queue without room checks again."""

COUNT_OPEN = """
    SELECT COUNT(*) AS n FROM (
        SELECT 1 FROM lanes WHERE queue = :queue AND priority = :priority AND open_at <= :now
        AND paused IS NULL AND waits_for IS NULL LIMIT :most
    ) AS open
"""
COUNT_WAITING = """
    SELECT COUNT(*) AS n FROM (
        SELECT 1 FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'
        AND priority = :priority LIMIT :most
    ) AS waiting
"""


def free_room(tx: Transaction, queue: Queue, now: int, most: int) -> int:
    """Return how many messages may be claimed now, up to `most`."""
    limits = queue.back_pressure
    if limits is None or limits.most_open is None:
        return most
    where = {"queue": limits.queue.name, "priority": REPLY}
    row = tx.one(COUNT_OPEN, **where, now=now, most=limits.most_open)
    return max(0, min(most, limits.most_open - (row["n"] if row else 0)))


def next_check(tx: Transaction, queue: Queue, now: int) -> int:
    """Return when a claim may find room again; 0 if there is room now."""
    return 0 if free_room(tx, queue, now, 1) else now + CHECK_INTERVAL


def hold_back(tx: Transaction, queue: Queue, lane: str, now: int) -> bool:
    """Hold a lane with too many waiting replies until one of them may be sent.

    Return whether it is held. A paused lane is not: its next update may resume it.
    """
    limits = queue.back_pressure
    if limits is None or not _is_full(tx, limits, lane):
        return False
    if lanes.is_paused(tx, limits.queue, lane):
        return False
    pace = limits.queue.lane_pace(lane)
    lanes.hold(tx, queue, lane, now + (pace.interval if pace else SECOND))
    return True


def _is_full(tx: Transaction, limits: BackPressure, lane: str) -> bool:
    most = limits.most_waiting
    row = tx.one(COUNT_WAITING, queue=limits.queue.name, lane=lane, priority=REPLY, most=most)
    return row is not None and row["n"] >= most
