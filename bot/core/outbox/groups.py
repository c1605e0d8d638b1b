"""Groups of lanes, which share a limit of leased messages.

A lane whose group is full is parked: no claim reads it again until its group has room. So parked
lanes cost a claim nothing, however many they are, and none of them precedes other lanes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from bot.core.outbox import lane_locks, lanes

if TYPE_CHECKING:
    from collections.abc import Collection

    from bot.core.database.database import Transaction
    from bot.core.outbox.queue_policy import Queue

MAX_PARKED = 100
"""Lanes that one claim parks, and reads beside those that it claims from."""

LEASED = (
    "SELECT lane, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased' GROUP BY lane"
)
# Finds one group after the other by the index, without reading all of their lanes.
NEXT_GROUP = (
    "SELECT waits_for FROM lanes WHERE queue = :queue AND waits_for > :last"
    " ORDER BY waits_for LIMIT 1"
)
WAITS = "SELECT 1 AS one FROM lanes WHERE queue = :queue AND waits_for = :name LIMIT 1"
PARKED_AT_ONCE = 10
PARK = (
    "UPDATE lanes SET waits_for = :name WHERE queue = :queue AND lane IN ("  # noqa: S608 - our own words
    + ", ".join(f":lane_{number}" for number in range(PARKED_AT_ONCE))
    + ")"
)
ADMIT = """
    WITH free AS (
        SELECT lane FROM lanes WHERE queue = :queue AND waits_for = :name
        ORDER BY priority, open_at, lane LIMIT :most
    )
    UPDATE lanes SET waits_for = NULL WHERE queue = :queue AND lane IN (SELECT lane FROM free)
"""


class LaneGroups:
    """The groups of a queue in one transaction, with the free slots of each.

    A lane may be in several groups; a series takes one slot of each.
    """

    def __init__(self, tx: Transaction, queue: Queue) -> None:
        self._tx = tx
        self._queue = queue
        self._taken: Counter[str] | None = None
        self._full: defaultdict[str, list[str]] = defaultdict(list)

    def free_slots(self, lane: str) -> int | None:
        """Return how many messages of a lane its groups have room for; None if it has no group."""
        return min((max(0, self._free(name)) for name in self._names(lane)), default=None)

    def count_claimed(self, lane: str, slots: int) -> None:
        """Count slots that claimed messages of a lane take."""
        if names := self._names(lane):
            self._count().update(dict.fromkeys(names, slots))

    def park(self, lane: str) -> None:
        """Set a lane aside, by `store_parked`, until the first of its full groups has room."""
        full = next(name for name in self._names(lane) if self._free(name) <= 0)
        self._full[full].append(lane)

    def store_parked(self) -> None:
        """Store which lanes are parked, several in a statement."""
        for name, waiting in self._full.items():
            for start in range(0, len(waiting), PARKED_AT_ONCE):
                some = waiting[start : start + PARKED_AT_ONCE]
                some += some[-1:] * (PARKED_AT_ONCE - len(some))  # so that statements are alike
                given = {f"lane_{number}": lane for number, lane in enumerate(some)}
                self._tx.execute(PARK, queue=self._queue.name, name=name, **given)
        self._full.clear()

    def admit_all(self) -> None:
        """Open parked lanes of every group that has room, whatever made the room.

        An admitted lane may have been paused before its message was claimed. Few groups have parked
        lanes, since each of these has all of its slots in use.
        """
        last = ""
        name = self._queue.name
        while self._queue.group and (row := self._tx.one(NEXT_GROUP, queue=name, last=last)):
            last = row["waits_for"]
            self._admit(last)

    def admit_waiting(self, settled: Collection[str]) -> None:
        """Open parked lanes after messages of these lanes were settled."""
        if not self._queue.group or not self._tx.one(NEXT_GROUP, queue=self._queue.name, last=""):
            return
        for name in sorted({name for lane in settled for name in self._names(lane)}):
            if self._tx.one(WAITS, queue=self._queue.name, name=name):
                self._admit(name)

    def _admit(self, name: str) -> None:
        free = self._free(name)
        if free > 0:
            admit = lane_locks.passing_over(self._tx, self._queue, ADMIT)
            self._tx.execute(admit, queue=self._queue.name, name=name, most=free)
            self._tx.wake(self._queue.name)

    def _names(self, lane: str) -> tuple[str, ...]:
        names = self._queue.group(lane) if self._queue.group else None
        return (names,) if isinstance(names, str) and names else tuple(names or ())

    def _free(self, name: str) -> int:
        width = self._queue.group_width
        return (width if isinstance(width, int) else width(name)) - self._count()[name]

    def _count(self) -> Counter[str]:
        """Return the leased messages by group; they are counted once, at the first call."""
        if self._taken is None:
            self._taken = Counter()
            for row in self._tx.query(LEASED, queue=self._queue.name):
                for name in self._names(row["lane"]):
                    self._taken[name] += 1 if self._queue.series else row["n"]
        return self._taken


def reopen_lanes(tx: Transaction, queue: Queue, names: set[str], now: int = 0) -> None:
    """Update when lanes with fewer leased messages open, and admit lanes parked by their groups.

    The caller has locked them.
    """
    for lane in names:
        if lanes.reopen(tx, queue, lane, now) is not None:
            tx.wake(queue.name)
    LaneGroups(tx, queue).admit_waiting(names)
