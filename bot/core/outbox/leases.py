"""Leases that end without an outcome: their messages wait again, marked as uncertain.

At a start, times that a clock wrote while it was ahead are corrected too: times in the outbox are
the wall clock's, for other processes read them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.core.outbox import fair_accounts, lane_locks, lanes
from bot.core.outbox.groups import reopen_lanes
from bot.core.outbox.lane_locks import ACCOUNT, WHOLE_QUEUE
from bot.core.outbox.lanes import FOREVER
from bot.core.outbox.owners import LOCAL
from bot.core.outbox.queue_policy import CLOCK_SKEW

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.owners import Owners
    from bot.core.outbox.queue_policy import Queue

LONGEST_HOLD = 60_000
"""Milliseconds that a start keeps a hold at most: one call too early only prolongs it."""

PUT_AHEAD = (
    "SELECT DISTINCT lane FROM outbox"
    " WHERE queue = :queue AND state = 'waiting' AND created_at > :ahead"
)
PUT_NOW = (
    "UPDATE outbox SET due_at = :now + (due_at - created_at), created_at = :now"
    " WHERE queue = :queue AND state = 'waiting' AND created_at > :ahead"
)
LANES_AHEAD = (
    "SELECT lane FROM lanes WHERE queue = :queue AND (held_until > :latest OR arrival_at > :ahead)"
)
SHORTEN_HOLDS = (
    "UPDATE lanes SET held_until = :latest WHERE queue = :queue AND held_until > :latest"
)


def recover(tx: Transaction, queue: Queue, now: int, owners: Owners = LOCAL) -> int:
    """Prepare a queue at the start of a worker: end the leases of all who are presumed dead.

    Return how many leases that were.
    """
    ended = _release_where(tx, queue, FOREVER, partial(owners.presume_dead, tx, queue))
    lanes.rank_unranked(tx, queue)
    _correct_times(tx, queue, now)
    return ended


def release_expired(tx: Transaction, queue: Queue, now: int, owners: Owners = LOCAL) -> int:
    """End the leases that expired by `now`, if nothing is known of their owners.

    Return how many.
    """
    if not owners.leases_expire:
        return 0
    return _release_where(tx, queue, now, partial(owners.presume_dead, tx, queue))


def release_dead(tx: Transaction, queue: Queue, owners: Owners = LOCAL) -> int:
    """End the leases of workers that are known to be dead, expired or not; return how many."""
    return _release_where(tx, queue, FOREVER, partial(owners.find_dead, tx, queue))


def release_own(
    tx: Transaction, queue: Queue, owner: str, but: AbstractSet[str] = frozenset()
) -> int:
    """End a worker's own leases, but for those that it goes on with; return how many.

    That is no crash.
    """
    rows = _leased(tx, queue, FOREVER)
    own = [row for row in rows if _owner(row) == owner and row["lease"] not in but]
    return _release(tx, queue, own, crashed=False)


def _release_where(
    tx: Transaction, queue: Queue, until: int, choose: Callable[[set[str]], set[str]]
) -> int:
    rows = _leased(tx, queue, until)
    chosen = choose({_owner(row) for row in rows}) if rows else ()
    return _release(tx, queue, [row for row in rows if _owner(row) in chosen], crashed=True)


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
    names = {row["lane"] for row in rows}
    lane_locks.lock(tx, queue, *names)
    released = sum(
        tx.execute(
            "UPDATE outbox SET state = 'waiting', leased_until = NULL, lease = NULL, uncertain = 1,"
            " crashes = crashes + :crashed WHERE id = :id AND COALESCE(lease, '') = :lease",
            id=row["id"],
            lease=row["lease"] or "",
            crashed=int(crashed),
        )
        for row in rows
    )
    reopen_lanes(tx, queue, names)
    return released


def _correct_times(tx: Transaction, queue: Queue, now: int) -> None:
    """Adjust times that lie further in the future than clocks of a cluster differ.

    A message that was put in the future is put now, with its delay.
    """
    times = {"queue": queue.name, "latest": now + LONGEST_HOLD, "ahead": now + CLOCK_SKEW}
    names = {row["lane"] for sql in (PUT_AHEAD, LANES_AHEAD) for row in tx.query(sql, **times)}
    if not names:
        return
    lane_locks.lock(tx, queue, *names)
    tx.execute(PUT_NOW, **times, now=now)
    tx.execute(SHORTEN_HOLDS, **times)
    for lane in names:
        lanes.store(tx, queue, lane, "arrival_at", _arrival_at(tx, queue, lane, now))
        lanes.reopen(tx, queue, lane)


def _arrival_at(tx: Transaction, queue: Queue, lane: str, now: int) -> int:
    arrival_at = lanes.stored(tx, queue, lane, "arrival_at") or 0
    if lane.startswith(ACCOUNT):
        return fair_accounts.clamp(queue, arrival_at, now)
    pace = queue.pace if lane == WHOLE_QUEUE else queue.lane_pace(lane)
    return pace.clamp(arrival_at, now) if pace else 0
