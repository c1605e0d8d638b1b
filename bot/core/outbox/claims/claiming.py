"""One claim: which messages of which lanes may go now, leased as they are found."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING, Any, TypeAlias

import structlog

from bot.core.errors import Unreadable
from bot.core.outbox import back_pressure, bulk_changes, fair_accounts, lanes
from bot.core.outbox.claims import batching, candidates, series
from bot.core.outbox.claims.class_shares import ClassTurns
from bot.core.outbox.groups import MAX_PARKED, LaneGroups, record_turn
from bot.core.outbox.slots import Slots

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

Leased: TypeAlias = "tuple[Row, Any, str, int]"
"""A message's row as it was before this attempt, its body, its lease, and when it may go."""

LEASE = (
    "UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until,"
    " lease = :lease WHERE id = :id"
)

log = structlog.get_logger()

_leases = itertools.count()


class Claiming:
    """A claim in one transaction; classes and lanes take turns."""

    def __init__(self, tx: Transaction, queue: Queue, now: int, owner: str, ahead: int = 0) -> None:
        self._tx, self._queue, self._now, self._owner = tx, queue, now, owner
        self._slots = Slots(tx, queue, now, ahead)
        self._groups = LaneGroups(tx, queue, now)

    def take(self, room: int) -> list[Leased]:
        """Take up to `room` messages, or series, under leases."""
        tx, queue, now = self._tx, self._queue, self._now
        if not self._slots.is_free():
            return []
        self._groups.admit_all()
        room = back_pressure.free_room(tx, queue, now, room)
        turns = ClassTurns(tx, queue, now, room + (MAX_PARKED if queue.group else 0))
        leased: list[Leased] = []
        while room > 0 and self._slots.is_free():
            lane = turns.next_lane()
            if lane is None:
                break
            free = self._groups.free_slots(lane)
            if free == 0:
                self._groups.park(lane)
            elif not back_pressure.hold_back(tx, queue, lane, now):
                most = room if free is None else min(room, free)
                found = self._series(lane) if queue.series else self._each(lane, most, turns)
                slots = min(1, len(found)) if queue.series else len(found)
                self._groups.count_claimed(lane, slots)
                room -= slots
                leased += found
        self._slots.store()
        self._groups.store()
        if queue.series and leased:
            lanes.close_leased(tx, queue, now + queue.lease)
        return leased

    def _series(self, lane: str) -> list[Leased]:
        lease = self._new_lease()
        rows = series.take(self._tx, self._queue, lane, self._now, lease)
        now = self._now
        found = [(row, body, lease, now) for row in rows if (body := self._body(row)) is not None]
        if not found:
            lanes.reopen(self._tx, self._queue, lane)
        return found

    def _each(self, lane: str, most: int, turns: ClassTurns) -> list[Leased]:
        tx, queue, now = self._tx, self._queue, self._now
        found: list[Leased] = []
        for row in candidates.find_due(tx, queue, lane, now, turns):
            starts_at = self._slots.take(lane) if len(found) < most else None
            if starts_at is None:
                break
            whole = batching.gather_waiting(tx, queue, row, now)
            body = self._body(whole)
            if body is None:
                continue
            lease = self._new_lease()
            tx.execute(LEASE, id=row["id"], until=now + queue.lease, lease=lease)
            found.append((whole, body, lease, starts_at))
            turns.count_claimed(lane, row["priority"])
            candidates.record_turn(tx, queue, row, now)
            fair_accounts.record_served(tx, queue, row["rank"])
        if found:
            record_turn(tx, queue, lane, now)
        lanes.reopen(tx, queue, lane, now)
        return found

    def _body(self, row: Row) -> Any:
        """Return the body of a message; None for one that can't be read, which is then dead."""
        try:
            return self._queue.decode(row["body"])
        except Unreadable as error:
            note = f"its body can't be read: {error}"
            log.warning("message set aside", queue=self._queue.name, id=row["id"], why=note)
            bulk_changes.bury_unsettled(self._tx, row["id"], note, self._now)
            return None

    def _new_lease(self) -> str:
        return f"{self._owner}/{next(_leases)}{secrets.token_hex(3)}"
