"""The lanes of a queue: when each opens, held lanes, paused lanes, and rate limits.

The row of a lane stores the time from which its next message may be claimed. So rate limits survive
a restart, and a claim reads only lanes with a claimable message.

If several transactions run at the same time, a message is put, claimed and settled under the lock
of its lane. Otherwise two claims would take the same message, or a put wouldn't see that the lane
has just become empty. Nothing is locked on SQLite or in queues with a write scope, because their
transactions run one at a time.

To avoid deadlocks, locks are always taken in the same order: the whole queue, its accounts, its
lanes by name. A claim never waits for a lane: it skips locked lanes.
"""

from __future__ import annotations

from collections.abc import Collection
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
LANES_OF_MESSAGES = "SELECT DISTINCT queue, lane FROM outbox WHERE {} ORDER BY queue, lane"
LOCK_OF_MESSAGES = f"""
    INSERT INTO lanes (queue, lane) {LANES_OF_MESSAGES}
    ON CONFLICT (queue, lane) DO UPDATE SET turn = lanes.turn RETURNING queue, lane
"""
LIMIT = "LIMIT :most"


def lock(tx: database.Transaction, queue: queue_policy.Queue, *names: str) -> None:
    """Lock lanes until the transaction ends; create missing rows.

    Call this first if the messages to put or settle depend on reads of a lane.
    """
    if queue.write_scope is None:
        for lane in sorted(set(names), key=_order):
            tx.lock(LOCK, queue=queue.name, lane=lane)


def lock_for_put(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, account: str | None
) -> None:
    """Lock the rows that a put changes: its lane; if accounts are ranked, the queue and account."""
    if account and queue.account_pace:
        lock(tx, queue, WHOLE_QUEUE, f"{ACCOUNT}{account}", lane)
    else:
        lock(tx, queue, lane)


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

    def lanes_by(sql: str) -> set[tuple[str, str]]:
        return {(row["queue"], row["lane"]) for row in tx.query(sql.format(where), **given)}

    locked = lanes_by(LOCK_OF_MESSAGES)
    if not lanes_by(LANES_OF_MESSAGES) <= locked:
        raise errors.Overtaken("messages were moved while their lanes were locked")


def skipping_locked(tx: database.Transaction, queue: queue_policy.Queue, sql: str) -> str:
    """Make a statement lock the lanes that its `LIMIT :most` SELECTs, and skip locked lanes."""
    if tx.engine == "sqlite" or queue.write_scope:
        return sql
    return sql.replace(LIMIT, f"{LIMIT} FOR NO KEY UPDATE SKIP LOCKED")


def _order(lane: str) -> tuple[bool, bool, str]:
    return lane != WHOLE_QUEUE, not lane.startswith(ACCOUNT), lane


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


# Open lanes, which claims read. A statement has a part for each class, because the index sorts by
# class first, then by time.

HEAD_OF_CLASS = (
    "SELECT * FROM (SELECT id, due_at, priority FROM outbox WHERE queue = :queue AND lane = :lane"
    " AND state = 'waiting' AND priority = {0} ORDER BY id LIMIT 1) AS class{0}"
)
OPEN_OF_CLASS = (
    "SELECT * FROM (SELECT lane, priority, open_at FROM lanes WHERE queue = :queue"
    " AND priority = {0} AND open_at <= :by AND paused IS NULL AND waits_for IS NULL"
    " ORDER BY open_at, lane LIMIT :most) AS class{0}"
)
RANKED_OF_CLASS = (
    "SELECT * FROM (SELECT lane, priority, open_at, rank FROM lanes WHERE queue = :queue"
    " AND priority = {0} AND rank IS NOT NULL AND +open_at <= :by AND paused IS NULL"
    " AND waits_for IS NULL ORDER BY rank, lane LIMIT :most) AS class{0}"
)
# `+open_at` keeps SQLite from using the index by time, which would sort all open lanes.
HEADS = " UNION ALL ".join(HEAD_OF_CLASS.format(priority) for priority in queue_policy.PRIORITIES)
OPEN = " UNION ALL ".join(OPEN_OF_CLASS.format(priority) for priority in queue_policy.PRIORITIES)
RANKED = " UNION ALL ".join(
    RANKED_OF_CLASS.format(priority) for priority in queue_policy.PRIORITIES
)
OPEN_LANES = f"{OPEN} ORDER BY priority, open_at, lane"
RANKED_LANES = f"{RANKED} ORDER BY priority, rank, lane"


def open_lanes(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, most: int
) -> list[database.Row]:
    """Return lane, priority and open_at of claimable lanes, up to `most` of each class.

    Within a class they are sorted by rank, or by the time when they opened. They are locked; lanes
    locked by another transaction are skipped.
    """
    sql = skipping_locked(tx, queue, RANKED_LANES if queue.account_pace else OPEN_LANES)
    return tx.query(sql, queue=queue.name, by=now, most=most)


def first_open(
    tx: database.Transaction, queue: queue_policy.Queue, full: Collection[int] = ()
) -> int | None:
    """Return when the first lane opens (epoch ms), ignoring the classes in `full`."""
    rows = tx.query(OPEN_LANES, queue=queue.name, by=FOREVER, most=1)
    times = (row["open_at"] for row in rows if row["priority"] not in full)
    return min(times, default=None)


