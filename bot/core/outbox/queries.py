"""Queries for queued messages: the only way for other packages to read the outbox.

Other packages use `QUEUED` in a FROM clause to join their own tables; everything else is a
function. Their changes go through core/outbox/bulk_changes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox, queue_policy

QUEUED = "(SELECT id, queue, lane, body, state, attempts, due_at, settled_at, note FROM outbox)"
"""Table expression of all queued messages, for joins by `id`; SQLite still uses the indexes."""

TABLE = "outbox"
"""Name of the table, for code that processes tables by name (app/maintenance/personal_data.py)."""

WAITING, LEASED, DONE, DEAD, ENDED, JOINED = "waiting", "leased", "done", "dead", "ended", "joined"
"""States. A `joined` message is sent as part of another message."""

SETTLED = (DONE, DEAD, ENDED)
"""Final states."""


def find(tx: database.Transaction, message_id: str) -> database.Row | None:
    """Return lane, state and note of a message; None if it has been deleted."""
    return tx.one("SELECT lane, state, note FROM outbox WHERE id = :id", id=message_id)


# The messages of a lane. A state is a literal in each statement, so that its partial index can be
# used.

EVERY = 1_000_000
"""A limit larger than any lane."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored message of a lane; times in epoch ms."""

    id: str

    body: Any
    """None if the stored body can't be read."""

    state: str

    note: str | None
    """The reason of the last failure."""

    uncertain: bool
    """True if an attempt may have succeeded."""

    created_at: int


def newest_of_lane(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    lane: str,
    priority: int,
    state: str,
    *,
    most: int = EVERY,
) -> list[StoredMessage]:
    """Return the messages of a lane and class in a state, newest first."""
    rows = tx.query(
        "SELECT id, body, state, note, uncertain, created_at FROM outbox WHERE queue = :queue"  # noqa: S608 - our own word
        f" AND lane = :lane AND priority = :priority AND state = '{state}'"
        " ORDER BY id DESC LIMIT :most",
        queue=queue.name,
        lane=lane,
        priority=priority,
        most=most,
    )
    return [
        StoredMessage(**{**row, "body": _body(queue, row), "uncertain": bool(row["uncertain"])})
        for row in rows
    ]


def count_of_lane(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, priority: int, state: str
) -> int:
    """Count the messages of a lane and class in a state."""
    (row,) = tx.query(
        "SELECT COUNT(*) AS n FROM outbox WHERE queue = :queue AND lane = :lane"  # noqa: S608 - our own word
        f" AND priority = :priority AND state = '{state}'",
        queue=queue.name,
        lane=lane,
        priority=priority,
    )
    return int(row["n"])


_OF_CLASS = (
    "SELECT body FROM outbox WHERE queue = :queue AND lane = :lane"
    " AND priority = :priority AND state = 'waiting'"
)
NEAR = (
    f"SELECT body FROM ({_OF_CLASS} AND id > :id ORDER BY id LIMIT :most) AS behind UNION ALL"  # noqa: S608 - our own words
    f" SELECT body FROM ({_OF_CLASS} AND id < :id ORDER BY id DESC LIMIT :most) AS before"
)


def waiting_near(
    tx: database.Transaction, queue: queue_policy.Queue, message: outbox.Message, *, most: int
) -> list[Any]:
    """Return the bodies of up to `most` waiting messages before and after a message in its lane."""
    near = {"lane": message.lane, "priority": message.priority, "id": message.id}
    return [*_bodies(queue, tx.query(NEAR, queue=queue.name, **near, most=most))]


def unsettled_of_lane(tx: database.Transaction, queue: queue_policy.Queue, lane: str) -> list[Any]:
    """Return the bodies of the messages of a lane that wait or are being handled."""
    of_lane = "SELECT body FROM outbox WHERE queue = :queue AND lane = :lane"
    sql = f"{of_lane} AND state = 'waiting' UNION ALL {of_lane} AND state = 'leased'"
    return [*_bodies(queue, tx.query(sql, queue=queue.name, lane=lane))]


# Other messages that wait or are being handled.


