"""The transactional outbox: messages that must not be lost, in queues of lanes.

A message is put in the transaction that causes it, claimed with a lease, and settled in the
transaction that stores its outcome. Lanes (a chat, an endpoint) never wait for each other. An
ordered lane handles one message at a time: its priority classes take turns, and each class is first
in, first out. If the owner of a lease dies, the outcome is unknown, so the message is claimed
again, marked `uncertain`.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.database import database
from bot.core.outbox import claiming, fairness, groups, lanes, queue_policy

LAST_IDS = (
    "SELECT (SELECT id FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
    " AND priority = :priority ORDER BY id DESC LIMIT 1) AS waiting, (SELECT MAX(id) FROM outbox"
    " WHERE queue = :queue AND lane = :lane AND state = 'leased') AS leased"
)
"""The last ids of a lane: of a class's waiting messages, and of the leased messages."""

_calls = itertools.count()


@dataclass(frozen=True, slots=True)
class Message:
    """A claimed message; times in epoch ms."""

    id: str
    lane: str
    priority: int

    body: Any
    """A payload of its queue, or a JSON object if the queue names no payloads."""

    attempts: int
    """Attempts so far, including the current attempt."""

    failures: int
    """Immediately preceding attempts in which the handler raised."""

    crashes: int
    """Immediately preceding attempts whose worker died before they ended."""

    uncertain: bool
    """True if an earlier attempt may have succeeded."""

    created_at: int

    lease: str
    """Unique name of the lease; the messages of a batch share a lease."""

    starts_at: int = 0
    """Start of its slot in the queue's rate limit; the handler waits for it."""


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """Replacements for the next attempt at a message; None keeps the lane or the priority."""

    body: Any
    lane: str | None = None
    priority: int | None = None


def new_id(now: int) -> str:
    """Create a globally unique id that sorts by time (ms), then by call."""
    return f"{now:012x}{next(_calls) & 0xFFFFFF:06x}{secrets.token_hex(5)}"


def put(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    lane: str,
    body: Any,
    now: int,
    *,
    key: str | None = None,
    priority: int = queue_policy.REPLY,
    due_at: int | None = None,
    uncertain: bool = False,
    account: str | None = None,
    subject: str | None = None,
) -> bool:
    """Put a message, due at `due_at` if that is later than `now` (epoch ms).

    Return False and change nothing if `key` was put before. `uncertain` means that an earlier
    message may have had the same effect. `account` causes the message, in queues that are fair
    among accounts. core/outbox/queries.py finds messages by their `subject`.
    """
    names = {lane}
    if account and queue.account_pace:
        names |= {lanes.WHOLE_QUEUE, f"{lanes.ACCOUNT}{account}"}
    lanes.lock(tx, queue, *names)
    rank = fairness.next_rank(tx, queue, account, priority, now) if account else None
    last: database.Row = {}
    if queue.ordered and key is None:
        last = tx.query(LAST_IDS, queue=queue.name, lane=lane, priority=priority)[0]
    is_new = tx.execute(
        "INSERT INTO outbox (id, queue, lane, priority, subject, body, state, uncertain, due_at,"
        " rank, created_at) VALUES (:id, :queue, :lane, :priority, :subject, :body, 'waiting',"
        " :uncertain, :due_at, :rank, :now) ON CONFLICT (id) DO NOTHING",
        id=key or _id_after(last.values(), now),
        queue=queue.name,
        lane=lane,
        priority=priority,
        subject=subject,
        body=queue.encode(body),
        uncertain=int(uncertain),
        due_at=max(now, due_at or now),
        now=now,
        rank=rank,
    )
    if is_new:
        if account and rank is not None:
            fairness.count_message(tx, queue, account, rank)
        if rank is not None or last.get("waiting") is None:  # else another message is next
            lanes.reopen(tx, queue, lane, now)
        tx.wake(queue.name)
    return bool(is_new)


