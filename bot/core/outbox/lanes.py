"""The lanes of a queue: their locks, holds and pauses, when each lane opens, and rate limits.

The row of a lane stores the time from which its next message may be claimed. So a claim reads only
lanes with a claimable message.

If several transactions run at the same time, a message is put, claimed and settled under the lock
of its lane. Otherwise two claims would take the same message, or a put wouldn't see that the lane
has just become empty. Nothing is locked on SQLite or in queues with a write scope, because their
transactions run one at a time.

To avoid deadlocks, locks are always taken in the same order: the whole queue, its accounts, its
lanes by name. A claim never waits for a lane: it skips locked lanes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import queue_policy

WHOLE_QUEUE = "*"
"""Name of the lane whose row stores the rate limit of the whole queue."""

ACCOUNT = "@"
"""Prefix of the lanes whose rows are accounts (core/outbox/fairness.py)."""

FOREVER = 2**63 - 1
"""The latest time that a BIGINT column can hold."""

LOCK = """
    INSERT INTO lanes (queue, lane) VALUES (:queue, :lane)
    ON CONFLICT (queue, lane) DO UPDATE SET turn = lanes.turn
"""


def lock(tx: database.Transaction, queue: queue_policy.Queue, *names: str) -> None:
    """Lock lanes until the transaction ends; create missing rows.

    Call this first if the messages to put or settle depend on reads of a lane.
    """
    if queue.write_scope is not None:
        return
    order = {name: (name != WHOLE_QUEUE, not name.startswith(ACCOUNT), name) for name in names}
    for lane in sorted(order, key=order.__getitem__):
        tx.lock(LOCK, queue=queue.name, lane=lane)


def lock_paces(tx: database.Transaction, queue: queue_policy.Queue) -> None:
    """Lock the rows that all claims of a queue share: its rate limit and its accounts' ranks."""
    if queue.pace or queue.account_pace:
        lock(tx, queue, WHOLE_QUEUE)


def lock_lanes_of(tx: database.Transaction, where: str, **given: object) -> None:
    """Lock the lanes of the messages that a condition chooses.

    Raises Overtaken if one of the messages was moved to another lane while this waited for a lock:
    to lock that lane now would break the order.
    """
    if tx.engine == "sqlite":
        return
    chosen = f"SELECT DISTINCT queue, lane FROM outbox WHERE {where} ORDER BY queue, lane"  # noqa: S608 - our own words
    rows = tx.query(
        f"INSERT INTO lanes (queue, lane) {chosen}"
        " ON CONFLICT (queue, lane) DO UPDATE SET turn = lanes.turn RETURNING queue, lane",
        **given,
    )
    locked = {(row["queue"], row["lane"]) for row in rows}
    if any((row["queue"], row["lane"]) not in locked for row in tx.query(chosen, **given)):
        raise errors.Overtaken("messages were moved while their lanes were locked")


def skip_locked(tx: database.Transaction, queue: queue_policy.Queue) -> str:
    """Return the end of a SELECT of lanes that locks them and skips lanes locked by others."""
    if tx.engine == "sqlite" or queue.write_scope:
        return ""
    return " FOR NO KEY UPDATE SKIP LOCKED"


# The row of a lane: columns, holds and pauses.


def store(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    lane: str,
    column: str,
    value: object,
    *,
    only_later: bool = False,
) -> None:
    """Store a column of a lane's row; with `only_later`, never replace a later time."""
    later = f" WHERE lanes.{column} IS NULL OR lanes.{column} < excluded.{column}"
    tx.execute(
        f"INSERT INTO lanes (queue, lane, {column}) VALUES (:queue, :lane, :value)"  # noqa: S608 - our own names
        f" ON CONFLICT (queue, lane) DO UPDATE SET {column} = excluded.{column}"
        f"{later if only_later else ''}",
        queue=queue.name,
        lane=lane,
        value=value,
    )


