"""Back-pressure: a queue whose messages cause others claims no more than can be sent.

What waits here is stored, in order and cheap; what it would cause is made only when it can be
sent soon. So a flood piles up where its own order is kept and not before everybody's replies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.queue_policy import REPLY, SECOND

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Feeds, Queue

LOOK_AGAIN = 50
"""Milliseconds until a queue that waits for another looks at it again."""

OPEN = """
    SELECT COUNT(*) AS n FROM (
        SELECT 1 FROM lanes WHERE queue = :queue AND priority = :priority AND open_at <= :now
        AND paused IS NULL AND waits_for IS NULL LIMIT :most
    ) AS open
"""
BEHIND = """
    SELECT COUNT(*) AS n FROM (
        SELECT 1 FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'
        AND priority = :priority LIMIT :most
    ) AS behind
"""


def room(tx: Transaction, queue: Queue, now: int, most: int) -> int:
    """Return how many messages may be claimed now, up to `most`."""
    feeds = queue.feeds
    if feeds is None or feeds.most_open is None:
        return most
    where = {"queue": feeds.queue.name, "priority": REPLY}
    row = tx.one(OPEN, **where, now=now, most=feeds.most_open)
    return max(0, min(most, feeds.most_open - (row["n"] if row else 0)))


def next_look(tx: Transaction, queue: Queue, now: int) -> int:
    """Return when a claim may find room again; 0 where there is some."""
    return 0 if room(tx, queue, now, 1) else now + LOOK_AGAIN


def holds_up(tx: Transaction, queue: Queue, lane: str, now: int) -> bool:
    """Hold a lane up whose replies have piled up, until one more may have been sent.

    One that is closed to us is let through: what comes in may be what opens it again.
    """
    feeds = queue.feeds
    if feeds is None or not _is_behind(tx, feeds, lane):
        return False
    if lanes.is_paused(tx, feeds.queue, lane):
        return False
    pace = feeds.queue.lane_pace(lane)
    lanes.hold(tx, queue, lane, now + (pace.interval if pace else SECOND))
    return True


def _is_behind(tx: Transaction, feeds: Feeds, lane: str) -> bool:
    row = tx.one(BEHIND, queue=feeds.queue.name, lane=lane, priority=REPLY, most=feeds.most_waiting)
    return row is not None and row["n"] >= feeds.most_waiting
