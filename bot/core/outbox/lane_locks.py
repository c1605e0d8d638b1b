"""Locks of lanes, where several transactions run at the same time.

A message is put, claimed and settled under the lock of its lane: otherwise two claims take the same
message, or a put doesn't see that the lane has just become empty. Nothing is locked on SQLite,
where one transaction writes at a time, and in queues whose transactions are alone in a slice.

The order is the same everywhere, so that transactions don't wait for each other in a circle: the
whole queue, its accounts, its lanes by name. A claim waits for no lane: it passes over locked ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

WHOLE_QUEUE = "*"
"""Name of the lane whose row has the rate limit of the whole queue."""

ACCOUNT = "@"
"""Prefix of the lanes whose rows are accounts (core/outbox/fair_accounts.py)."""

LOCK = """
    INSERT INTO lanes (queue, lane) VALUES (:queue, :lane)
    ON CONFLICT (queue, lane) DO UPDATE SET turn = lanes.turn
"""
LOCK_OF_MESSAGES = """
    INSERT INTO lanes (queue, lane)
    SELECT DISTINCT queue, lane FROM outbox WHERE {} ORDER BY queue, lane
    ON CONFLICT (queue, lane) DO UPDATE SET turn = lanes.turn
"""
MOST = "LIMIT :most"


def lock(tx: Transaction, queue: Queue, *lanes: str) -> None:
    """Lock lanes until the transaction ends; a lane without a row gets one.

    A transaction that reads what it then puts or settles there calls this first.
    """
    if queue.slice is None:
        for lane in sorted(set(lanes), key=_order):
            tx.lock(LOCK, queue=queue.name, lane=lane)


def lock_for_put(tx: Transaction, queue: Queue, lane: str, account: str | None) -> None:
    """Lock what a put changes: its lane; where accounts are ranked, the queue and account too."""
    if account and queue.account_pace:
        lock(tx, queue, WHOLE_QUEUE, f"{ACCOUNT}{account}", lane)
    else:
        lock(tx, queue, lane)


def lock_paces(tx: Transaction, queue: Queue) -> None:
    """Lock what all claims of a queue share: its rate limit and its accounts' ranks."""
    if queue.pace or queue.account_pace:
        lock(tx, queue, WHOLE_QUEUE)


def lock_lanes_of(tx: Transaction, where: str, **given: object) -> None:
    """Lock the lanes of the messages that a condition chooses."""
    tx.lock(LOCK_OF_MESSAGES.format(where), **given)


def passing_over(tx: Transaction, queue: Queue, sql: str) -> str:
    """Return a statement whose SELECTs of `:most` lanes lock these, and leave out locked ones."""
    if tx.engine == "sqlite" or queue.slice:
        return sql
    return sql.replace(MOST, f"{MOST} FOR NO KEY UPDATE SKIP LOCKED")


def _order(lane: str) -> tuple[bool, bool, str]:
    return lane != WHOLE_QUEUE, not lane.startswith(ACCOUNT), lane
