"""The transactional outbox: messages that must not be lost, in queues of lanes.

A message is put in the transaction that causes it, claimed with a lease, and
settled in the transaction that its outcome causes. Lanes (a chat, an endpoint)
never wait for each other; an ordered lane is worked one message at a time, by
priority and then in the order of putting. A lease that runs out means that the
outcome is not known: the message comes again, marked `uncertain`.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.core import exact, lanes
from bot.core.lanes import REPLY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.core.db import Row, Transaction
    from bot.core.lanes import Queue

BY_ID = (
    "SELECT id, lane, priority, body, attempts, uncertain, created_at FROM outbox WHERE id = :id"
)
DUE = (
    "SELECT id, lane, priority, body, attempts, uncertain, created_at FROM outbox"
    " WHERE queue = :queue AND lane = :lane AND state = 'waiting' AND due_at <= :now"
    " ORDER BY due_at, id LIMIT :free"
)

_calls = itertools.count()


@dataclass(frozen=True, slots=True)
class Message:
    """A claimed message; `attempts` counts the one under way."""

    id: str
    lane: str
    priority: int
    body: dict[str, Any]
    attempts: int
    uncertain: bool
    created_at: int


def new_id(now: int) -> str:
    """Make an id that sorts by time (ms) and then by call."""
    return f"{now:012x}{next(_calls) & 0xFFFFFF:06x}{secrets.token_hex(3)}"


def put(
    tx: Transaction,
    queue: Queue,
    lane: str,
    body: Mapping[str, Any],
    now: int,
    *,
    key: str | None = None,
    priority: int = REPLY,
) -> bool:
    """Put a message; False where `key` was put before, and then nothing changes."""
    fresh = tx.execute(
        "INSERT INTO outbox (id, queue, lane, priority, body, state, due_at, created_at)"
        " VALUES (:id, :queue, :lane, :priority, :body, 'waiting', :now, :now)"
        " ON CONFLICT (id) DO NOTHING",
        id=key or new_id(now),
        queue=queue.name,
        lane=lane,
        priority=priority,
        body=exact.dumps(body),
        now=now,
    )
    if fresh:
        lanes.reopen(tx, queue, lane)
        tx.wake(queue.name)
    return bool(fresh)


def claim(tx: Transaction, queue: Queue, now: int, room: int) -> list[Message]:
    """Lease up to `room` messages that may go now, in order of priority, then of waiting."""
    _expire(tx, queue, now)
    claimed: list[Message] = []
    for lane in lanes.open_lanes(tx, queue, now, room):
        for row in _candidates(tx, queue, lane, now):
            if len(claimed) == room or not lanes.take_turn(tx, queue, lane, now):
                break
            claimed.append(_lease(tx, row, now + queue.lease))
        lanes.reopen(tx, queue, lane)
    return claimed


def done(tx: Transaction, queue: Queue, message: Message, now: int) -> None:
    """Settle a message that reached its end.

    Like `retry` and `bury`, it changes nothing once the lease has run out and the message
    belongs to another attempt.
    """
    if queue.keep:
        _settle(tx, message, "done", now, None)
    else:
        tx.execute(
            "DELETE FROM outbox WHERE id = :id AND state = 'leased' AND attempts = :attempts",
            id=message.id,
            attempts=message.attempts,
        )
    lanes.reopen(tx, queue, message.lane)


def retry(
    tx: Transaction,
    queue: Queue,
    message: Message,
    due_at: int,
    note: str,
    *,
    uncertain: bool = False,
) -> None:
    """Give a message back, to be claimed again from `due_at` on."""
    tx.execute(
        "UPDATE outbox SET state = 'waiting', due_at = :due_at, note = :note, leased_until = NULL,"
        " uncertain = :uncertain"
        " WHERE id = :id AND state = 'leased' AND attempts = :attempts",
        id=message.id,
        attempts=message.attempts,
        due_at=due_at,
        note=note,
        uncertain=int(uncertain or message.uncertain),
    )
    lanes.reopen(tx, queue, message.lane)


def bury(tx: Transaction, queue: Queue, message: Message, now: int, note: str) -> None:
    """Settle a message that never will reach its end; it is kept for the operator."""
    _settle(tx, message, "dead", now, note)
    lanes.reopen(tx, queue, message.lane)


def move(tx: Transaction, queue: Queue, lane: str, other: str) -> None:
    """Hand all that waits in `lane` to the lane `other`."""
    tx.execute(
        "UPDATE outbox SET lane = :other"
        " WHERE queue = :queue AND lane = :lane AND state = 'waiting'",
        queue=queue.name,
        lane=lane,
        other=other,
    )
    lanes.reopen(tx, queue, lane)
    lanes.reopen(tx, queue, other)


def revive(tx: Transaction, queue: Queue, message_id: str, now: int) -> bool:
    """Put a settled message back from its first attempt; False where there is none."""
    row = tx.one(
        "UPDATE outbox SET state = 'waiting', attempts = 0, due_at = :now, settled_at = NULL,"
        " note = NULL WHERE id = :id AND queue = :queue AND state IN ('done', 'dead')"
        " RETURNING lane",
        id=message_id,
        queue=queue.name,
        now=now,
    )
    if row:
        lanes.reopen(tx, queue, row["lane"])
        tx.wake(queue.name)
    return row is not None


def recover(tx: Transaction, queue: Queue, now: int) -> int:
    """At the start: what a process that is gone had leased comes again; how many."""
    rows = tx.query(
        "UPDATE outbox SET state = 'waiting', leased_until = NULL, uncertain = 1"
        " WHERE queue = :queue AND state = 'leased' RETURNING lane",
        queue=queue.name,
    )
    for lane in {row["lane"] for row in rows}:
        lanes.reopen(tx, queue, lane)
    lanes.set_right(tx, queue, now)
    return len(rows)


def forget(tx: Transaction, queue: Queue, before: int) -> int:
    """Drop what was settled before `before`; how many."""
    return tx.execute(
        "DELETE FROM outbox WHERE queue = :queue AND settled_at < :before",
        queue=queue.name,
        before=before,
    )


def _expire(tx: Transaction, queue: Queue, now: int) -> None:
    rows = tx.query(
        "UPDATE outbox SET state = 'waiting', leased_until = NULL, uncertain = 1"
        " WHERE queue = :queue AND state = 'leased' AND leased_until <= :now RETURNING lane",
        queue=queue.name,
        now=now,
    )
    for lane in {row["lane"] for row in rows}:
        lanes.reopen(tx, queue, lane)


def _candidates(tx: Transaction, queue: Queue, lane: str, now: int) -> list[Row]:
    free = queue.room(lane) - lanes.under_way(tx, queue, lane)
    if not queue.ordered:
        return tx.query(DUE, queue=queue.name, lane=lane, now=now, free=free)
    due = [head["id"] for head in lanes.heads(tx, queue, lane) if head["due_at"] <= now]
    return [row for key in due[:free] for row in tx.query(BY_ID, id=key)]


def _lease(tx: Transaction, row: Row, until: int) -> Message:
    tx.execute(
        "UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until"
        " WHERE id = :id",
        id=row["id"],
        until=until,
    )
    return Message(
        id=row["id"],
        lane=row["lane"],
        priority=row["priority"],
        body=exact.loads(row["body"]),
        attempts=row["attempts"] + 1,
        uncertain=bool(row["uncertain"]),
        created_at=row["created_at"],
    )


def _settle(tx: Transaction, message: Message, state: str, now: int, note: str | None) -> None:
    tx.execute(
        "UPDATE outbox SET state = :state, settled_at = :now, note = :note, leased_until = NULL"
        " WHERE id = :id AND state = 'leased' AND attempts = :attempts",
        id=message.id,
        attempts=message.attempts,
        state=state,
        now=now,
        note=note,
    )
