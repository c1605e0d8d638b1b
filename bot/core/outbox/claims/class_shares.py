"""The shares of the priority classes: while several wait, they take turns by weight.

Strict priority would starve the lower classes. Of eight turns alerts get five, replies two and
notices one; the turns of a class without messages go to the others. The position in the cycle is
stored, so a restart grants no turn twice; it is not touched while only one class waits.

A notice takes its turns among alerts only once its lane has been open for a while: in a burst of
payments nobody misses the edits of cards between two alerts, and afterwards one is enough.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.lane_locks import WHOLE_QUEUE
from bot.core.outbox.queue_policy import ALERT, NOTICE, PRIORITIES, REPLY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

CYCLE = (REPLY, ALERT, ALERT, REPLY, ALERT, ALERT, NOTICE, ALERT)
"""The order of turns while all classes wait. Alerts have more than half, so that a machine that is
too busy to use Telegram's whole rate still keeps up with payments."""

NOTICE_PATIENCE = 30_000
"""Milliseconds for which the lanes of notices leave their turns to alerts."""

LEASED = (
    "SELECT priority, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased'"
    " GROUP BY priority"
)


def in_cycle_order(turn: int, waiting: Collection[int]) -> list[int]:
    """Return the waiting classes in the order of their next turns, from position `turn` on."""
    coming = (*CYCLE[turn:], *CYCLE[:turn])
    return sorted(waiting, key=coming.index)


def position_after(turn: int, priority: int) -> int:
    """Return the position in the cycle after the next turn of this class."""
    coming = (*CYCLE[turn:], *CYCLE[:turn])
    return (turn + coming.index(priority) + 1) % len(CYCLE)


def full_classes(tx: Transaction, queue: Queue) -> frozenset[int]:
    """Return the classes that have as many leased messages as they may."""
    leased = _count_leased(tx, queue)
    return frozenset(one for one, most in queue.class_width.items() if leased[one] >= most)


def _count_leased(tx: Transaction, queue: Queue) -> Counter[int]:
    if not queue.class_width:
        return Counter()
    rows = tx.query(LEASED, queue=queue.name)
    return Counter({row["priority"]: row["n"] for row in rows})


class ClassTurns:
    """The turns of one claim: of the open lanes by class, and of the classes within a lane."""

    def __init__(self, tx: Transaction, queue: Queue, now: int, most: int) -> None:
        self._tx = tx
        self._queue = queue
        self._open: dict[int, deque[str]] = {priority: deque() for priority in PRIORITIES}
        rows = lanes.open_lanes(tx, queue, now, most)
        has_alerts = any(row["priority"] == ALERT for row in rows)
        for row in rows:
            is_patient = row["priority"] == NOTICE and row["open_at"] > now - NOTICE_PATIENCE
            if not (has_alerts and is_patient):
                self._open[row["priority"]].append(row["lane"])
        self._leased = _count_leased(tx, queue)
        self._cycles: dict[str, int] = {}

    def next_lane(self) -> str | None:
        """Return the next lane to claim from, each once; None once no class may send more."""
        waiting = [one for one, lanes_of in self._open.items() if lanes_of and self._has_room(one)]
        if not waiting:
            return None
        return self._open[self._in_order(WHOLE_QUEUE, waiting)[0]].popleft()

    def order_classes(self, lane: str, waiting: Iterable[int]) -> list[int]:
        """Return the waiting classes of a lane that may send more, in the order of their turns."""
        return self._in_order(lane, [one for one in waiting if self._has_room(one)])

    def _in_order(self, lane: str, waiting: list[int]) -> list[int]:
        if len(waiting) < 2:  # noqa: PLR2004 - one class alone takes no turns
            return waiting
        if lane not in self._cycles:
            self._cycles[lane] = lanes.stored(self._tx, self._queue, lane, "turn") or 0
        return in_cycle_order(self._cycles[lane], waiting)

    def _has_room(self, priority: int) -> bool:
        most = self._queue.class_width.get(priority)
        return most is None or self._leased[priority] < most

    def count_claimed(self, lane: str, priority: int) -> None:
        """Count a claimed message; the cycles move on where classes take turns."""
        self._leased[priority] += 1
        for cycle in {WHOLE_QUEUE, lane} & self._cycles.keys():
            turn = self._cycles[cycle] = position_after(self._cycles[cycle], priority)
            lanes.store(self._tx, self._queue, cycle, "turn", turn)
