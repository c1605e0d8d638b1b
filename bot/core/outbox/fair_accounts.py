"""Fairness among accounts: whoever was served least goes first, over all lanes together.

An account is who causes a message, such as the person who wrote an update in some chat. Each of
its messages costs it an interval by a clock of its own, which is the message's rank; lanes go by
the ranks of their heads (start-time fair queueing). An account that rested comes up to a burst
before the rank that is served now, so it goes before all that never rest: one with a thousand
messages in two hundred lanes has as many turns as one with a single lane. A rank only orders; it
makes nothing wait while there is room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox.lanes import ACCOUNT, WHOLE_QUEUE

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

FURTHEST = 3_600
"""Messages by which an account can fall behind the others: an hour of them at one a second."""

STANDING = """
    SELECT (SELECT arrival_at FROM lanes WHERE queue = :queue AND lane = :account) AS arrival_at,
    (SELECT rank FROM lanes WHERE queue = :queue AND lane = :whole) AS served,
    (
        SELECT 1 FROM lanes WHERE queue = :queue AND priority = :priority
        AND rank IS NOT NULL AND open_at <= :now AND paused IS NULL AND waits_for IS NULL
        LIMIT 1
    ) AS waiting
"""
COUNT = (
    "INSERT INTO lanes (queue, lane, arrival_at) VALUES (:queue, :account, :at)"
    " ON CONFLICT (queue, lane) DO UPDATE SET arrival_at = excluded.arrival_at"
)
SERVED = (
    "INSERT INTO lanes (queue, lane, rank) VALUES (:queue, :whole, :rank)"
    " ON CONFLICT (queue, lane) DO UPDATE SET rank = excluded.rank"
    " WHERE lanes.rank IS NULL OR lanes.rank < excluded.rank"
)


def rank(tx: Transaction, queue: Queue, account: str, priority: int, now: int) -> int | None:
    """Return the rank of an account's next message; None where the queue knows no accounts."""
    pace = queue.account_pace
    if pace is None:
        return None
    (row,) = tx.query(
        STANDING,
        queue=queue.name, whole=WHOLE_QUEUE, account=f"{ACCOUNT}{account}",
        priority=priority, now=now,
    )  # fmt: skip
    if row["waiting"] is None:  # nobody is before anybody then
        served(tx, queue, now)
    reached = now if row["waiting"] is None or row["served"] is None else row["served"]
    arrival_at = sensible(queue, row["arrival_at"] or 0, now)
    return max(arrival_at, min(now, int(reached))) - pace.burst * pace.interval


def sensible(queue: Queue, arrival_at: int, now: int) -> int:
    """Return an account's clock, no further ahead than it may come."""
    pace = queue.account_pace
    return min(arrival_at, now + FURTHEST * pace.interval) if pace else 0


def count(tx: Transaction, queue: Queue, account: str, rank: int) -> None:
    """Count a message of this rank that was put."""
    if pace := queue.account_pace:
        at = rank + (pace.burst + 1) * pace.interval
        tx.execute(COUNT, queue=queue.name, account=f"{ACCOUNT}{account}", at=at)


def served(tx: Transaction, queue: Queue, rank: int | None) -> None:
    """Store what rank is served now, that of a message that was claimed: the furthest counts."""
    if queue.account_pace and rank is not None:
        tx.execute(SERVED, queue=queue.name, whole=WHOLE_QUEUE, rank=rank)
