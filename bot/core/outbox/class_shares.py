"""The shares of the priority classes: while several wait, they take turns by weight.

Strict precedence would let the more urgent class starve the others. Here alerts get five turns of
eight while they wait, replies two and notices one; what a class does not use goes to those that
wait. Where the cycle stands is stored, so a restart grants no turn twice; nothing is read or
written while only one class waits.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.lanes import WHOLE_QUEUE
from bot.core.outbox.queue_policy import ALERT, NOTICE, PRIORITIES, REPLY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

CYCLE = (REPLY, ALERT, ALERT, REPLY, ALERT, ALERT, NOTICE, ALERT)
"""The turns while all wait. More than half are the alerts', for a machine that is too busy to use
Telegram's whole rate has to keep up with payments all the same."""

TURN = "SELECT turn FROM lanes WHERE queue = :queue AND lane = :lane"
KEEP = (
    "INSERT INTO lanes (queue, lane, turn) VALUES (:queue, :lane, :turn)"
    " ON CONFLICT (queue, lane) DO UPDATE SET turn = excluded.turn"
)
UNDER_WAY = (
    "SELECT priority, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased'"
    " GROUP BY priority"
)


def in_turn(turn: int, waiting: Collection[int]) -> list[int]:
    """Return the waiting classes in the order in which the cycle comes to them from `turn` on."""
    coming = (*CYCLE[turn:], *CYCLE[:turn])
    return sorted(waiting, key=coming.index)


def after(turn: int, priority: int) -> int:
    """Return where the cycle stands after the next turn of this class."""
    coming = (*CYCLE[turn:], *CYCLE[:turn])
    return (turn + coming.index(priority) + 1) % len(CYCLE)


def full(tx: Transaction, queue: Queue) -> frozenset[int]:
    """Return the classes that have as many messages under way as they may."""
    under_way = _under_way(tx, queue)
    return frozenset(one for one, most in queue.class_width.items() if under_way[one] >= most)


def _under_way(tx: Transaction, queue: Queue) -> Counter[int]:
    if not queue.class_width:
        return Counter()
    rows = tx.query(UNDER_WAY, queue=queue.name)
    return Counter({row["priority"]: row["n"] for row in rows})


class Turns:
    """The turns of one claim: those of the open lanes, and of the classes within a lane."""

    def __init__(self, tx: Transaction, queue: Queue, now: int, most: int) -> None:
        self._tx = tx
        self._queue = queue
        self._open: dict[int, deque[str]] = {priority: deque() for priority in PRIORITIES}
        for row in lanes.open_lanes(tx, queue, now, most):
            self._open[row["priority"]].append(row["lane"])
        self._under_way = _under_way(tx, queue)
        self._cycles: dict[str, int] = {}

    def next(self) -> str | None:
        """Return the lane whose turn it is, each once; None where no class may send more."""
        waiting = [one for one, lanes_of in self._open.items() if lanes_of and self._has_room(one)]
        if not waiting:
            return None
        return self._open[self._in_turn(WHOLE_QUEUE, waiting)[0]].popleft()

    def order(self, lane: str, waiting: Iterable[int]) -> list[int]:
        """Return the classes that wait in a lane and may send more, in the order of their turns."""
        return self._in_turn(lane, [one for one in waiting if self._has_room(one)])

    def _in_turn(self, lane: str, waiting: list[int]) -> list[int]:
        if len(waiting) < 2:  # noqa: PLR2004 - one alone takes turns with nobody
            return waiting
        if lane not in self._cycles:
            row = self._tx.one(TURN, queue=self._queue.name, lane=lane)
            self._cycles[lane] = int(row["turn"]) if row else 0
        return in_turn(self._cycles[lane], waiting)

    def _has_room(self, priority: int) -> bool:
        most = self._queue.class_width.get(priority)
        return most is None or self._under_way[priority] < most

    def took(self, lane: str, priority: int) -> None:
        """Count a message of this lane and class that was claimed, where classes take turns."""
        self._under_way[priority] += 1
        for cycle in {WHOLE_QUEUE, lane} & self._cycles.keys():
            turn = self._cycles[cycle] = after(self._cycles[cycle], priority)
            self._tx.execute(KEEP, queue=self._queue.name, lane=cycle, turn=turn)