def unsettled_about(
    tx: database.Transaction, queue: queue_policy.Queue, subject: str
) -> list[tuple[str, Any]]:
    """Return lane and body of the messages about a subject."""
    rows = tx.query(
        "SELECT lane, body FROM outbox WHERE queue = :queue AND subject = :subject"
        " AND state IN ('waiting', 'leased')",
        queue=queue.name,
        subject=subject,
    )
    return [(row["lane"], body) for row in rows for body in _bodies(queue, [row])]


def unsettled_of_queue(tx: database.Transaction, queue: queue_policy.Queue) -> Iterator[Any]:
    """Yield the bodies of a queue's messages, oldest first."""
    sql = (
        "SELECT body FROM outbox WHERE queue = :queue AND state IN ('waiting', 'leased')"
        " ORDER BY id"
    )
    return _bodies(queue, tx.query(sql, queue=queue.name))


def unsettled_texts(tx: database.Transaction, after: str, most: int) -> list[tuple[str, str, str]]:
    """Return id, name of the queue and JSON of messages, sorted by id, after the id `after`."""
    rows = tx.query(
        "SELECT id, queue, body FROM outbox WHERE state IN ('waiting', 'leased') AND id > :after"
        " ORDER BY id LIMIT :most",
        after=after,
        most=most,
    )
    return [(row["id"], row["queue"], row["body"]) for row in rows]


def _body(queue: queue_policy.Queue, row: database.Row) -> Any:
    """Return the body of a message; None if it can't be read (a claim will dead-letter it)."""
    try:
        return queue.decode(row["body"])
    except errors.Unreadable:
        return None


def _bodies(queue: queue_policy.Queue, rows: Iterable[database.Row]) -> Iterator[Any]:
    return (body for row in rows if (body := _body(queue, row)) is not None)


# What operators see.

COUNT_WAITING = (
    "SELECT o.queue, l.paused IS NOT NULL AS paused, COUNT(*) AS n, MIN(o.due_at) AS due_at"
    " FROM outbox o LEFT JOIN lanes l ON l.queue = o.queue AND l.lane = o.lane"
    " WHERE o.state = 'waiting' GROUP BY o.queue, l.paused IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of waiting messages of a queue, counted separately for paused and other lanes."""

    queue: str
    paused: bool
    number: int

    due_at: int
    """When the first message is due, in epoch ms."""


def newest_settled_texts(tx: database.Transaction, queue: str, most: int) -> list[str]:
    """Return the JSON of a queue's most recently settled messages."""
    rows = tx.query(
        "SELECT body FROM outbox WHERE queue = :queue AND settled_at IS NOT NULL"
        " ORDER BY settled_at DESC LIMIT :most",
        queue=queue,
        most=most,
    )
    return [row["body"] for row in rows]


def newest_dead(
    tx: database.Transaction, queue: str, most: int
) -> list[tuple[str, int, str | None]]:
    """Return lane, time of settlement (epoch ms) and note of a queue's newest dead letters."""
    rows = tx.query(
        "SELECT lane, settled_at, note FROM outbox WHERE queue = :queue AND state = 'dead'"
        " ORDER BY settled_at DESC, id DESC LIMIT :most",
        queue=queue,
        most=most,
    )
    return [(row["lane"], row["settled_at"] or 0, row["note"]) for row in rows]


def select_counts(state: str) -> str:
    """Return a SELECT that counts the messages in a state by queue, from a partial index."""
    return f"SELECT queue, COUNT(*) AS n FROM outbox WHERE state = '{state}' GROUP BY queue"  # noqa: S608 - our own word


def count_by_queue(tx: database.Transaction, state: str) -> dict[str, int]:
    """Count the messages in a state by queue name."""
    rows = tx.query(f"{select_counts(state)} ORDER BY queue")
    return {row["queue"]: row["n"] for row in rows}


def count_waiting(tx: database.Transaction) -> list[Waiting]:
    """Count the messages that wait."""
    return [
        Waiting(row["queue"], bool(row["paused"]), row["n"], row["due_at"])
        for row in tx.query(COUNT_WAITING)
    ]
