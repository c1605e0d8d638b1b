"""The transactional outbox: messages that must not be lost, in queues of lanes.

A message is put in the transaction that causes it, claimed with a lease, and settled in the
transaction that its outcome causes. Lanes (a chat, an endpoint) never wait for each other; the
messages of an ordered lane are handled one at a time, its classes in turns and each in the order
of putting. A lease whose owner is dead leaves the outcome unknown: the message is claimed again,
marked `uncertain`.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.core.database import database
from bot.core.outbox import claiming, fairness, groups, lanes, queue_policy

# How the lease of a message ends: what becomes of its row.
#
# Endings are data, so that one transaction ends many leases and reopens each of their lanes once.


SETTLE = "state = :state, settled_at = :now, note = :note"
RETRY = (
    "state = 'waiting', due_at = :due_at, note = :note, uncertain = :doubt, failures = 0,"
    " crashes = 0"
)
GIVE_BACK = "state = 'waiting', attempts = attempts - 1"


class Leased(Protocol):
    """A claimed message, as far as the end of its lease goes."""

    @property
    def id(self) -> str: ...
    @property
    def lane(self) -> str: ...
    @property
    def lease(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Ending:
    """The change of a leased message's row; None deletes it."""

    message: Leased
    change: str | None
    values: Mapping[str, Any] = field(default_factory=dict)


def as_done(queue: queue_policy.Queue, message: Leased, now: int) -> Ending:
    """Settle a message that was performed; it is deleted where its queue doesn't keep it."""
    return settled(message, "done", now, None) if queue.keep else Ending(message, None)


def settled(message: Leased, state: str, now: int, note: str | None) -> Ending:
    """Settle a message in a state."""
    return Ending(message, SETTLE, {"state": state, "now": now, "note": note})


def retried(message: Leased, due_at: int, note: str, *, uncertain: bool) -> Ending:
    """Queue a message for another attempt."""
    return Ending(message, RETRY, {"due_at": due_at, "note": note, "doubt": int(uncertain)})


def given_back(message: Leased) -> Ending:
    """Queue a message whose handling has not begun; the attempt does not count."""
    return Ending(message, GIVE_BACK)


def end_leases(
    tx: database.Transaction, queue: queue_policy.Queue, endings: Sequence[Ending], now: int = 0
) -> list[bool]:
    """End leases; return of each whether the message still had that lease.

    One that has another lease by now is left alone.
    """
    names = {one.message.lane for one in endings}
    lanes.lock(tx, queue, *names)
    ours = [_end(tx, one) for one in endings]
    groups.reopen_lanes(tx, queue, names, now)
    return ours


def _end(tx: database.Transaction, ending: Ending) -> bool:
    sql = "DELETE FROM outbox"
    if ending.change is not None:
        sql = f"UPDATE outbox SET {ending.change}, leased_until = NULL, lease = NULL"  # noqa: S608 - our own words
    message = ending.message
    where = {"id": message.id, "lease": message.lease}
    return bool(tx.execute(f"{sql} WHERE id = :id AND lease = :lease", **where, **ending.values))


LAST = (
    "SELECT (SELECT id FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
    " AND priority = :priority ORDER BY id DESC LIMIT 1) AS waiting, (SELECT MAX(id) FROM outbox"
    " WHERE queue = :queue AND lane = :lane AND state = 'leased') AS leased"
)

_calls = itertools.count()


@dataclass(frozen=True, slots=True)
class Message:
    """A claimed message; `attempts` includes the current one, `lease` is unique.

    `body` is a payload of its queue, or a JSON object where the queue names no payloads.
    `failures` and `crashes` count the attempts before this one, in a row, in which the handler
    raised and whose worker was gone before their end. Its slot of the queue's rate limit begins at
    `starts_at` (epoch ms), which the handler waits for.
    """

    id: str
    lane: str
    priority: int
    body: Any
    attempts: int
    failures: int
    crashes: int
    uncertain: bool
    created_at: int
    lease: str
    starts_at: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """The body of the next attempt at a message, with its lane and class where they change."""

    body: Any
    lane: str | None = None
    priority: int | None = None


def new_id(now: int) -> str:
    """Create an id that sorts by time (ms) and then by call; no other process creates it."""
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

    `uncertain`: an earlier message may have had the same effect. `account`: the account that causes
    it, in queues that are fair among accounts. `subject`: what core/outbox/queries.py finds it by.
    Return False and change nothing if `key` was put before.
    """
    lanes.lock_for_put(tx, queue, lane, account)
    rank = fairness.next_rank(tx, queue, account, priority, now) if account else None
    last = _last(tx, queue, lane, priority) if queue.ordered and key is None else {}
    fresh = tx.execute(
        "INSERT INTO outbox (id, queue, lane, priority, subject, body, state, uncertain, due_at,"
        " rank, created_at) VALUES (:id, :queue, :lane, :priority, :subject, :body, 'waiting',"
        " :uncertain, :due_at, :rank, :now) ON CONFLICT (id) DO NOTHING",
        id=key or _next_id(last.values(), now),
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
    if fresh:
        if account and rank is not None:
            fairness.count_message(tx, queue, account, rank)
        if rank is not None or last.get("waiting") is None:  # else another one is before it
            lanes.reopen(tx, queue, lane, now)
        tx.wake(queue.name)
    return bool(fresh)


def _last(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, priority: int
) -> database.Row:
    """Return the ids of a lane's last messages, in this class the one that waits."""
    return tx.query(LAST, queue=queue.name, lane=lane, priority=priority)[0]