def stored(tx: database.Transaction, queue: queue_policy.Queue, lane: str, column: str) -> Any:
    """Return a column of a lane's row; None if there is no row."""
    row = tx.one(
        f"SELECT {column} AS value FROM lanes WHERE queue = :queue AND lane = :lane",  # noqa: S608 - as above
        queue=queue.name,
        lane=lane,
    )
    return row["value"] if row else None


def hold(tx: database.Transaction, queue: queue_policy.Queue, lane: str, until: int) -> None:
    """Hold a lane until a time (epoch ms), unless it is already held longer."""
    store(tx, queue, lane, "held_until", until, only_later=True)
    reopen(tx, queue, lane)


def pause(tx: database.Transaction, queue: queue_policy.Queue, lane: str, why: str | None) -> None:
    """Pause a lane for the reason `why`, and keep its messages; None resumes the lane."""
    store(tx, queue, lane, "paused", why)
    reopen(tx, queue, lane)
    tx.wake(queue.name)


def resume(tx: database.Transaction, queue: queue_policy.Queue, lane: str) -> None:
    """Resume a lane, if it is paused."""
    if is_paused(tx, queue, lane):
        pause(tx, queue, lane, None)


def is_paused(tx: database.Transaction, queue: queue_policy.Queue, lane: str) -> bool:
    """True if a lane is paused."""
    return stored(tx, queue, lane, "paused") is not None


# Open lanes, which claims read.


@cache
def select_open(order: str, skip_locked: str = "") -> str:
    """Return a SELECT of open lanes by class, and in it by `open_at` or `rank`.

    It has a part for each class, because the indexes sort by class first. `+open_at` keeps SQLite
    from using the index by time, which would sort all open lanes.
    """
    columns, condition = "lane, priority, open_at", "open_at <= :by"
    if order == "rank":
        columns, condition = f"{columns}, rank", "rank IS NOT NULL AND +open_at <= :by"
    parts = (
        f"SELECT * FROM (SELECT {columns} FROM lanes"  # noqa: S608 - our own words
        f" WHERE queue = :queue AND priority = {priority} AND {condition}"
        " AND paused IS NULL AND waits_for IS NULL"
        f" ORDER BY {order}, lane LIMIT :most{skip_locked}) AS class{priority}"
        for priority in queue_policy.PRIORITIES
    )
    return f"{' UNION ALL '.join(parts)} ORDER BY priority, {order}, lane"


def open_lanes(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, most: int
) -> list[database.Row]:
    """Return lane, priority and open_at of claimable lanes, up to `most` of each class.

    Within a class they are sorted by rank, or by the time when they opened. They are locked; lanes
    locked by another transaction are skipped.
    """
    sql = select_open("rank" if queue.account_pace else "open_at", skip_locked(tx, queue))
    return tx.query(sql, queue=queue.name, by=now, most=most)


def first_open(
    tx: database.Transaction, queue: queue_policy.Queue, full: Collection[int] = ()
) -> int | None:
    """Return when the first lane opens (epoch ms), ignoring the classes in `full`."""
    rows = tx.query(select_open("open_at"), queue=queue.name, by=FOREVER, most=1)
    times = (row["open_at"] for row in rows if row["priority"] not in full)
    return min(times, default=None)


# When a lane opens; stored whenever its messages, its rate limit or its hold change.


WAITING = "FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
BUSY = "(SELECT COUNT(*) FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'leased')"


def _with_lane(heads: str) -> str:
    """Read everything that `reopen` needs in one statement: each takes the interpreter's lock."""
    return (
        f"SELECT heads.id, heads.priority, heads.due_at, heads.rank, last_rank, {BUSY} AS busy,"  # noqa: S608 - our own words
        f" arrival_at, held_until FROM ({heads}) AS heads"
        " LEFT JOIN lanes ON queue = :queue AND lane = :lane"
    )


