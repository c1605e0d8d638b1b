"""The transactional outbox: messages that must not be lost, in queues of lanes.

A message is put in the transaction that causes it, claimed with a lease, and
settled in the transaction that its outcome causes. Lanes (a chat, an endpoint)
never wait for each other; an ordered lane is worked one message at a time, its
classes in turns and each in the order of putting. A lease whose owner is gone means that
the outcome is not known: the message comes again, marked `uncertain`.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from bot.core.errors import Unreadable
from bot.core.outbox import (
    back_pressure,
    batching,
    class_shares,
    fair_accounts,
    lanes,
    leases,
)
from bot.core.outbox.class_shares import Turns
from bot.core.outbox.groups import LaneGroups, reopen_lanes
from bot.core.outbox.lanes import FOREVER
from bot.core.outbox.queue_policy import REPLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Row, Transaction
    from bot.core.outbox.queue_policy import Queue

BY_ID = (
    "SELECT id, lane, priority, body, attempts, failures, crashes, uncertain, created_at, rank"
    " FROM outbox WHERE id = :id"
)
LAST_WAITING = (
    "SELECT id FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
    " AND priority = :priority ORDER BY id DESC LIMIT 1"
)
LAST_LEASED = (
    "SELECT MAX(id) AS id FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'leased'"
)
DUE = (
    "SELECT id, lane, priority, body, attempts, failures, crashes, uncertain, created_at, rank"
    " FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting' AND due_at <= :now"
    " ORDER BY due_at, id LIMIT :free"
)

log = structlog.get_logger()

SETTLED = (
    "SELECT id FROM outbox WHERE queue = :queue AND settled_at < :before"
    " ORDER BY settled_at, id LIMIT :most"
)

_calls = itertools.count()
_leases = itertools.count()


@dataclass(frozen=True, slots=True)
class Message:
    """A claimed message; `attempts` counts the one under way, `lease` is its own alone.

    `body` is a payload of its queue, or a JSON object where the queue names no payloads.
    `failures` and `crashes` count the attempts before this one, in a row, in which the handler
    raised and whose worker was gone before their end.
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


@dataclass(frozen=True, slots=True)
class State:
    """The body of the next attempt at a message, with its lane and class where they change."""

    body: Any
    lane: str | None = None
    priority: int | None = None


def new_id(now: int) -> str:
    """Make an id that sorts by time (ms) and then by call."""
    return f"{now:012x}{next(_calls) & 0xFFFFFF:06x}{secrets.token_hex(3)}"