def _next_id(last: Iterable[str | None], now: int) -> str:
    """Create an id behind those of a lane, even if the clock was set back since."""
    made = new_id(now)
    latest = max(filter(None, last), default="")
    return made if made > latest else new_id(int(latest[:12], 16) + 1)


def claim(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    now: int,
    room: int,
    owner: str = "",
    *,
    ahead: int = 0,
) -> list[Message]:
    """Claim up to `room` messages, or series, that may go within `ahead` ms.

    Classes and lanes take turns.

    `owner` is the worker that handles them (core/outbox/leases.py). A message that can't be read
    becomes a dead letter instead.
    """
    lanes.lock_paces(tx, queue)
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
        for row, body, lease, starts_at in claiming.Claiming(tx, queue, now, owner, ahead).take(
            room
        )
    ]


def done(tx: database.Transaction, queue: queue_policy.Queue, message: Message, now: int) -> bool:
    """Settle a message that was performed.

    Like all functions that end a lease, return False and change nothing if the message has another
    lease by now.
    """
    ending = as_done(queue, message, now)
    return end_leases(tx, queue, [ending], 0 if queue.keep else now)[0]


def retry(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    due_at: int,
    note: str,
    *,
    uncertain: bool = False,
    state: State | None = None,
) -> bool:
    """Queue a message for another attempt at `due_at`, after an attempt with an outcome.

    `uncertain`: the attempt may have succeeded; a message stays uncertain until it is settled. With
    a `state` the next attempt has that, and only `uncertain` counts: the body has what is known of
    earlier attempts.
    """
    doubt = uncertain or (state is None and message.uncertain)
    ending = retried(message, due_at, note, uncertain=doubt)
    if state is None:
        return end_leases(tx, queue, [ending])[0]
    lane, priority = state.lane or message.lane, state.priority
    lanes.lock(tx, queue, message.lane, lane)
    moved = {
        "body": queue.encode(state.body),
        "lane": lane,
        "priority": message.priority if priority is None else priority,
    }
    change = f"{ending.change}, body = :body, lane = :lane, priority = :priority"
    ours = end_leases(tx, queue, [Ending(message, change, {**ending.values, **moved})])[0]
    if ours and lane != message.lane:
        groups.reopen_lanes(tx, queue, {lane})
    return ours


def fail(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, due_at: int, note: str
) -> bool:
    """Queue a message for another attempt at `due_at`, after its handler raised."""
    change = (
        "state = 'waiting', due_at = :due_at, note = :note, uncertain = 1,"
        " failures = failures + 1, crashes = 0"
    )
    return end_leases(tx, queue, [Ending(message, change, {"due_at": due_at, "note": note})])[0]


def release(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, due_at: int
) -> bool:
    """End the lease of a message whose handling has not begun; the attempt does not count."""
    change = f"{GIVE_BACK}, due_at = :due_at"
    return end_leases(tx, queue, [Ending(message, change, {"due_at": due_at})])[0]


def dead_letter(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, now: int, note: str
) -> bool:
    """Settle a message as a dead letter, kept for the operator."""
    return end_leases(tx, queue, [settled(message, "dead", now, note)])[0]


def end(
    tx: database.Transaction, queue: queue_policy.Queue, message: Message, now: int, note: str
) -> bool:
    """Settle a message that is no longer wanted; it is kept like one that was performed."""
    return end_leases(tx, queue, [settled(message, "ended", now, note)])[0]


def split(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    message: Message,
    bodies: Sequence[Any],
    now: int,
) -> bool:
    """Replace a claimed message by several, in this order and before the messages behind it.

    They are uncertain if it was.
    """
    if not done(tx, queue, message, now):
        return False
    for number, body in enumerate(bodies):
        key = f"{message.id}-{number:03d}"  # behind the id, and before the next one
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

    Return False if there is none or it is leased.
    """
    lanes.lock_lanes_of(tx, "id = :id AND queue = :queue", id=message_id, queue=queue.name)
    row = tx.one(
        "UPDATE outbox SET state = 'waiting', attempts = 0, failures = 0, crashes = 0,"
        " due_at = :now, settled_at = NULL, note = NULL"
        " WHERE id = :id AND queue = :queue AND state <> 'leased' RETURNING lane",
        id=message_id,
        queue=queue.name,
        now=now,
    )
    if row:
        lanes.reopen(tx, queue, row["lane"])
        tx.wake(queue.name)
    return row is not None


def sweep(
    tx: database.Transaction, queue: queue_policy.Queue, before: int, most: int = lanes.SWEPT
) -> list[str]:
    """Delete up to `most` messages settled before `before`, the oldest first; return their ids.

    One that is revived at the same time stays.
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
