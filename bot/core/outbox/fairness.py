"""The shares of the priority classes: while several wait, they take turns by weight.

Strict priority would starve the lower classes. Of eight turns alerts get five, replies two and
notices one; the turns of a class without messages go to the others. The position in the cycle is
stored, so a restart grants no turn twice; it is not touched while only one class waits.

A notice takes its turns among alerts only once its lane has been open for a while: in a burst of
payments nobody misses the edits of cards between two alerts, and afterwards one is enough.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable

from bot.core.database import database
from bot.core.outbox import lanes, queue_policy

CYCLE = (
    queue_policy.REPLY,
    queue_policy.ALERT,
    queue_policy.ALERT,
    queue_policy.REPLY,
    queue_policy.ALERT,
    queue_policy.ALERT,
    queue_policy.NOTICE,
    queue_policy.ALERT,
)
"""The order of turns while all classes wait. Alerts have more than half, so that a machine that is
too busy to use Telegram's whole rate still keeps up with payments."""

NOTICE_PATIENCE = 30_000
"""Milliseconds for which the lanes of notices leave their turns to alerts."""

LEASED = (
    "SELECT priority, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased'"
    " GROUP BY priority"
)


def in_cycle_order(turn: int, waiting: Collection[int]) -> list[int]:
    """Return the waiting classes in the order of their next turns, from position `turn` on."""
    coming = (*CYCLE[turn:], *CYCLE[:turn])
    return sorted(waiting, key=coming.index)


def position_after(turn: int, priority: int) -> int:
    """Return the position in the cycle after the next turn of this class."""
    coming = (*CYCLE[turn:], *CYCLE[:turn])
    return (turn + coming.index(priority) + 1) % len(CYCLE)


def full_classes(tx: database.Transaction, queue: queue_policy.Queue) -> frozenset[int]:
    """Return the classes that have as many leased messages as they may."""
    leased = _count_leased(tx, queue)
    return frozenset(one for one, most in queue.class_width.items() if leased[one] >= most)


def _count_leased(tx: database.Transaction, queue: queue_policy.Queue) -> Counter[int]:
    if not queue.class_width:
        return Counter()
    rows = tx.query(LEASED, queue=queue.name)
    return Counter({row["priority"]: row["n"] for row in rows})


class ClassTurns:
    """The turns of one claim: of the open lanes by class, and of the classes within a lane."""

    def __init__(
        self, tx: database.Transaction, queue: queue_policy.Queue, now: int, most: int
    ) -> None:
        self._tx = tx
        self._queue = queue
        self._open: dict[int, deque[str]] = {
            priority: deque() for priority in queue_policy.PRIORITIES
        }
        rows = lanes.open_lanes(tx, queue, now, most)
        has_alerts = any(row["priority"] == queue_policy.ALERT for row in rows)
        for row in rows:
            is_patient = (
                row["priority"] == queue_policy.NOTICE and row["open_at"] > now - NOTICE_PATIENCE
            )
            if not (has_alerts and is_patient):
                self._open[row["priority"]].append(row["lane"])
        self._leased = _count_leased(tx, queue)
        self._cycles: dict[str, int] = {}

    def next_lane(self) -> str | None:
        """Return the next lane to claim from, each once; None once no class may send more."""
        waiting = [one for one, lanes_of in self._open.items() if lanes_of and self._has_room(one)]
        if not waiting:
            return None
        return self._open[self._in_order(lanes.WHOLE_QUEUE, waiting)[0]].popleft()

    def order_classes(self, lane: str, waiting: Iterable[int]) -> list[int]:
        """Return the waiting classes of a lane that may send more, in the order of their turns."""
        return self._in_order(lane, [one for one in waiting if self._has_room(one)])

    def _in_order(self, lane: str, waiting: list[int]) -> list[int]:
        if len(waiting) < 2:  # noqa: PLR2004 - one class alone takes no turns
            return waiting
        if lane not in self._cycles:
            self._cycles[lane] = lanes.stored(self._tx, self._queue, lane, "turn") or 0
        return in_cycle_order(self._cycles[lane], waiting)

    def _has_room(self, priority: int) -> bool:
        most = self._queue.class_width.get(priority)
        return most is None or self._leased[priority] < most

    def count_claimed(self, lane: str, priority: int) -> None:
        """Count a claimed message; the cycles move on where classes take turns."""
        self._leased[priority] += 1
        for cycle in {lanes.WHOLE_QUEUE, lane} & self._cycles.keys():
            turn = self._cycles[cycle] = position_after(self._cycles[cycle], priority)
            lanes.store(self._tx, self._queue, cycle, "turn", turn)


# Fairness among accounts: the account that was served least goes first, across all lanes.
#
# An account is the person or application that causes a message. Each message costs its account an
# interval of a virtual clock, and the time on that clock is the message's rank; lanes go in the
# order of the ranks of their first messages (start-time fair queueing). An account that was idle
# starts up to a burst before the rank that is served now, so it goes before those that never
# pause: an account with a thousand messages in two hundred lanes gets as many turns as one with a
# single lane. A rank only orders; no message waits for it while there is room.


