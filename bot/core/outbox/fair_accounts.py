"""Fairness among accounts: the account that was served least goes first, across all lanes.

An account is the person or application that causes a message. Each message costs its account an
interval of a virtual clock, and the time on that clock is the message's rank; lanes go in the order
of the ranks of their first messages (start-time fair queueing). An account that was idle starts up
to a burst before the rank that is served now, so it goes before those that never pause: an account
with a thousand messages in two hundred lanes gets as many turns as one with a single lane. A rank
only orders; no message waits for it while there is room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.lane_locks import ACCOUNT, WHOLE_QUEUE

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

MAX_LAG = 3_600
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


def next_rank(tx: Transaction, queue: Queue, account: str, priority: int, now: int) -> int | None:
    """Return the rank of an account's next message; None if the queue has no accounts."""
    pace = queue.account_pace
    if pace is None:
        return None
    (row,) = tx.query(
        STANDING,
        queue=queue.name, whole=WHOLE_QUEUE, account=f"{ACCOUNT}{account}",
        priority=priority, now=now,
    )  # fmt: skip
    if row["waiting"] is None:  # the ranks start again
        record_served(tx, queue, now)
    reached = now if row["waiting"] is None or row["served"] is None else row["served"]
    arrival_at = clamp(queue, row["arrival_at"] or 0, now)
    return max(arrival_at, min(now, int(reached))) - pace.burst * pace.interval


def clamp(queue: Queue, arrival_at: int, now: int) -> int:
    """Return an account's clock, at most MAX_LAG messages ahead of `now`."""
    pace = queue.account_pace
    return min(arrival_at, now + MAX_LAG * pace.interval) if pace else 0


def count_message(tx: Transaction, queue: Queue, account: str, rank: int) -> None:
    """Move the clock of an account on by a queued message of this rank."""
    if pace := queue.account_pace:
        at = rank + (pace.burst + 1) * pace.interval
        lanes.store(tx, queue, f"{ACCOUNT}{account}", "arrival_at", at)


def record_served(tx: Transaction, queue: Queue, rank: int | None) -> None:
    """Store the rank of a claimed message, unless a higher one was served."""
    if queue.account_pace and rank is not None:
        lanes.store(tx, queue, WHOLE_QUEUE, "rank", rank, only_later=True)
