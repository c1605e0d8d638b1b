"""One claim: which messages of which lanes may go now, leased as they are found."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import bulk_changes, fairness, groups, lanes, queue_policy, slots

# The messages of a lane that may be claimed now.


CLAIMED = (
    "SELECT id, lane, priority, subject, body, attempts, failures, crashes, uncertain, created_at,"
    " rank"
    " FROM outbox"
)
BY_ID = f"{CLAIMED} WHERE id = :id"
DUE = (
    f"{CLAIMED} WHERE queue = :queue AND lane = :lane AND state = 'waiting' AND due_at <= :now"
    " ORDER BY due_at, id LIMIT :free"
)


DUE_IN_TURN = DUE.replace(
    "ORDER BY",
    "ORDER BY COALESCE((SELECT turn.arrival_at FROM lanes AS turn WHERE turn.queue = :queue"
    " AND turn.lane = :account || outbox.subject), 0),",
)


def find_due(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    lane: str,
    now: int,
    turns: fairness.ClassTurns,
) -> list[database.Row]:
    """Return the messages of a lane that its order and its width let go now, the next one first."""
    free = queue.width - lanes.count_leased(tx, queue, lane)
    if queue.subject_turns:
        account = _account(lane)
        return tx.query(
            DUE_IN_TURN, queue=queue.name, lane=lane, now=now, free=free, account=account
        )
    if not queue.ordered:
        return tx.query(DUE, queue=queue.name, lane=lane, now=now, free=free)
    # Classes don't wait for each other: a reply that can't be sent delays no alert.
    heads = tx.query(lanes.HEADS, queue=queue.name, lane=lane)
    due = {head["priority"]: head["id"] for head in heads if head["due_at"] <= now}
    return [
        row for one in turns.order_classes(lane, due)[:free] for row in tx.query(BY_ID, id=due[one])
    ]


def record_turn(
    tx: database.Transaction, queue: queue_policy.Queue, row: database.Row, now: int
) -> None:
    """Store when a subject was served in its lane, where subjects take turns."""
    if queue.subject_turns and row["subject"] is not None:
        lanes.store(tx, queue, f"{_account(row['lane'])}{row['subject']}", "arrival_at", now)


def _account(lane: str) -> str:
    """Return what the names of the rows begin with that keep the turns of a lane's subjects."""
    return f"{lanes.ACCOUNT}{lane} "


# Series: messages of one lane that are claimed together and handled one after the other.
#
# A series costs a claim and its lane two statements, however many messages it has, and the next
# message of a lane need not wait until the outcome of the last one is stored. Its messages share
# a lease. Only queues without order, paces, accounts and gathering have series.


# A lane with a leased message has a series under way.
TAKE = """
    UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until,
    lease = :lease WHERE id IN (
        SELECT id FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'
        AND due_at <= :now AND NOT EXISTS (
            SELECT 1 FROM outbox AS busy
            WHERE busy.queue = :queue AND busy.lane = :lane AND busy.state = 'leased'
        )
        ORDER BY due_at, id LIMIT :most
    )
    RETURNING id, lane, priority, body, attempts - 1 AS attempts, failures, crashes, uncertain,
    created_at, due_at
"""


def take_batch(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int, lease: str
) -> list[database.Row]:
    """Take the next series of an open lane under a lease; return its rows in their order."""
    rows = tx.query(
        TAKE, queue=queue.name, lane=lane, now=now, until=now + queue.lease, lease=lease,
        most=queue.series,
    )  # fmt: skip
    return sorted(rows, key=lambda row: (row["due_at"], row["id"]))


# Batching: messages that would wait for a rate limit are sent as part of the one that goes now.


MAX_GATHERED = 100
"""Messages behind one that may be joined to it."""

BEHIND = (
    "SELECT id, body, due_at, uncertain FROM outbox WHERE queue = :queue AND lane = :lane"
    " AND state = 'waiting' AND priority = :priority AND id > :id ORDER BY id LIMIT :most"
)
DELETE = (
    "DELETE FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
    " AND priority = :priority AND id > :first AND id <= :last"
)


def gather_waiting(
    tx: database.Transaction, queue: queue_policy.Queue, row: database.Row, now: int
) -> database.Row:
    """Join the messages behind one to it, if they would have to wait longer than it.

    The joined body is stored, so that a retry sends the same one.
    """
    if queue.gather is None or row["uncertain"]:
        return row
    behind = _behind(tx, queue, row, now)
    if not behind or not lanes.has_backlog(tx, queue, row["lane"], now):
        return row
    try:
        made = queue.gather(queue.decode(one["body"]) for one in (row, *behind))
    except errors.Unreadable:  # it is set aside when its own turn comes
        return row
    if made is None:
        return row
    count, body = made
    span = {"queue": queue.name, "lane": row["lane"], "priority": row["priority"]}
    tx.execute(DELETE, **span, first=row["id"], last=behind[count - 2]["id"])
    written = queue.encode(body)
    tx.execute("UPDATE outbox SET body = :body WHERE id = :id", body=written, id=row["id"])
    return {**row, "body": written}