def put(
    tx: Transaction,
    queue: Queue,
    lane: str,
    body: Any,
    now: int,
    *,
    key: str | None = None,
    priority: int = REPLY,
    due_at: int | None = None,
    uncertain: bool = False,
    account: str | None = None,
    subject: str | None = None,
) -> bool:
    """Put a message, to go from `due_at` on where that is later than now (epoch ms).

    `uncertain` where what it says may have been said before; `account` names who causes it, in
    queues that are fair among accounts; `subject` what core/outbox/queries.py finds it by.
    False where `key` was put before, and then nothing changes.
    """
    rank = fair_accounts.rank(tx, queue, account, priority, now) if account else None
    fresh = tx.execute(
        "INSERT INTO outbox (id, queue, lane, priority, subject, body, state, uncertain, due_at,"
        " rank, created_at) VALUES (:id, :queue, :lane, :priority, :subject, :body, 'waiting',"
        " :uncertain, :due_at, :rank, :now) ON CONFLICT (id) DO NOTHING",
        id=key or _next_id(tx, queue, lane, priority, now),
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
            fair_accounts.count(tx, queue, account, rank)
        lanes.reopen(tx, queue, lane, now)
        tx.wake(queue.name)
    return bool(fresh)


def _next_id(tx: Transaction, queue: Queue, lane: str, priority: int, now: int) -> str:
    """Make an id behind all that the lane holds, though the clock was set back since."""
    made = new_id(now)
    if not queue.ordered:
        return made
    where = {"queue": queue.name, "lane": lane}
    last = (tx.one(LAST_WAITING, **where, priority=priority), tx.one(LAST_LEASED, **where))
    latest = max((row["id"] for row in last if row and row["id"]), default="")
    return made if made > latest else new_id(int(latest[:12], 16) + 1)


def claim(tx: Transaction, queue: Queue, now: int, room: int, owner: str = "") -> list[Message]:
    """Lease up to `room` messages that may go now; classes take turns, lanes too.

    `owner` is who handles them (see core/outbox/lease_owners.py).
    """
    leases.release_expired(tx, queue, now)
    groups = LaneGroups(tx, queue)
    groups.admit()
    room = back_pressure.room(tx, queue, now, room)
    turns = Turns(tx, queue, now, room + groups.passed)
    claimed: list[Message] = []
    while len(claimed) < room and not lanes.is_paced(tx, queue, now):
        lane = turns.next()
        if lane is None:
            break
        free = groups.free(lane)
        if free == 0:
            groups.park(lane)
            continue
        if back_pressure.holds_up(tx, queue, lane, now):
            continue
        for row in _candidates(tx, queue, lane, now, turns)[:free]:
            if len(claimed) == room or not lanes.take_turn(tx, queue, lane, now):
                break
            whole = batching.gathered(tx, queue, row, now)
            try:
                body = queue.decode(whole["body"])
            except Unreadable as error:
                _set_aside(tx, queue, row, now, str(error))
                continue
            claimed.append(_lease(tx, whole, body, now + queue.lease, owner))
            groups.take(lane)
            turns.took(lane, row["priority"])
            fair_accounts.served(tx, queue, row["rank"])
        lanes.reopen(tx, queue, lane, now)
    return claimed


def next_claim(tx: Transaction, queue: Queue, now: int) -> tuple[int | None, bool]:
    """Return when a claim may find something (epoch ms), and whether a class has no room now.

    None where nothing waits for a time.
    """
    full = class_shares.full(tx, queue)
    opens = lanes.next_open(tx, queue, now, full)
    if opens is not None:
        opens = max(opens, back_pressure.next_look(tx, queue, now))
    return opens, bool(full)


def done(tx: Transaction, queue: Queue, message: Message, now: int) -> bool:
    """Settle a message that reached its end.

    Like `retry`, `release` and `bury`, it is False and changes nothing once the message belongs
    to another lease.
    """
    if queue.keep:
        return _settle(tx, queue, message, "done", now=now, note=None)
    ours = tx.execute(
        "DELETE FROM outbox WHERE id = :id AND lease = :lease",
        id=message.id,
        lease=message.lease,
    )
    reopen_lanes(tx, queue, {message.lane}, now)
    return bool(ours)


def retry(
    tx: Transaction,
    queue: Queue,
    message: Message,
    due_at: int,
    note: str,
    *,
    uncertain: bool = False,
    state: State | None = None,
) -> bool:
    """Put a message back, to be claimed again from `due_at` on: its attempt came to an end.

    `uncertain` where the attempt may have succeeded; a message stays uncertain until its end. With
    a `state` the next attempt has that, and is as uncertain as is said here: the rest is in the
    body.
    """
    change = (
        "state = 'waiting', due_at = :due_at, note = :note, uncertain = :doubt,"
        " failures = 0, crashes = 0"
    )
    doubt = int(uncertain or (state is None and message.uncertain))
    values: dict[str, object] = {"due_at": due_at, "note": note, "doubt": doubt}
    if state is None:
        return _let_go(tx, queue, message, change, **values)
    lane, priority = state.lane or message.lane, state.priority
    ours = _let_go(
        tx, queue, message,
        f"{change}, body = :body, lane = :lane, priority = :priority",
        **values, body=queue.encode(state.body), lane=lane,
        priority=message.priority if priority is None else priority,
    )  # fmt: skip
    if ours and lane != message.lane:
        lanes.reopen(tx, queue, lane)
    return ours


def fail(tx: Transaction, queue: Queue, message: Message, due_at: int, note: str) -> bool:
    """Put a message back whose handler raised: its attempt ended without an outcome."""
    return _let_go(
        tx, queue, message,
        "state = 'waiting', due_at = :due_at, note = :note, uncertain = 1,"
        " failures = failures + 1, crashes = 0",
        due_at=due_at, note=note,
    )  # fmt: skip


def release(tx: Transaction, queue: Queue, message: Message, due_at: int) -> bool:
    """Give back a message that nobody has begun to handle; the attempt does not count."""
    change = "state = 'waiting', due_at = :due_at, attempts = attempts - 1"
    return _let_go(tx, queue, message, change, due_at=due_at)


def bury(tx: Transaction, queue: Queue, message: Message, now: int, note: str) -> bool:
    """Settle a message that never will reach its end; it is kept for the operator."""
    return _settle(tx, queue, message, "dead", now=now, note=note)


def end(tx: Transaction, queue: Queue, message: Message, now: int, note: str) -> bool:
    """Settle a message that nobody wants any more; it is kept like one that arrived."""
    return _settle(tx, queue, message, "ended", now=now, note=note)


def split(tx: Transaction, queue: Queue, message: Message, bodies: Sequence[Any], now: int) -> bool:
    """Put messages in the place of one that was claimed, in this order and before what follows.

    Where its outcome was in doubt, theirs are.
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


def move_lane(tx: Transaction, queue: Queue, lane: str, other: str) -> None:
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
    """Let a message go at once and from its first attempt, whether settled or still waiting.

    False where there is none, and for one under way, which stays as it is.
    """
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


def sweep(tx: Transaction, queue: Queue, before: int, most: int = FOREVER) -> int:
    """Delete up to `most` messages settled before `before`, the oldest first; return how many."""
    return tx.execute(
        f"DELETE FROM outbox WHERE id IN ({SETTLED})",  # noqa: S608 - our own words
        queue=queue.name,
        before=before,
        most=most,
    )


def _candidates(tx: Transaction, queue: Queue, lane: str, now: int, turns: Turns) -> list[Row]:
    free = queue.width - lanes.under_way(tx, queue, lane)
    if not queue.ordered:
        return tx.query(DUE, queue=queue.name, lane=lane, now=now, free=free)
    heads = lanes.heads(tx, queue, lane)
    due = {head["priority"]: head["id"] for head in heads if head["due_at"] <= now}
    return [row for one in turns.order(lane, due)[:free] for row in tx.query(BY_ID, id=due[one])]


def _set_aside(tx: Transaction, queue: Queue, row: Row, now: int, why: str) -> None:
    """Settle a message whose body can't be read, so that its lane goes on."""
    log.error("message set aside", queue=queue.name, id=row["id"], why=why)
    tx.execute(
        "UPDATE outbox SET state = 'dead', settled_at = :now, note = :note WHERE id = :id",
        id=row["id"],
        now=now,
        note=f"its body can't be read: {why}",
    )


def _lease(tx: Transaction, row: Row, body: Any, until: int, owner: str) -> Message:
    lease = f"{owner}/{next(_leases)}{secrets.token_hex(3)}"
    tx.execute(
        "UPDATE outbox SET state = 'leased', attempts = attempts + 1, leased_until = :until,"
        " lease = :lease WHERE id = :id",
        id=row["id"],
        until=until,
        lease=lease,
    )
    return Message(
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
    )


def _settle(
    tx: Transaction, queue: Queue, message: Message, state: str, *, now: int, note: str | None
) -> bool:
    change = "state = :state, settled_at = :now, note = :note"
    return _let_go(tx, queue, message, change, state=state, now=now, note=note)


def _let_go(tx: Transaction, queue: Queue, message: Message, change: str, **values: object) -> bool:
    """End the lease of a message with this change of it, if it is still this lease's."""
    ours = tx.execute(
        f"UPDATE outbox SET {change}, leased_until = NULL, lease = NULL"  # noqa: S608 - our own words
        " WHERE id = :id AND lease = :lease",
        id=message.id,
        lease=message.lease,
        **values,
    )
    reopen_lanes(tx, queue, {message.lane})
    return bool(ours)