def _id_after(ids: Iterable[str | None], now: int) -> str:
    """Create an id that sorts after `ids`, even if the clock has been set back."""
    created = new_id(now)
    latest = max(filter(None, ids), default="")
    return created if created > latest else new_id(int(latest[:12], 16) + 1)


def claim(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    now: int,
    room: int,
    owner: str = "",
    *,
    ahead: int = 0,
) -> list[Message]:
    """Claim up to `room` messages or batches that may go within `ahead` ms.

    Classes and lanes take turns. `owner` is the worker that handles the messages
    (core/outbox/leases.py). An unreadable message becomes a dead letter instead.
    """
    lanes.lock_paces(tx, queue)
    claimed = claiming.Claiming(tx, queue, now, owner, ahead).take(room)
    return [
        Message(
            id=row["id"],
            lane=row["lane"],
            priority=row["priority"],
            body=body,
            attempts=row["attempts"] + 1,
            failures=row["failures"],
            crashes=row["crashes"],
            uncertain=bool(row["uncertain"]),
            created_at=row["created_at"],
            lease=lease,
            starts_at=starts_at,
        )
        for row, body, lease, starts_at in claimed
    ]


# How a lease ends. Each function returns False and changes nothing if the message now has another
# lease.


def done(tx: database.Transaction, queue: queue_policy.Queue, message: Message, now: int) -> bool:
    """Settle a message that was performed; it is deleted unless its queue keeps it."""
    if queue.keep:
        return _settle(tx, queue, message, "done", now, None)
    return _end_lease(tx, queue, message, None, reopened_at=now)


def retry(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    due_at: int,
    note: str,
    *,
    uncertain: bool = False,
    following: NextAttempt | None = None,
) -> bool:
    """Queue a message for another attempt at `due_at`, after an attempt with an outcome.

    `uncertain` means that the attempt may have succeeded; the message then stays uncertain until it
    is settled. With `following`, earlier uncertainty is dropped: the new body records what is known
    about the earlier attempts.
    """
    doubt = uncertain or (following is None and message.uncertain)
    change = (
        "state = 'waiting', due_at = :due_at, note = :note, uncertain = :doubt, failures = 0,"
        " crashes = 0"
    )
    values: dict[str, Any] = {"due_at": due_at, "note": note, "doubt": int(doubt)}
    if following is not None:
        change += ", body = :body, lane = :lane, priority = :priority"
        values["body"] = queue.encode(following.body)
        values["lane"] = following.lane or message.lane
        values["priority"] = message.priority if following.priority is None else following.priority
    return _end_lease(tx, queue, message, change, values)


def fail(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, due_at: int, note: str
) -> bool:
    """Queue a message for another attempt at `due_at`, after its handler raised."""
    change = (
        "state = 'waiting', due_at = :due_at, note = :note, uncertain = 1,"
        " failures = failures + 1, crashes = 0"
    )
    return _end_lease(tx, queue, message, change, {"due_at": due_at, "note": note})


def release(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    due_at: int | None = None,
) -> bool:
    """Queue a message whose handling has not begun; the attempt does not count.

    It keeps its place, unless it is to wait until `due_at`.
    """
    change = "state = 'waiting', attempts = attempts - 1, due_at = COALESCE(:due_at, due_at)"
    return _end_lease(tx, queue, message, change, {"due_at": due_at})


def dead_letter(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, now: int, note: str
) -> bool:
    """Settle a message as a dead letter, kept for the operator."""
    return _settle(tx, queue, message, "dead", now, note)


def end(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, now: int, note: str
) -> bool:
    """Settle a message that is no longer wanted; it is kept until a sweep."""
    return _settle(tx, queue, message, "ended", now, note)


def _settle(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    state: str,
    now: int,
    note: str | None,
) -> bool:
    values = {"state": state, "now": now, "note": note}
    change = "state = :state, settled_at = :now, note = :note"
    return _end_lease(tx, queue, message, change, values)