RANK_UNRANKED = (
    "UPDATE lanes SET rank = open_at WHERE queue = :queue AND open_at IS NOT NULL AND rank IS NULL"
)


def rank_unranked(tx: database.Transaction, queue: queue_policy.Queue) -> None:
    """Rank lanes that opened while the queue had no accounts."""
    if queue.account_pace:
        tx.execute(RANK_UNRANKED, queue=queue.name)


# Rate limits.


def arrival_at(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    lane: str,
    pace: queue_policy.Pace | None,
    now: int,
) -> int:
    """Return the theoretical arrival time of a lane's next message; 0 if no rate limit applies."""
    return pace.clamp(stored(tx, queue, lane, "arrival_at") or 0, now) if pace else 0


def queue_opens_at(tx: database.Transaction, queue: queue_policy.Queue, now: int) -> int:
    """Return when the queue's rate limit has room; 0 if the queue has no rate limit."""
    pace = queue.pace
    return pace.next_at(arrival_at(tx, queue, WHOLE_QUEUE, pace, now)) if pace else 0


def restart_interval(
    tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int
) -> None:
    """Restart the interval of a lane at `now`: the slot was used later than it was granted.

    The receiver counts arrivals, so the message after a slow message would arrive too early.
    """
    if pace := queue.lane_pace(lane):
        store(tx, queue, lane, "arrival_at", now + pace.interval, only_later=True)


LIMITED = (
    "SELECT lane FROM lanes WHERE queue = :queue AND (arrival_at > :past OR held_until > :past)"
)
POSTPONE = (
    "UPDATE lanes SET arrival_at = arrival_at + :by, held_until = held_until + :by"
    " WHERE queue = :queue AND (arrival_at > :past OR held_until > :past)"
)


def postpone(tx: database.Transaction, queue: queue_policy.Queue, now: int, by: int) -> None:
    """Postpone rate limits and holds by `by` ms, the most that the clock that set them lagged.

    Slots that look free here at `now` may still count as used at the receiver.
    """
    past = {"queue": queue.name, "past": now - by}
    names = [row["lane"] for row in tx.query(LIMITED, **past)]
    lock(tx, queue, *names)
    tx.execute(POSTPONE, **past, by=by)
    for lane in names:
        reopen(tx, queue, lane, now)


