"""Clocks that are set: what waits goes on waiting as long as it was to, and no longer.

Times in the outbox are the wall clock's, for other processes read them too. Where that clock is
set while we run, `Jumps` says by how much and `follow` moves what waits along with it; where it
was set while nobody ran, `set_right` keeps anything from waiting for a time that never comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import fair_accounts, lanes
from bot.core.outbox.lanes import ACCOUNT, WHOLE_QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.lanes import Queue

LEAST_JUMP = 5_000
"""Milliseconds below which a clock was only adjusted: nothing waits much longer for it."""

LONGEST_HOLD = 60_000
"""Milliseconds that a start keeps a hold at most: one call too early only prolongs it."""

AHEAD = (
    (
        "UPDATE lanes SET held_until = held_until + :jump"
        " WHERE queue = :queue AND held_until > :before AND held_until < :now"
    ),
    (
        "UPDATE lanes SET arrival_at = arrival_at + :jump"
        " WHERE queue = :queue AND arrival_at > :before AND arrival_at < :now"
    ),
)
BACK = (
    (
        "UPDATE lanes SET held_until = CASE WHEN held_until + :jump > :now"
        " THEN held_until + :jump ELSE :now END WHERE queue = :queue AND held_until > :now"
    ),
    (
        "UPDATE lanes SET arrival_at = CASE WHEN arrival_at + :jump > :now"
        " THEN arrival_at + :jump ELSE :now END WHERE queue = :queue AND arrival_at > :now"
    ),
    (
        "UPDATE outbox SET due_at = CASE WHEN due_at + :jump > :now"
        " THEN due_at + :jump ELSE :now END"
        " WHERE queue = :queue AND state = 'waiting' AND due_at > :now"
    ),
)


class Jumps:
    """Watches a clock that may be set beside `steady` (ms), which nobody can set."""

    def __init__(self, steady: Callable[[], int]) -> None:
        self._steady = steady
        self._ahead: int | None = None

    def since(self, now: int) -> int:
        """Give the milliseconds by which the clock was set since it was last `seen`, else 0."""
        ahead = now - self._steady()
        jump = 0 if self._ahead is None else ahead - self._ahead
        return jump if abs(jump) >= LEAST_JUMP else 0

    def seen(self, now: int) -> None:
        """Take the clock as it is for right: what it was set by has been followed."""
        self._ahead = now - self._steady()


def follow(tx: Transaction, queue: Queue, jump: int, now: int) -> None:
    """Move what waits for a time along with a clock that was just set by `jump` to `now`.

    Set ahead, paces and holds are kept, else Telegram's limits would be broken; a retry may come
    early. Set back, nothing waits longer than it was to; what is not sure to have been written
    before the jump comes early rather than late.
    """
    if jump > 0:
        _move_ahead(tx, queue, jump, now)
    else:
        _move_back(tx, queue, jump, now)
    for row in tx.query("SELECT lane FROM lanes WHERE queue = :queue", queue=queue.name):
        lanes.reopen(tx, queue, row["lane"])
    tx.wake(queue.name)


def _move_ahead(tx: Transaction, queue: Queue, jump: int, now: int) -> None:
    """Only what lies between both times was surely written before the jump."""
    for statement in AHEAD:
        tx.execute(statement, queue=queue.name, jump=jump, before=now - jump, now=now)


def _move_back(tx: Transaction, queue: Queue, jump: int, now: int) -> None:
    for statement in BACK:
        tx.execute(statement, queue=queue.name, jump=jump, now=now)


def set_right(tx: Transaction, queue: Queue, now: int) -> None:
    """After a start: let nothing wait for a time that only a clock that ran ahead has seen.

    A delay that was meant stays, counted from now.
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
        _set_right(tx, queue, row, now)


def _set_right(tx: Transaction, queue: Queue, row: Row, now: int) -> None:
    lane, arrival_at = row["lane"], row["arrival_at"]
    if lane.startswith(ACCOUNT):
        at = fair_accounts.sensible(queue, arrival_at, now)
    else:
        pace = queue.pace if lane == WHOLE_QUEUE else queue.lane_pace(lane)
        at = pace.sensible(arrival_at, now) if pace else 0
    tx.execute(
        "UPDATE lanes SET arrival_at = :at WHERE queue = :queue AND lane = :lane",
        queue=queue.name,
        lane=row["lane"],
        at=at,
    )
    lanes.reopen(tx, queue, row["lane"])
