"""Groups of lanes: what they may have under way together, and who waits for room in one.

A lane that finds its group full is parked: no claim looks at it again before its group has
room. So lanes that wait cost a claim nothing, however many they are, and none of them stands
before the lanes of others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bot.core.outbox import lanes

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

PASSED = 100
"""Lanes with a full group that a claim parks beside those that it takes from."""

UNDER_WAY = (
    "SELECT lane, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased' GROUP BY lane"
)
# One group after the other, each found by the index: their lanes are not counted through.
NEXT_NAME = (
    "SELECT waits_for FROM lanes WHERE queue = :queue AND waits_for > :last"
    " ORDER BY waits_for LIMIT 1"
)
WAITS = "SELECT 1 AS one FROM lanes WHERE queue = :queue AND waits_for = :name LIMIT 1"
ADMIT = """
    UPDATE lanes SET waits_for = NULL WHERE queue = :queue AND lane IN (
        SELECT lane FROM lanes WHERE queue = :queue AND waits_for = :name
        ORDER BY priority, open_at, lane LIMIT :free
    )
"""


class LaneGroups:
    """The groups of a queue in one transaction, with what each may have under way yet."""

    def __init__(self, tx: Transaction, queue: Queue) -> None:
        self._tx = tx
        self._queue = queue
        self._taken: Counter[str] | None = None

    @property
    def passed(self) -> int:
        """How many lanes a claim may look at in vain."""
        return PASSED if self._queue.group else 0

    def free(self, lane: str) -> int | None:
        """How many messages of this lane its group has room for; None where it has no group."""
        name = self._name(lane)
        if name is None:
            return None
        return max(0, self._queue.group_width - self._count()[name])

    def take(self, lane: str) -> None:
        """Count a message of this lane that has been claimed."""
        name = self._name(lane)
        if name is not None:
            self._count()[name] += 1

    def park(self, lane: str) -> None:
        """Let the lane wait until its group has room."""
        self._tx.execute(
            "UPDATE lanes SET waits_for = :name WHERE queue = :queue AND lane = :lane",
            queue=self._queue.name,
            lane=lane,
            name=self._name(lane),
        )

    def admit(self) -> None:
        """Open parked lanes of every group that has room, whyever it has.

        A lane that was let in may have been paused before it went. Groups with parked lanes are
        few, for each has all of its width under way.
        """
        last = ""
        while self._queue.group and (row := self._next_name(last)):
            last = row["waits_for"]
            self._admit(last)

    def _next_name(self, last: str) -> Row | None:
        return self._tx.one(NEXT_NAME, queue=self._queue.name, last=last)

    def settled(self, lane: str) -> None:
        """Open lanes that waited for the room that a message of this lane leaves."""
        name = self._name(lane)
        if name is not None and self._tx.one(WAITS, queue=self._queue.name, name=name):
            self._admit(name)

    def _admit(self, name: str) -> None:
        free = self._queue.group_width - self._count()[name]
        if free > 0:
            self._tx.execute(ADMIT, queue=self._queue.name, name=name, free=free)
            self._tx.wake(self._queue.name)

    def _name(self, lane: str) -> str | None:
        return (self._queue.group(lane) or None) if self._queue.group else None

    def _count(self) -> Counter[str]:
        """Count what is under way, at the first time that somebody asks."""
        if self._taken is None:
            self._taken = Counter()
            for row in self._tx.query(UNDER_WAY, queue=self._queue.name):
                name = self._name(row["lane"])
                if name is not None:
                    self._taken[name] += row["n"]
        return self._taken


def reopen_lanes(tx: Transaction, queue: Queue, names: set[str], now: int = 0) -> None:
    """Reopen lanes that have fewer leased messages, and lanes that waited for their groups."""
    groups = LaneGroups(tx, queue)
    for lane in names:
        if lanes.reopen(tx, queue, lane, now) is not None:
            tx.wake(queue.name)
        groups.settled(lane)