def _behind(
    tx: database.Transaction, queue: queue_policy.Queue, row: database.Row, now: int
) -> list[database.Row]:
    """Return the messages behind one in its class, up to the first that may not go now."""
    rows = tx.query(
        BEHIND,
        queue=queue.name,
        lane=row["lane"],
        priority=row["priority"],
        id=row["id"],
        most=MAX_GATHERED,
    )
    return list(takewhile(lambda one: one["due_at"] <= now and not one["uncertain"], rows))


# When the next claim of a queue is worth it.


@dataclass(frozen=True, slots=True)
class NextClaim:
    """When a claim may find a message, `at` (epoch ms); None if no message waits for a time.

    It finds none before `rests_until`, whatever is put. `is_full`: a class has no room.
    """

    at: int | None
    is_full: bool
    rests_until: int = 0


def next_claim(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, ahead: int = 0
) -> NextClaim:
    """Return when the next claim is worth it: one `ahead` of the slots takes several at once."""
    full = fairness.full_classes(tx, queue)
    rests_until = lanes.queue_opens_at(tx, queue, now) - ahead // 2
    opens = lanes.first_open(tx, queue, full)
    if (call := groups.LaneGroups(tx, queue, now).next_call()) is not None:
        opens = call if opens is None else min(opens, call)
    if opens is not None:
        opens = max(opens, rests_until, fairness.next_check(tx, queue, now))
    return NextClaim(opens, bool(full), rests_until)


Leased: TypeAlias = tuple[database.Row, Any, str, int]
"""A message's row as it was before this attempt, its body, its lease, and when it may go."""

LEASE = (
    "UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until,"
    " lease = :lease WHERE id = :id"
)

log = structlog.get_logger()

_leases = itertools.count()


class Claiming:
    """A claim in one transaction; classes and lanes take turns."""

    def __init__(
        self,
        tx: database.Transaction,
        queue: queue_policy.Queue,
        now: int,
        owner: str,
        ahead: int = 0,
    ) -> None:
        self._tx, self._queue, self._now, self._owner = tx, queue, now, owner
        self._slots = slots.Slots(tx, queue, now, ahead)
        self._groups = groups.LaneGroups(tx, queue, now)

    def take(self, room: int) -> list[Leased]:
        """Take up to `room` messages, or series, under leases."""
        tx, queue, now = self._tx, self._queue, self._now
        if not self._slots.is_free():
            return []
        self._groups.admit_all()
        room = fairness.free_room(tx, queue, now, room)
        turns = fairness.ClassTurns(
            tx, queue, now, room + (groups.MAX_PARKED if queue.group else 0)
        )
        leased: list[Leased] = []
        while room > 0 and self._slots.is_free():
            lane = turns.next_lane()
            if lane is None:
                break
            free = self._groups.free_slots(lane)
            if free == 0:
                self._groups.park(lane)
            elif not fairness.hold_back(tx, queue, lane, now):
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
        rows = take_batch(self._tx, self._queue, lane, self._now, lease)
        now = self._now
        found = [(row, body, lease, now) for row in rows if (body := self._body(row)) is not None]
        if not found:
            lanes.reopen(self._tx, self._queue, lane)
        return found

    def _each(self, lane: str, most: int, turns: fairness.ClassTurns) -> list[Leased]:
        tx, queue, now = self._tx, self._queue, self._now
        found: list[Leased] = []
        for row in find_due(tx, queue, lane, now, turns):
            starts_at = self._slots.take(lane) if len(found) < most else None
            if starts_at is None:
                break
            whole = gather_waiting(tx, queue, row, now)
            body = self._body(whole)
            if body is None:
                continue
            lease = self._new_lease()
            tx.execute(LEASE, id=row["id"], until=now + queue.lease, lease=lease)
            found.append((whole, body, lease, starts_at))
            turns.count_claimed(lane, row["priority"])
            record_turn(tx, queue, row, now)
            fairness.record_served(tx, queue, row["rank"])
        if found:
            groups.record_turn(tx, queue, lane, now)
        lanes.reopen(tx, queue, lane, now)
        return found

    def _body(self, row: database.Row) -> Any:
        """Return the body of a message; None for one that can't be read, which is then dead."""
        try:
            return self._queue.decode(row["body"])
        except errors.Unreadable as error:
            note = f"its body can't be read: {error}"
            log.warning("message set aside", queue=self._queue.name, id=row["id"], why=note)
            bulk_changes.dead_letter_unsettled(self._tx, row["id"], note, self._now)
            return None

    def _new_lease(self) -> str:
        return f"{self._owner}/{next(_leases)}{secrets.token_hex(3)}"
