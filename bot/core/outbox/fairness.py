"""Fairness among priority classes and among accounts, and back-pressure from replies.

Waiting priority classes take weighted turns, because strict priority would starve the lower
classes. Of eight turns alerts get five, replies two and notices one; if a class has no messages,
the others get its turns. The position in the cycle is stored, so a restart grants no turn twice; it
doesn't change while only one class waits.

A notice takes its turns among alerts only after its lane has been open for a while: during a burst
of payments nobody misses the card edits between two alerts, and afterwards one edit is enough.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

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
"""The order of turns while all classes wait. Alerts have more than half of them, so that a machine
too busy to use Telegram's full rate still keeps up with payments."""

NOTICE_PATIENCE = 30_000
"""Milliseconds for which lanes of notices yield their turns to alerts."""

LEASED_BY_CLASS = (
    "SELECT priority, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased'"
    " GROUP BY priority"
)


def _coming_turns(position: int) -> tuple[int, ...]:
    """Return the classes in the order of their turns after a position in the cycle."""
    return (*CYCLE[position:], *CYCLE[:position])


def full_classes(tx: database.Transaction, queue: queue_policy.Queue) -> frozenset[int]:
    """Return the classes that have reached their limit of leased messages."""
    leased = _count_leased(tx, queue)
    widths = queue.class_width.items()
    return frozenset(priority for priority, width in widths if leased[priority] >= width)


def _count_leased(tx: database.Transaction, queue: queue_policy.Queue) -> Counter[int]:
    if not queue.class_width:
        return Counter()
    rows = tx.query(LEASED_BY_CLASS, queue=queue.name)
    return Counter({row["priority"]: row["n"] for row in rows})


class ClassTurns:
    """The turns of one claim: open lanes by class, and classes within a lane."""

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
            is_new_notice = (
                row["priority"] == queue_policy.NOTICE and row["open_at"] > now - NOTICE_PATIENCE
            )
            if not (has_alerts and is_new_notice):
                self._open[row["priority"]].append(row["lane"])
        self._leased = _count_leased(tx, queue)
        self._positions: dict[str, int] = {}

    def next_lane(self) -> str | None:
        """Return the next lane to claim from, each lane once; None if no class may send more."""
        waiting = [priority for priority, open_lanes in self._open.items() if open_lanes]
        classes = self.order_classes(lanes.WHOLE_QUEUE, waiting)
        return self._open[classes[0]].popleft() if classes else None

    def order_classes(self, lane: str, waiting: Iterable[int]) -> list[int]:
        """Return the waiting classes of a lane that may send more, in the order of their turns."""
        widths, leased = self._queue.class_width, self._leased
        free = [one for one in waiting if one not in widths or leased[one] < widths[one]]
        if len(free) < 2:  # noqa: PLR2004 - one class alone takes no turns
            return free
        if lane not in self._positions:
            self._positions[lane] = lanes.stored(self._tx, self._queue, lane, "turn") or 0
        return sorted(free, key=_coming_turns(self._positions[lane]).index)

    def count_claimed(self, lane: str, priority: int) -> None:
        """Count a claimed message, and advance the cycles in which classes take turns."""
        self._leased[priority] += 1
        for cycle in {lanes.WHOLE_QUEUE, lane} & self._positions.keys():
            former = self._positions[cycle]
            position = (former + _coming_turns(former).index(priority) + 1) % len(CYCLE)
            self._positions[cycle] = position
            lanes.store(self._tx, self._queue, cycle, "turn", position)


# Accounts: the account that was served least goes first, across all lanes.
#
# An account is the person or application that causes a message. Each message advances the virtual
# clock of its account by an interval, and the clock's time is the message's rank. Lanes go in the
# order of the ranks of their first messages (start-time fair queueing). An account that was idle
# starts up to a burst before the rank served now, so it goes before accounts that never pause. An
# account with a thousand messages in two hundred lanes gets as many turns as an account with a
# single lane. Ranks only order lanes; no message waits because of its rank.


MAX_LAG = 3_600
"""The most messages by which an account can fall behind the others: an hour at one per second."""

ACCOUNT_RANKS = """
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
        ACCOUNT_RANKS,
        queue=queue.name, whole=lanes.WHOLE_QUEUE, account=f"{lanes.ACCOUNT}{account}",
        priority=priority, now=now,
    )  # fmt: skip
    if row["waiting"] is None:  # the ranks restart
        record_served(tx, queue, now)
    served = now if row["waiting"] is None or row["served"] is None else int(row["served"])
    arrival_at = min(row["arrival_at"] or 0, now + MAX_LAG * pace.interval)
    return max(arrival_at, min(now, served)) - pace.burst * pace.interval


def clock_of(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> int:
    """Return the clock of an account, the time in its lane, at most MAX_LAG messages ahead."""
    arrival_at, pace = lanes.stored(tx, queue, lane, "arrival_at") or 0, queue.account_pace
    return min(arrival_at, now + MAX_LAG * pace.interval) if pace else 0


def count_message(
    tx: database.Transaction, queue: queue_policy.Queue, account: str, rank: int
) -> None:
    """Advance the clock of an account after queueing a message of this rank."""
    if pace := queue.account_pace:
        at = rank + (pace.burst + 1) * pace.interval
        lanes.store(tx, queue, f"{lanes.ACCOUNT}{account}", "arrival_at", at)


def record_served(tx: database.Transaction, queue: queue_policy.Queue, rank: int | None) -> None:
    """Store the rank of a claimed message, unless a higher rank was served before."""
    if queue.account_pace and rank is not None:
        lanes.store(tx, queue, lanes.WHOLE_QUEUE, "rank", rank, only_later=True)


# Back-pressure: a queue whose messages cause replies claims no more messages than can be answered.
#
# Waiting messages are stored in order and cost little; their replies are queued only when they can
# be sent soon. So a flood waits in its own lane, not in front of everybody's replies.


CHECK_INTERVAL = 50
"""Milliseconds until a full queue checks again."""

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
    """Return the number of messages that may be claimed now, up to `most`."""
    limits = queue.back_pressure
    if limits is None or limits.most_open is None:
        return most
    where = {"queue": limits.queue.name, "priority": queue_policy.REPLY}
    row = tx.one(COUNT_OPEN, **where, now=now, most=limits.most_open)
    return max(0, min(most, limits.most_open - (row["n"] if row else 0)))


def hold_back(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> bool:
    """Hold a lane with too many waiting replies until one of them may be sent.

    Return True if the lane is held. A paused lane is not held: its next message may resume it.
    """
    limits = queue.back_pressure
    if limits is None:
        return False
    where = {"queue": limits.queue.name, "lane": lane, "priority": queue_policy.REPLY}
    (row,) = tx.query(COUNT_WAITING, **where, most=limits.most_waiting)
    if row["n"] < limits.most_waiting or lanes.is_paused(tx, limits.queue, lane):
        return False
    pace = limits.queue.lane_pace(lane)
    lanes.hold(tx, queue, lane, now + (pace.interval if pace else queue_policy.SECOND))
    return True