MAX_LAG = 3_600
"""Messages by which an account can fall behind the others: an hour of them at one a second."""

STANDING = """
    SELECT (SELECT arrival_at FROM lanes WHERE queue = :queue AND lane = :account) AS arrival_at,
    (SELECT rank FROM lanes WHERE queue = :queue AND lane = :whole) AS served,
    (
        SELECT 1 FROM lanes WHERE queue = :queue AND priority = :priority
        AND rank IS NOT NULL AND open_at <= :now AND paused IS NULL AND waits_for IS NULL
        LIMIT 1
    ) AS waiting
"""


def next_rank(
    tx: database.Transaction, queue: queue_policy.Queue, account: str, priority: int, now: int
) -> int | None:
    """Return the rank of an account's next message; None if the queue has no accounts."""
    pace = queue.account_pace
    if pace is None:
        return None
    (row,) = tx.query(
        STANDING,
        queue=queue.name, whole=lanes.WHOLE_QUEUE, account=f"{lanes.ACCOUNT}{account}",
        priority=priority, now=now,
    )  # fmt: skip
    if row["waiting"] is None:  # the ranks start again
        record_served(tx, queue, now)
    reached = now if row["waiting"] is None or row["served"] is None else row["served"]
    arrival_at = clamp(queue, row["arrival_at"] or 0, now)
    return max(arrival_at, min(now, int(reached))) - pace.burst * pace.interval


def clamp(queue: queue_policy.Queue, arrival_at: int, now: int) -> int:
    """Return an account's clock, at most MAX_LAG messages ahead of `now`."""
    pace = queue.account_pace
    return min(arrival_at, now + MAX_LAG * pace.interval) if pace else 0


def count_message(
    tx: database.Transaction, queue: queue_policy.Queue, account: str, rank: int
) -> None:
    """Move the clock of an account on by a queued message of this rank."""
    if pace := queue.account_pace:
        at = rank + (pace.burst + 1) * pace.interval
        lanes.store(tx, queue, f"{lanes.ACCOUNT}{account}", "arrival_at", at)


def record_served(tx: database.Transaction, queue: queue_policy.Queue, rank: int | None) -> None:
    """Store the rank of a claimed message, unless a higher one was served."""
    if queue.account_pace and rank is not None:
        lanes.store(tx, queue, lanes.WHOLE_QUEUE, "rank", rank, only_later=True)


# Back-pressure: a queue whose messages cause replies claims no more than can be answered.
#
# Waiting messages are stored, in order and cheap; their replies are queued only when they can be
# sent soon. So a flood waits in its own lane and not before everybody's replies.


CHECK_INTERVAL = 50
"""Milliseconds until a queue without room checks again."""

COUNT_OPEN = """
    SELECT COUNT(*) AS n FROM (
        SELECT 1 FROM lanes WHERE queue = :queue AND priority = :priority AND open_at <= :now
        AND paused IS NULL AND waits_for IS NULL LIMIT :most
    ) AS open
"""
COUNT_WAITING = """
    SELECT COUNT(*) AS n FROM (
        SELECT 1 FROM outbox WHERE queue = :queue AND lane = :lane AND state = 'waiting'
        AND priority = :priority LIMIT :most
    ) AS waiting
"""


def free_room(tx: database.Transaction, queue: queue_policy.Queue, now: int, most: int) -> int:
    """Return how many messages may be claimed now, up to `most`."""
    limits = queue.back_pressure
    if limits is None or limits.most_open is None:
        return most
    where = {"queue": limits.queue.name, "priority": queue_policy.REPLY}
    row = tx.one(COUNT_OPEN, **where, now=now, most=limits.most_open)
    return max(0, min(most, limits.most_open - (row["n"] if row else 0)))


def next_check(tx: database.Transaction, queue: queue_policy.Queue, now: int) -> int:
    """Return when a claim may find room again; 0 if there is room now."""
    return 0 if free_room(tx, queue, now, 1) else now + CHECK_INTERVAL


def hold_back(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> bool:
    """Hold a lane with too many waiting replies until one of them may be sent.

    Return whether it is held. A paused lane is not: its next update may resume it.
    """
    limits = queue.back_pressure
    if limits is None or not _is_full(tx, limits, lane):
        return False
    if lanes.is_paused(tx, limits.queue, lane):
        return False
    pace = limits.queue.lane_pace(lane)
    lanes.hold(tx, queue, lane, now + (pace.interval if pace else queue_policy.SECOND))
    return True


def _is_full(tx: database.Transaction, limits: queue_policy.BackPressure, lane: str) -> bool:
    most = limits.most_waiting
    row = tx.one(
        COUNT_WAITING, queue=limits.queue.name, lane=lane, priority=queue_policy.REPLY, most=most
    )
    return row is not None and row["n"] >= most
