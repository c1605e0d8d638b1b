"""Leases that end without an outcome: their messages wait again, marked as uncertain.

At a start, times that a clock wrote while it was ahead are corrected too: times in the outbox are
the wall clock's, for other processes read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import fair_accounts, lanes, lease_owners
from bot.core.outbox.groups import reopen_lanes
from bot.core.outbox.lanes import ACCOUNT, FOREVER, WHOLE_QUEUE

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

LONGEST_HOLD = 60_000
"""Milliseconds that a start keeps a hold at most: one call too early only prolongs it."""


def recover(tx: Transaction, queue: Queue, now: int) -> int:
    """Prepare a queue at the start of a worker: end the leases of all owners not known to be alive.

    Return how many leases that were.
    """
    ended = release_expired(tx, queue, FOREVER)
    lanes.rank_unranked(tx, queue)
    _correct_times(tx, queue, now)
    return ended


def release_expired(tx: Transaction, queue: Queue, now: int) -> int:
    """End the leases that expired by `now` and whose owners are not known to be alive.

    Return how many.
    """
    rows = _leased(tx, queue, now)
    expired = [row for row in rows if not lease_owners.is_alive(_owner(row))]
    return _release(tx, queue, expired, crashed=True)


def release_dead(tx: Transaction, queue: Queue) -> int:
    """End the leases of workers that are known to be gone, expired or not; return how many."""
    rows = _leased(tx, queue, FOREVER)
    dead = [row for row in rows if lease_owners.is_dead(_owner(row))]
    return _release(tx, queue, dead, crashed=True)


def release_own(tx: Transaction, queue: Queue, owner: str) -> int:
    """End the leases of a worker that stops; return how many. A stop is no crash."""
    own = [row for row in _leased(tx, queue, FOREVER) if _owner(row) == owner]
    return _release(tx, queue, own, crashed=False)


def _leased(tx: Transaction, queue: Queue, until: int) -> list[Row]:
    return tx.query(
        "SELECT id, lane, lease FROM outbox"
        " WHERE queue = :queue AND state = 'leased' AND leased_until <= :until",
        queue=queue.name,
        until=until,
    )


def _owner(row: Row) -> str:
    return str(row["lease"] or "").rpartition("/")[0]


def _release(tx: Transaction, queue: Queue, rows: list[Row], *, crashed: bool) -> int:
    for row in rows:
        tx.execute(
            "UPDATE outbox SET state = 'waiting', leased_until = NULL, lease = NULL, uncertain = 1,"
            " crashes = crashes + :crashed WHERE id = :id",
            id=row["id"],
            crashed=int(crashed),
        )
    if rows:
        reopen_lanes(tx, queue, {row["lane"] for row in rows})
    return len(rows)


def _correct_times(tx: Transaction, queue: Queue, now: int) -> None:
    """Set times in the future right: a message put in the future is put now, with its delay."""
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
        lane, arrival_at = row["lane"], row["arrival_at"]
        if lane.startswith(ACCOUNT):
            at = fair_accounts.clamp(queue, arrival_at, now)
        else:
            pace = queue.pace if lane == WHOLE_QUEUE else queue.lane_pace(lane)
            at = pace.clamp(arrival_at, now) if pace else 0
        lanes.store(tx, queue, lane, "arrival_at", at)
        lanes.reopen(tx, queue, lane)
