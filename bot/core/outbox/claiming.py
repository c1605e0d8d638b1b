"""A claim: find the messages that may go now, and lease them.

A queue with a `batch_size` claims batches: messages of one lane that share a lease and are handled
one after the other. A batch costs its lane two statements, however many messages it has, and a
message need not wait until the outcome of the previous message is stored. Batches require a queue
without order, rate limits, accounts and gathering.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import bulk_changes, fairness, groups, lanes, queue_policy

Claimed: TypeAlias = tuple[database.Row, Any, str, int]
"""A message's row before this attempt, its body, its lease, and the time when it may go."""

LEASE = (
    "UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until,"
    " lease = :lease WHERE id = :id"
)
# A lane with a leased message has a batch in progress.
CLAIM_BATCH = """
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
CLOSE_LANES = """
    UPDATE lanes SET open_at = NULL WHERE queue = :queue AND open_at IS NOT NULL AND lane IN (
        SELECT lane FROM outbox
        WHERE queue = :queue AND state = 'leased' AND leased_until = :until
    )
"""
"""Closes the lanes of all batches of a claim, which share their time."""

log = structlog.get_logger()

_leases = itertools.count()


class Claiming:
    """A claim within one transaction; classes and lanes take turns."""

    def __init__(
        self,
        tx: database.Transaction,
        queue: queue_policy.Queue,
        now: int,
        owner: str,
        ahead: int = 0,
    ) -> None:
        self._tx, self._queue, self._now, self._owner = tx, queue, now, owner
        self._slots = lanes.Slots(tx, queue, now, ahead)
        self._groups = groups.LaneGroups(tx, queue, now)

    def take(self, room: int) -> list[Claimed]:
        """Lease up to `room` messages or batches."""
        tx, queue, now = self._tx, self._queue, self._now
        if not self._slots.is_free():
            return []
        self._groups.admit_all()
        room = fairness.free_room(tx, queue, now, room)
        lanes_read = room + (groups.MAX_PARKED if queue.group else 0)
        turns = fairness.ClassTurns(tx, queue, now, lanes_read)
        claimed: list[Claimed] = []
        while room > 0 and self._slots.is_free() and (lane := turns.next_lane()) is not None:
            free = self._groups.free_slots(lane)
            if free == 0:
                self._groups.park(lane)
            elif not fairness.hold_back(tx, queue, lane, now):
                if queue.batch_size:
                    found = self._claim_batch(lane)
                    slots_taken = min(1, len(found))
                else:
                    found = self._claim_each(lane, room if free is None else min(room, free), turns)
                    slots_taken = len(found)
                self._groups.count_claimed(lane, slots_taken)
                room -= slots_taken
                claimed += found
        self._slots.store()
        self._groups.store()
        if queue.batch_size and claimed:
            tx.execute(CLOSE_LANES, queue=queue.name, until=now + queue.lease)
        return claimed

    def _claim_batch(self, lane: str) -> list[Claimed]:
        """Claim the next batch of an open lane, in order."""
        tx, queue, now = self._tx, self._queue, self._now
        lease = self._new_lease()
        rows = tx.query(
            CLAIM_BATCH, queue=queue.name, lane=lane, now=now, until=now + queue.lease,
            lease=lease, most=queue.batch_size,
        )  # fmt: skip
        claimed = []
        for row in sorted(rows, key=lambda row: (row["due_at"], row["id"])):
            body = self._body(row)
            if body is not None:
                claimed.append((row, body, lease, now))
        if not claimed:
            lanes.reopen(tx, queue, lane)
        return claimed

    def _claim_each(self, lane: str, most: int, turns: fairness.ClassTurns) -> list[Claimed]:
        """Claim up to `most` messages of an open lane, each with its own lease."""
        tx, queue, now = self._tx, self._queue, self._now
        claimed: list[Claimed] = []
        for row in find_due(tx, queue, lane, now, turns):
            starts_at = self._slots.take(lane) if len(claimed) < most else None
            if starts_at is None:
                break
            whole = gather_waiting(tx, queue, row, now)
            body = self._body(whole)
            if body is None:
                continue
            lease = self._new_lease()
            tx.execute(LEASE, id=row["id"], until=now + queue.lease, lease=lease)
            claimed.append((whole, body, lease, starts_at))
            turns.count_claimed(lane, row["priority"])
            if queue.subjects_take_turns and row["subject"] is not None:
                subject_row = f"{lanes.ACCOUNT}{lane} {row['subject']}"
                lanes.store(tx, queue, subject_row, "arrival_at", now)
            fairness.record_served(tx, queue, row["rank"])
        if claimed:
            groups.record_turn(tx, queue, lane, now)
        lanes.reopen(tx, queue, lane, now)
        return claimed

    def _body(self, row: database.Row) -> Any:
        """Return the body of a message; dead-letter it and return None if it can't be read."""
        try:
            return self._queue.decode(row["body"])
        except errors.Unreadable as error:
            note = f"its body can't be read: {error}"
            log.warning("message set aside", queue=self._queue.name, id=row["id"], why=note)
            bulk_changes.dead_letter_unsettled(self._tx, row["id"], note, self._now)
            return None

    def _new_lease(self) -> str:
        return f"{self._owner}/{next(_leases)}{secrets.token_hex(3)}"


