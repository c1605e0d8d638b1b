"""Rate limits that delay: of a queue, of its lanes, and of the process that handles messages.

A lane's row stores the theoretical arrival time of its next message (`queue_policy.Pace`), so rate
limits survive a restart. A slot is the time when a message may go. A claim may take slots up to
`ahead` ms before they begin, and the handler waits for them (`Message.starts_at`). So no slot is
wasted while a claim waits for the database or a busy process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.core.database import database
from bot.core.outbox import lanes, queue_policy


def arrival_at(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> int:
    """Return the theoretical arrival time of a lane's next message; 0 if no rate limit applies."""
    pace = queue.pace if lane == lanes.WHOLE_QUEUE else queue.lane_pace(lane)
    return pace.clamp(lanes.stored(tx, queue, lane, "arrival_at") or 0, now) if pace else 0


def has_backlog(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> bool:
    """True if a lane's next message waits for the rate limit of the lane or the queue.

    The queue's limit delays the message if more lanes are open than the queue serves in a second.
    """
    own = queue.lane_pace(lane)
    if own and own.next_at(arrival_at(tx, queue, lane, now)) > now:
        return True
    if queue.pace is None:
        return False
    served = max(1, queue_policy.SECOND // queue.pace.interval)
    return len(lanes.open_lanes(tx, queue, now, served + 1)) > served


def restart_interval(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int
) -> None:
    """Restart the interval of a lane at `now`: the slot was used later than it was granted.

    The receiver counts arrivals, so the message after a slow message would arrive too early.
    """
    if pace := queue.lane_pace(lane):
        lanes.store(tx, queue, lane, "arrival_at", now + pace.interval, only_later=True)


LIMITED = "queue = :queue AND (arrival_at > :past OR held_until > :past)"
POSTPONE = "UPDATE lanes SET arrival_at = arrival_at + :by, held_until = held_until + :by"


def postpone(tx: database.Transaction, queue: queue_policy.Queue, now: int, by: int) -> None:
    """Postpone rate limits and holds by `by` ms, the most that the clock that set them lagged.

    Slots that look free here at `now` may still count as used at the receiver.
    """
    past = {"queue": queue.name, "past": now - by}
    rows = tx.query(f"SELECT lane FROM lanes WHERE {LIMITED}", **past)  # noqa: S608 - our own words
    names = [row["lane"] for row in rows]
    lanes.lock(tx, queue, *names)
    tx.execute(f"{POSTPONE} WHERE {LIMITED}", **past, by=by)
    for lane in names:
        lanes.reopen(tx, queue, lane, now)


class Slots:
    """The slots that a claim may take at `now` (epoch ms); `store` stores the taken slots."""

    def __init__(
        self, tx: database.Transaction, queue: queue_policy.Queue, now: int, ahead: int
    ) -> None:
        self._tx = tx
        self._queue = queue
        self._now = now
        self._ahead = ahead
        self._arrival_at = self._before = arrival_at(tx, queue, lanes.WHOLE_QUEUE, now)

    def is_free(self) -> bool:
        """True if the queue's rate limit has a free slot."""
        return self._starts_at() <= self._now + self._ahead

    def take(self, lane: str) -> int | None:
        """Take the next slot for a message of a lane; None if the lane has to wait."""
        starts_at, pace = self._starts_at(), self._queue.lane_pace(lane)
        if pace is not None:
            arrived_at = arrival_at(self._tx, self._queue, lane, self._now)
            if pace.next_at(arrived_at) > self._now:
                return None
            value = pace.advance(arrived_at, starts_at)
            lanes.store(self._tx, self._queue, lane, "arrival_at", value)
        if self._queue.pace is not None:
            self._arrival_at = self._queue.pace.advance(self._arrival_at, starts_at)
        return starts_at

    def store(self) -> None:
        """Store the used part of the queue's rate limit."""
        if self._arrival_at != self._before:
            lanes.store(self._tx, self._queue, lanes.WHOLE_QUEUE, "arrival_at", self._arrival_at)

    def _starts_at(self) -> int:
        pace = self._queue.pace
        return self._now if pace is None else max(self._now, pace.next_at(self._arrival_at))


class SlotWait:
    """Makes claimed messages wait for their slots in the process that handles them.

    It also keeps the queue's pace: messages that a busy process handles late go one after another,
    not all at once. `now` returns epoch ms.
    """

    def __init__(self, pace: queue_policy.Pace | None, now: Callable[[], int]) -> None:
        self._pace = pace
        self._now = now
        self._arrival_at = 0

    async def until(self, slot: int) -> None:
        """Wait until the message whose slot begins at `slot` (epoch ms) may go."""
        now = self._now()
        starts_at = self.start(slot, now)
        if starts_at > now:
            await asyncio.sleep((starts_at - now) / 1000)

    def start(self, slot: int, now: int) -> int:
        """Return when a message may go, and count it against the pace."""
        pace = self._pace
        if pace is None:
            return now
        arrived_at = pace.clamp(self._arrival_at, now)
        starts_at = max(now, pace.clamp(slot, now), pace.next_at(arrived_at))
        self._arrival_at = pace.advance(arrived_at, starts_at)
        return starts_at