HEADS = _with_lane(
    " UNION ALL ".join(
        f"SELECT * FROM (SELECT id, priority, due_at, rank,"  # noqa: S608 - our own words
        f" (SELECT rank {WAITING} AND priority = {priority} ORDER BY id DESC LIMIT 1) AS last_rank"
        f" {WAITING} AND priority = {priority} ORDER BY id LIMIT 1) AS class{priority}"
        for priority in queue_policy.PRIORITIES
    )
)
"""The first message of each class of an ordered lane, beside the lane's row."""

NEXT_DUE = _with_lane(
    f"SELECT id, priority, due_at, rank, rank AS last_rank {WAITING} ORDER BY due_at, id LIMIT 1"
)
"""The next message of a lane without order, beside the lane's row."""

REOPEN = (
    "INSERT INTO lanes (queue, lane, open_at, priority, rank)"
    " VALUES (:queue, :lane, :open_at, :priority, :rank)"
    " ON CONFLICT (queue, lane) DO UPDATE SET open_at = excluded.open_at,"
    " priority = excluded.priority, rank = excluded.rank, waits_for = NULL"
)
REOPEN_PLAIN = f"""
    INSERT INTO lanes (queue, lane, open_at, priority)
    SELECT :queue, :lane, CASE WHEN busy < :width THEN due END, class FROM (
        SELECT {BUSY} AS busy, (SELECT due_at {WAITING} ORDER BY due_at, id LIMIT 1) AS due,
        (SELECT priority {WAITING} ORDER BY due_at, id LIMIT 1) AS class
    ) AS state WHERE true
    ON CONFLICT (queue, lane) DO UPDATE SET open_at = CASE
        WHEN lanes.held_until > excluded.open_at THEN lanes.held_until ELSE excluded.open_at
    END, priority = excluded.priority, waits_for = NULL
    RETURNING open_at
"""  # noqa: S608 - our own words
"""All of `reopen` for a lane without order, rate limit and accounts, in one statement."""


def reopen(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int = 0
) -> int | None:
    """Store when a lane opens and in which class; return the time, None for never.

    A lane that was just served goes behind all lanes that are open at `now`.
    """
    name, pace = queue.name, queue.lane_pace(lane)
    if not (queue.ordered or queue.account_pace or pace):
        row = tx.query(REOPEN_PLAIN, queue=name, lane=lane, width=queue.width)[0]
        return None if row["open_at"] is None else int(row["open_at"])
    heads = tx.query(HEADS if queue.ordered else NEXT_DUE, queue=name, lane=lane)
    if not heads or heads[0]["busy"] >= queue.width:
        tx.execute(REOPEN, queue=name, lane=lane, open_at=None, priority=None, rank=None)
        return None
    earliest = heads[0]["held_until"] or 0
    if pace is not None:
        arrival_at = heads[0]["arrival_at"] or 0
        last_slot_ended_at = arrival_at - pace.interval
        earliest = max(earliest, pace.next_at(arrival_at), min(last_slot_ended_at, now))
    head = _first_due(heads, max(earliest, now))
    open_at = int(max(head["due_at"], earliest))
    rank = None
    if queue.account_pace:
        rank = open_at
        if head["rank"] is not None and head["last_rank"] is not None:
            # A quarter of the way from the rank of its first message to the rank of its last: a
            # person who writes occasionally goes before one who writes faster than the bot answers.
            rank = (3 * int(head["rank"]) + int(head["last_rank"])) // 4
    tx.execute(REOPEN, queue=name, lane=lane, open_at=open_at, priority=head["priority"], rank=rank)
    return open_at


def _first_due(heads: list[database.Row], by: int) -> database.Row:
    """Return the message for which a lane opens.

    An alert that is due by `by` goes before an older reply, and both go before a notice. Otherwise
    the alert would wait behind a notice of its own chat, among the notices of all chats.
    """
    waiting = {head["priority"]: head for head in heads}
    if len(waiting) > 1:
        waiting.pop(queue_policy.NOTICE, None)
    first = min(waiting.values(), key=lambda head: (head["due_at"], head["priority"]))
    alert = waiting.get(queue_policy.ALERT, first)
    return alert if alert["due_at"] <= max(by, first["due_at"]) else first