# Claimable messages of a lane.


MESSAGE = (
    "SELECT id, lane, priority, subject, body, attempts, failures, crashes, uncertain, created_at,"
    " rank FROM outbox"
)
BY_ID = f"{MESSAGE} WHERE id = :id"
DUE_OF_LANE = (
    f"{MESSAGE} WHERE queue = :queue AND lane = :lane AND state = 'waiting' AND due_at <= :now"
)
DUE = f"{DUE_OF_LANE} ORDER BY due_at, id LIMIT :free"
DUE_IN_TURN = f"""
    {DUE_OF_LANE} ORDER BY COALESCE((
        SELECT turn.arrival_at FROM lanes AS turn
        WHERE turn.queue = :queue AND turn.lane = '{lanes.ACCOUNT}' || :lane || ' ' || subject
    ), 0), due_at, id LIMIT :free
"""  # noqa: S608 - our own words
COUNT_LEASED = f"SELECT {lanes.BUSY} AS busy"


def find_due(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    lane: str,
    now: int,
    turns: fairness.ClassTurns,
) -> Iterable[database.Row]:
    """Return the messages of a lane that its order and width allow now, the next message first."""
    place = {"queue": queue.name, "lane": lane}
    if not queue.ordered:
        free = queue.width - tx.query(COUNT_LEASED, **place)[0]["busy"]
        sql = DUE_IN_TURN if queue.subjects_take_turns else DUE
        return tx.query(sql, **place, now=now, free=free)
    # Classes don't wait for each other: a reply that can't be sent delays no alert.
    heads = tx.query(lanes.HEADS, **place)
    free = queue.width - heads[0]["busy"] if heads else 0
    due = {head["priority"]: head["id"] for head in heads if head["due_at"] <= now}
    classes = turns.order_classes(lane, due)[:free]
    return [row for priority in classes for row in tx.query(BY_ID, id=due[priority])]


# Gathering: messages that would wait for a rate limit are sent as part of the current message.


MAX_GATHERED = 100
"""The most messages that are joined to one message."""

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
    """Join to a message the following messages of its class, if they would have to wait longer.

    The joined body is stored, so that a retry sends the same body.
    """
    if queue.gather is None or row["uncertain"]:
        return row
    where = {"queue": queue.name, "lane": row["lane"], "priority": row["priority"]}
    waiting = tx.query(BEHIND, **where, id=row["id"], most=MAX_GATHERED)
    may_go = itertools.takewhile(lambda it: it["due_at"] <= now and not it["uncertain"], waiting)
    behind = list(may_go)
    if not behind or not lanes.has_backlog(tx, queue, row["lane"], now):
        return row
    try:
        joined = queue.gather(queue.decode(it["body"]) for it in (row, *behind))
    except errors.Unreadable:  # the claim of that message sets it aside
        return row
    if joined is None:
        return row
    count, body = joined
    tx.execute(DELETE, **where, first=row["id"], last=behind[count - 2]["id"])
    written = queue.encode(body)
    tx.execute("UPDATE outbox SET body = :body WHERE id = :id", body=written, id=row["id"])
    return {**row, "body": written}


@dataclass(frozen=True, slots=True)
class NextClaim:
    """When the next claim of a queue is useful; times in epoch ms."""

    at: int | None
    """When the claim may find a message; None if no message is scheduled."""

    is_full: bool
    """True if a priority class has reached its width."""

    rests_until: int = 0
    """Before this time a claim finds no message, whatever is put."""


def next_claim(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, ahead: int = 0
) -> NextClaim:
    """Return when the next claim is useful: with `ahead` (ms) it takes several slots at once."""
    full = fairness.full_classes(tx, queue)
    arrival_at = lanes.arrival_at(tx, queue, lanes.WHOLE_QUEUE, now)
    rests_until = (queue.pace.next_at(arrival_at) if queue.pace else 0) - ahead // 2
    opens = lanes.first_open(tx, queue, full)
    if (call := groups.LaneGroups(tx, queue, now).next_call()) is not None:
        opens = call if opens is None else min(opens, call)
    if opens is not None:
        opens = max(opens, rests_until)
        if not fairness.free_room(tx, queue, now, 1):
            opens = max(opens, now + fairness.CHECK_INTERVAL)
    return NextClaim(opens, bool(full), rests_until)