def has_backlog(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> bool:
    """True if a lane's next message waits for the rate limit of the lane or the queue.

    The queue's limit delays the message if more lanes are open than the queue serves in a second.
    """
    own = queue.lane_pace(lane)
    if own and own.next_at(arrival_at(tx, queue, lane, own, now)) > now:
        return True
    if queue.pace is None:
        return False
    served = max(1, queue_policy.SECOND // queue.pace.interval)
    return len(open_lanes(tx, queue, now, served + 1)) > served


# When a lane opens; stored whenever its messages, its rate limit or its hold change.

BUSY = "(SELECT COUNT(*) FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'leased')"
WAITING_OF_LANE = "FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'"
ROW_OF_LANE = "arrival_at, held_until FROM (SELECT 1) AS it LEFT JOIN lanes"
STATE = (
    f"SELECT {BUSY} AS busy, "
    + ", ".join(
        f"(SELECT due_at {WAITING_OF_LANE} AND priority = {priority} ORDER BY id LIMIT 1)"
        f" AS due_{priority}"
        for priority in queue_policy.PRIORITIES
    )
    + f", {ROW_OF_LANE} ON queue = :queue AND lane = :lane"
)
RANK_OF_CLASS = f"SELECT rank {WAITING_OF_LANE} AND priority = {{0}} ORDER BY id {{1}} LIMIT 1"
STATE_WITH_RANKS = STATE.replace(
    f", {ROW_OF_LANE}",
    "".join(
        f", ({RANK_OF_CLASS.format(priority, '')}) AS first_{priority}"
        f", ({RANK_OF_CLASS.format(priority, 'DESC')}) AS last_{priority}"
        for priority in queue_policy.PRIORITIES
    )
    + f", {ROW_OF_LANE}",
)
STATE_UNORDERED = (
    f"SELECT {BUSY} AS busy, (SELECT due_at {WAITING_OF_LANE} ORDER BY due_at, id LIMIT 1) AS due,"
    f" (SELECT priority {WAITING_OF_LANE} ORDER BY due_at, id LIMIT 1) AS class,"
    f" {ROW_OF_LANE} ON queue = :queue AND lane = :lane"
)
STATE_UNORDERED_WITH_RANKS = STATE_UNORDERED.replace(
    f", {ROW_OF_LANE}",
    f", (SELECT rank {WAITING_OF_LANE} ORDER BY due_at, id LIMIT 1) AS rank, {ROW_OF_LANE}",
)
"""Everything that `reopen` reads, in one statement: each statement takes the interpreter's lock."""

REOPEN = (
    "INSERT INTO lanes (queue, lane, open_at, priority, rank)"
    " VALUES (:queue, :lane, :open_at, :priority, :rank)"
    " ON CONFLICT (queue, lane) DO UPDATE SET open_at = excluded.open_at,"
    " priority = excluded.priority, rank = excluded.rank, waits_for = NULL"
)
REOPEN_PLAIN = f"""
    INSERT INTO lanes (queue, lane, open_at, priority)
    SELECT :queue, :lane, CASE WHEN busy < :width THEN due END, class FROM (
        SELECT {BUSY} AS busy, (SELECT due_at {WAITING_OF_LANE} ORDER BY due_at, id LIMIT 1) AS due,
        (SELECT priority {WAITING_OF_LANE} ORDER BY due_at, id LIMIT 1) AS class
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
    pace = queue.lane_pace(lane)
    if not (queue.ordered or queue.account_pace or pace):
        row = tx.query(REOPEN_PLAIN, queue=queue.name, lane=lane, width=queue.width)[0]
        return None if row["open_at"] is None else int(row["open_at"])
    if queue.ordered:
        sql = STATE_WITH_RANKS if queue.account_pace else STATE
    else:
        sql = STATE_UNORDERED_WITH_RANKS if queue.account_pace else STATE_UNORDERED
    state = tx.query(sql, queue=queue.name, lane=lane)[0]
    earliest = state["held_until"] or 0
    if pace is not None:
        arrival_at = state["arrival_at"] or 0
        last_slot_ended_at = arrival_at - pace.interval
        earliest = max(earliest, pace.next_at(arrival_at), min(last_slot_ended_at, now))
    due = _first_due(state, max(earliest, now)) if state["busy"] < queue.width else None
    open_at = priority = rank = None
    if due is not None:
        due_at, priority = due
        open_at = max(due_at, earliest)
        rank = _rank(queue, state, priority, open_at) if queue.account_pace else None
    tx.execute(REOPEN, queue=queue.name, lane=lane, open_at=open_at, priority=priority, rank=rank)
    return open_at


def _rank(queue: queue_policy.Queue, state: database.Row, priority: int, open_at: int) -> int:
    """Return the rank of a lane; in a queue without order it is the rank of the next message.

    The rank of an ordered lane lies a quarter of the way from the rank of its first message to the
    rank of its last message. A person who writes occasionally goes before a person who writes
    faster than the bot answers.
    """
    if not queue.ordered:
        return open_at if state["rank"] is None else int(state["rank"])
    first, last = state[f"first_{priority}"], state[f"last_{priority}"]
    return open_at if first is None or last is None else (3 * int(first) + int(last)) // 4


def _first_due(state: database.Row, by: int) -> tuple[int, int] | None:
    """Return when a lane is due, and the class that is served then.

    An alert that is due by `by` goes before an older reply, and both go before a notice. Otherwise
    the alert would wait behind a notice of its own chat, among the notices of all chats.
    """
    if "class" in state:
        return None if state["class"] is None else (state["due"], state["class"])
    waiting = {}
    for priority in queue_policy.PRIORITIES:
        if (due_at := state[f"due_{priority}"]) is not None:
            waiting[priority] = due_at
    if len(waiting) > 1:
        waiting.pop(queue_policy.NOTICE, None)
    if waiting.get(queue_policy.ALERT, FOREVER) <= max(by, min(waiting.values(), default=by)):
        return waiting[queue_policy.ALERT], queue_policy.ALERT
    return min(((due_at, priority) for priority, due_at in waiting.items()), default=None)


def count_leased(tx: database.Transaction, queue: queue_policy.Queue, lane: str) -> int:
    """Count the leased messages of a lane."""
    return int(tx.query(f"SELECT {BUSY} AS busy", queue=queue.name, lane=lane)[0]["busy"])


CLOSE = """
    UPDATE lanes SET open_at = NULL WHERE queue = :queue AND open_at IS NOT NULL AND lane IN (
        SELECT lane FROM outbox
        WHERE queue = :queue AND state = 'leased' AND leased_until = :until
    )
"""


def close_leased(tx: database.Transaction, queue: queue_policy.Queue, until: int) -> None:
    """Close the lanes of the messages leased until `until`, in queues with one batch per lane."""
    tx.execute(CLOSE, queue=queue.name, until=until)


SWEEP = """
    DELETE FROM lanes WHERE queue = :queue AND lane IN (
        SELECT lane FROM lanes WHERE queue = :queue AND open_at IS NULL AND paused IS NULL
        AND held_until <= :now AND arrival_at <= :now AND NOT EXISTS (
            SELECT 1 FROM outbox
            WHERE outbox.queue = lanes.queue AND outbox.lane = lanes.lane AND state = 'leased'
        )
        LIMIT :most
    )
"""

SWEPT = 500
"""Rows that a sweep deletes per transaction; other transactions wait for it."""


def sweep(tx: database.Transaction, queue: queue_policy.Queue, now: int) -> int:
    """Delete up to SWEPT rows of lanes without messages, holds or used slots; return the count."""
    sql = skipping_locked(tx, queue, SWEEP)
    return tx.execute(sql, queue=queue.name, now=now, most=SWEPT)
