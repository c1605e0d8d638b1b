"""Slots: the times when messages may go, by the rate limits of their queue and lane.

A claim may take slots up to `ahead` ms before they begin, and the handler waits for them
(`Message.starts_at`). So no slot is wasted while a claim waits for the database or a busy process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.core.database import database
from bot.core.outbox import lanes, queue_policy


class Slots:
    """The slots that a claim may take at `now` (epoch ms); `store` stores the taken slots."""

    def __init__(
        self, tx: database.Transaction, queue: queue_policy.Queue, now: int, ahead: int
    ) -> None:
        self._tx = tx
        self._queue = queue
        self._now = now
        self._ahead = ahead
        self._arrival_at = self._before = lanes.arrival_at(
            tx, queue, lanes.WHOLE_QUEUE, queue.pace, now
        )

    def is_free(self) -> bool:
        """True if the queue's rate limit has a free slot."""
        return self._starts_at() <= self._now + self._ahead

    def take(self, lane: str) -> int | None:
        """Take the next slot for a message of a lane; None if the lane has to wait."""
        starts_at, pace = self._starts_at(), self._queue.lane_pace(lane)
        if pace is not None:
            arrival_at = lanes.arrival_at(self._tx, self._queue, lane, pace, self._now)
            if pace.next_at(arrival_at) > self._now:
                return None
            value = pace.advance(arrival_at, starts_at)
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
        arrival_at = pace.clamp(self._arrival_at, now)
        starts_at = max(now, pace.clamp(slot, now), pace.next_at(arrival_at))
        self._arrival_at = pace.advance(arrival_at, starts_at)
        return starts_at