# Rate limits that delay: of a queue, of its lanes, and of the process that handles messages.
#
# A lane's row stores the theoretical arrival time of its next message (`queue_policy.Pace`), so
# rate limits survive a restart. A slot is the time when a message may go. A claim may take slots up
# to `ahead` ms before they begin, and the handler waits for them (`Message.starts_at`). So no slot
# is wasted while a claim waits for the database or a busy process.


def arrival_at(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> int:
    """Return the theoretical arrival time of a lane's next message; 0 if no rate limit applies."""
    pace = queue.pace if lane == WHOLE_QUEUE else queue.lane_pace(lane)
    return pace.clamp(stored(tx, queue, lane, "arrival_at") or 0, now) if pace else 0


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
    return len(open_lanes(tx, queue, now, served + 1)) > served


def restart_interval(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int
) -> None:
    """Restart the interval of a lane at `now`: the slot was used later than it was granted.

    The receiver counts arrivals, so the message after a slow message would arrive too early.
    """
    if pace := queue.lane_pace(lane):
        store(tx, queue, lane, "arrival_at", now + pace.interval, only_later=True)


LIMITED = "queue = :queue AND (arrival_at > :past OR held_until > :past)"
POSTPONE = "UPDATE lanes SET arrival_at = arrival_at + :by, held_until = held_until + :by"


def postpone(tx: database.Transaction, queue: queue_policy.Queue, now: int, by: int) -> None:
    """Postpone rate limits and holds by `by` ms, the most that the clock that set them lagged.

    Slots that look free here at `now` may still count as used at the receiver.
    """
    past = {"queue": queue.name, "past": now - by}
    rows = tx.query(f"SELECT lane FROM lanes WHERE {LIMITED}", **past)  # noqa: S608 - our own words
    names = [row["lane"] for row in rows]
    lock(tx, queue, *names)
    tx.execute(f"{POSTPONE} WHERE {LIMITED}", **past, by=by)
    for lane in names:
        reopen(tx, queue, lane, now)


class Slots:
    """The slots that a claim may take at `now` (epoch ms); `store` stores the taken slots."""

    def __init__(
        self, tx: database.Transaction, queue: queue_policy.Queue, now: int, ahead: int
    ) -> None:
        self._tx = tx
        self._queue = queue
        self._now = now
        self._ahead = ahead
        self._arrival_at = self._before = arrival_at(tx, queue, WHOLE_QUEUE, now)

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
            store(self._tx, self._queue, lane, "arrival_at", value)
        if self._queue.pace is not None:
            self._arrival_at = self._queue.pace.advance(self._arrival_at, starts_at)
        return starts_at

    def store(self) -> None:
        """Store the used part of the queue's rate limit."""
        if self._arrival_at != self._before:
            store(self._tx, self._queue, WHOLE_QUEUE, "arrival_at", self._arrival_at)

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


# Lanes that are not used any more.


SWEPT = 500
"""Rows that a sweep deletes per transaction; other transactions wait for it."""

UNUSED = """
    SELECT lane FROM lanes WHERE queue = :queue AND open_at IS NULL AND paused IS NULL
    AND held_until <= :now AND arrival_at <= :now AND NOT EXISTS (
        SELECT 1 FROM outbox
        WHERE outbox.queue = lanes.queue AND outbox.lane = lanes.lane AND state = 'leased'
    )
    LIMIT :most
"""


def sweep(tx: database.Transaction, queue: queue_policy.Queue, now: int) -> int:
    """Delete up to SWEPT rows of lanes without messages, holds or used slots; return the count."""
    unused = f"{UNUSED}{skip_locked(tx, queue)}"
    sql = f"DELETE FROM lanes WHERE queue = :queue AND lane IN ({unused})"  # noqa: S608 - our own words
    return tx.execute(sql, queue=queue.name, now=now, most=SWEPT)