def _end_lease(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    change: str | None,
    values: Mapping[str, Any] | None = None,
    *,
    reopened_at: int = 0,
) -> bool:
    """End a lease by a change of the message's row; None deletes the row."""
    values = values or {}
    names = {message.lane, values.get("lane", message.lane)}
    lanes.lock(tx, queue, *names)
    sql = "DELETE FROM outbox"
    if change is not None:
        sql = f"UPDATE outbox SET {change}, leased_until = NULL, lease = NULL"  # noqa: S608 - our own words
    ended = tx.execute(
        f"{sql} WHERE id = :id AND lease = :lease", id=message.id, lease=message.lease, **values
    )
    groups.reopen_lanes(tx, queue, names, reopened_at)
    return ended == 1


def split(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    bodies: Sequence[Any],
    now: int,
) -> bool:
    """Replace a claimed message with several messages in this order, at the same place in its lane.

    They are uncertain if the original message was.
    """
    if not done(tx, queue, message, now):
        return False
    for number, body in enumerate(bodies):
        key = f"{message.id}-{number:03d}"  # sorts after this id and before the next id
        put(
            tx, queue, message.lane, body, now,
            key=key, priority=message.priority, uncertain=message.uncertain,
        )  # fmt: skip
    return True


def move_lane(tx: database.Transaction, queue: queue_policy.Queue, lane: str, other: str) -> None:
    """Move the waiting messages of `lane` to the lane `other`."""
    lanes.lock(tx, queue, lane, other)
    tx.execute(
        "UPDATE outbox SET lane = :other"
        " WHERE queue = :queue AND lane = :lane AND state = 'waiting'",
        queue=queue.name,
        lane=lane,
        other=other,
    )
    lanes.reopen(tx, queue, lane)
    lanes.reopen(tx, queue, other)


def revive(tx: database.Transaction, queue: queue_policy.Queue, message_id: str, now: int) -> bool:
    """Queue a settled or waiting message for a first attempt now.

    Return False if the message doesn't exist or is leased.
    """
    change = (
        "state = 'waiting', attempts = 0, failures = 0, crashes = 0, due_at = :due_at,"
        " settled_at = NULL, note = NULL"
    )
    return _reschedule(tx, queue, message_id, change, "state <> 'leased'", now)


def bring_forward(
    tx: database.Transaction, queue: queue_policy.Queue, message_id: str, due_at: int
) -> bool:
    """Make a message due at `due_at` if that is earlier; return False if it is not waiting."""
    change = "due_at = CASE WHEN due_at > :due_at THEN :due_at ELSE due_at END"
    return _reschedule(tx, queue, message_id, change, "state = 'waiting'", due_at)


def _reschedule(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message_id: str,
    change: str,
    condition: str,
    due_at: int,
) -> bool:
    where, given = "id = :id AND queue = :queue", {"id": message_id, "queue": queue.name}
    lanes.lock_lanes_of(tx, where, **given)
    sql = f"UPDATE outbox SET {change} WHERE {where} AND {condition} RETURNING lane"  # noqa: S608 - our own words
    row = tx.one(sql, **given, due_at=due_at)
    if row:
        lanes.reopen(tx, queue, row["lane"])
        tx.wake(queue.name)
    return row is not None


def sweep(
    tx: database.Transaction, queue: queue_policy.Queue, before: int, most: int = lanes.SWEPT
) -> list[str]:
    """Delete up to `most` messages settled before `before`, the oldest first; return their ids.

    A message that is revived concurrently is kept.
    """
    rows = tx.query(
        "DELETE FROM outbox WHERE settled_at < :before AND id IN (SELECT id FROM outbox"
        " WHERE queue = :queue AND settled_at < :before ORDER BY settled_at, id LIMIT :most)"
        " RETURNING id",
        queue=queue.name,
        before=before,
        most=most,
    )
    return [row["id"] for row in rows]
