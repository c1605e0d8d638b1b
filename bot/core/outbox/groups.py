"""Groups: lanes that share a limit of leased messages and the budget of a host.

A lane whose group is full is parked: no claim reads the lane again until its group has room. So any
number of parked lanes cost a claim nothing and don't delay other lanes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator

from bot.core.database import database
from bot.core.outbox import host_budgets, lanes, queue_policy

# Stored budgets of hosts: all processes share them, and a restart allows no new burst.


HOSTS = queue_policy.Queue("hosts", lease=0)
"""A queue without messages: its lanes are the budgets, one per host and one per share."""

FURTHEST_CLOSED = host_budgets.LONGEST_CLOSED + queue_policy.CLOCK_SKEW
"""The most milliseconds until a host opens again; a longer time means that a clock was wrong."""

READ_BUDGET = (
    "SELECT lane, arrival_at, held_until FROM lanes WHERE queue = :queue"  # noqa: S608 - our own words
    f" AND lane IN (:host, {', '.join(f':{purpose}' for purpose in host_budgets.SHARES)})"
)
ENSURE_BUDGET = (
    "INSERT INTO lanes (queue, lane) VALUES (:queue, :lane) ON CONFLICT (queue, lane) DO NOTHING"
)
LOCK_BUDGET = "SELECT lane FROM lanes WHERE queue = :queue AND lane = :lane FOR NO KEY UPDATE"


def read_budget(
    tx: database.Transaction, budget: host_budgets.HostBudget, host: str, now: int
) -> host_budgets.Usage:
    """Read the used part of a host's budget."""
    names = {purpose: f"{host} {purpose}" for purpose in host_budgets.SHARES}
    found = tx.query(READ_BUDGET, queue=HOSTS.name, host=host, **names)
    rows = {row["lane"]: row for row in found}
    whole = rows.get(host, {"arrival_at": 0, "held_until": 0})
    # A time later than calls can cause was stored while a clock was far ahead.
    latest = now + queue_policy.CLOCK_SKEW + host_budgets.LONGEST_WAIT
    if budget.rate:
        latest += budget.burst * budget.interval
    arrival_at = whole["arrival_at"] if whole["arrival_at"] <= latest else now
    closed = whole["held_until"] if whole["held_until"] <= now + FURTHEST_CLOSED else now
    shares = {
        purpose: min(rows[name]["arrival_at"], latest + host_budgets.LONGEST_SHARE)
        for purpose, name in names.items()
        if name in rows
    }
    return host_budgets.Usage(arrival_at, closed, shares)


def store_budget(
    tx: database.Transaction, host: str, before: host_budgets.Usage, after: host_budgets.Usage
) -> None:
    """Store the changes of a usage; the caller has locked the host."""
    if after.arrival_at != before.arrival_at:
        lanes.store(tx, HOSTS, host, "arrival_at", after.arrival_at)
    for purpose in sorted(host_budgets.SHARES):
        at = after.shares.get(purpose)
        if at is not None and at != before.shares.get(purpose):
            lanes.store(tx, HOSTS, f"{host} {purpose}", "arrival_at", at)


def close_host(tx: database.Transaction, host: str, until: int, now: int) -> None:
    """Allow no call to a host until a time (epoch ms); the caller has locked the host.

    A later stored time remains, unless it was stored while a clock was far ahead.
    """
    stored = lanes.stored(tx, HOSTS, host, "held_until") or 0
    if not until < stored <= now + FURTHEST_CLOSED:
        lanes.store(tx, HOSTS, host, "held_until", until)


def lock_budget(tx: database.Transaction, host: str) -> None:
    """Lock a host's budget; a transaction may lock only one budget."""
    tx.lock(ENSURE_BUDGET, queue=HOSTS.name, lane=host)
    tx.lock(LOCK_BUDGET, queue=HOSTS.name, lane=host)


def _try_lock_budget(tx: database.Transaction, host: str) -> bool:
    """Lock a host's budget without waiting; return False if another transaction has it."""
    if tx.engine == "sqlite":
        return True
    tx.lock(ENSURE_BUDGET, queue=HOSTS.name, lane=host)
    return bool(tx.query(f"{LOCK_BUDGET} SKIP LOCKED", queue=HOSTS.name, lane=host))


# Groups.


MAX_PARKED = 100
"""The most lanes that one claim parks: a claim reads this many more lanes than it can use."""

LEASED_BY_LANE = (
    "SELECT lane, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased' GROUP BY lane"
)
# Finds one group after another through the index, without reading all their lanes.
NEXT_GROUP = (
    "SELECT waits_for FROM lanes WHERE queue = :queue AND waits_for > :last"
    " ORDER BY waits_for LIMIT 1"
)
WAITS = "SELECT 1 AS one FROM lanes WHERE queue = :queue AND waits_for = :name LIMIT 1"
PARK = (
    "UPDATE lanes SET waits_for = :name, rank = COALESCE(:turn, rank)"
    " WHERE queue = :queue AND lane = :lane"
)
"""Parks a lane; at a host with a budget, its `rank` stores the number of its turn key."""

PARKED = "SELECT lane FROM lanes WHERE queue = :queue AND waits_for = :name"
LONGEST_PARKED = f"{PARKED} ORDER BY priority, open_at, lane LIMIT :most"
LONGEST_UNSERVED = f"""
    {PARKED} ORDER BY priority, COALESCE((
        SELECT turn.arrival_at FROM lanes AS turn
        WHERE turn.queue = :queue AND turn.lane = '{lanes.ACCOUNT}' || CAST(lanes.rank AS TEXT)
    ), 0), arrival_at, lane LIMIT :most
"""  # noqa: S608 - our own words
"""The lanes whose turn keys were served longest ago; within a turn key, the lane that was served
longest ago."""


class LaneGroups:
    """The groups of a queue and their free slots, in one transaction at `now`.

    A lane may be in several groups; a message or batch takes a slot of each group.
    """

    def __init__(self, tx: database.Transaction, queue: queue_policy.Queue, now: int = 0) -> None:
        self._tx = tx
        self._queue = queue
        self._now = now
        self._leased: Counter[str] | None = None  # by group
        self._parked: dict[str, str] = {}  # group by lane
        self._stored: dict[str, host_budgets.Usage | None] = {}  # by host, before this claim
        self._usage: dict[str, host_budgets.Usage] = {}  # by host, with this claim

    def free_slots(self, lane: str) -> int | None:
        """Return how many messages of a lane its groups can take; None if the lane has no group.

        A group with a budget offers one call at a time.
        """
        free = (max(0, self._free(name, 1)) for name in self._names(lane))
        return min(free, default=None)

    def count_claimed(self, lane: str, slots: int) -> None:
        """Count the slots taken by claimed messages of a lane."""
        names, budget = self._names(lane), self._queue.budget
        if names:
            self._count_leased().update(dict.fromkeys(names, slots))
        for name in names:
            call = self._call_of(name)
            if call is None or budget is None:
                continue
            purpose, host = call
            for _ in range(slots):
                self._usage[host] = budget.take(self._usage[host], purpose, self._now)
                self._tx.count("host_calls", purpose, "taken")

    def park(self, lane: str) -> None:
        """Park a lane until the first of its full groups has room; takes effect with `store`."""
        full = next(name for name in self._names(lane) if self._free(name) <= 0)
        self._parked[lane] = full
        if call := self._call_of(full):
            self._tx.count("host_calls", call[0], "delayed")

    def store(self) -> None:
        """Store the use of budgets and the parked lanes."""
        for host, usage in self._usage.items():
            if self._queue.budget and (before := self._stored[host]):
                store_budget(self._tx, host, before, usage)
        for lane, name in self._parked.items():
            turn = turn_number(self._queue, lane) if self._queue.budget else None
            self._tx.execute(PARK, queue=self._queue.name, name=name, lane=lane, turn=turn)

    def admit_all(self) -> None:
        """Open parked lanes of every group that has room.

        This also covers a lane that was paused between its admission and its claim. Few groups have
        parked lanes, because all slots of such a group must have been in use.
        """
        for name in self._parked_groups():
            self._admit(name)

    def next_call(self) -> int | None:
        """Return when a budget has room for a lane that only the budget parks; None for never."""
        budget, times = self._queue.budget, []
        if budget is None:
            return None
        for name in self._parked_groups():
            call = self._call_of(name)
            if call and self._width(name) > self._count_leased()[name]:
                purpose, host = call
                usage = read_budget(self._tx, budget, host, self._now)
                times.append(budget.opens_at(usage, purpose, self._now))
        return min(times, default=None)

    def _parked_groups(self) -> Iterator[str]:
        last, name = "", self._queue.name
        while self._queue.group and (row := self._tx.one(NEXT_GROUP, queue=name, last=last)):
            last = row["waits_for"]
            yield last

    def admit_waiting(self, settled: Collection[str]) -> None:
        """Open parked lanes after messages of the lanes `settled` were settled."""
        if not self._queue.group or not self._tx.one(NEXT_GROUP, queue=self._queue.name, last=""):
            return
        for name in sorted({name for lane in settled for name in self._names(lane)}):
            if self._tx.one(WAITS, queue=self._queue.name, name=name):
                if self._call_of(name):  # the next claim chooses by the budget
                    self._tx.wake(self._queue.name)
                else:
                    self._admit(name)

    def _admit(self, name: str) -> None:
        free = self._free(name)
        if free > 0:
            longest = LONGEST_UNSERVED if self._queue.budget else LONGEST_PARKED
            chosen = f"{longest}{lanes.skip_locked(self._tx, self._queue)}"
            change = "waits_for = NULL, rank = NULL" if self._queue.budget else "waits_for = NULL"
            self._tx.execute(
                f"WITH free AS ({chosen}) UPDATE lanes SET {change}"  # noqa: S608 - our own words
                " WHERE queue = :queue AND lane IN (SELECT lane FROM free)",
                queue=self._queue.name,
                name=name,
                most=free,
            )
            self._tx.wake(self._queue.name)

    def _names(self, lane: str) -> tuple[str, ...]:
        names = self._queue.group(lane) if self._queue.group else None
        return (names,) if isinstance(names, str) and names else tuple(names or ())

    def _width(self, name: str) -> int:
        width = self._queue.group_width
        return width if isinstance(width, int) else width(name)

    def _free(self, name: str, most: int | None = None) -> int:
        """Return the number of free slots of a group; up to `most` if it has a budget."""
        free, budget = self._width(name) - self._count_leased()[name], self._queue.budget
        call = self._call_of(name)
        if free <= 0 or call is None or budget is None:
            return free
        purpose, host = call
        if host not in self._stored:
            self._stored[host] = None  # another transaction has it
            if _try_lock_budget(self._tx, host):
                usage = read_budget(self._tx, budget, host, self._now)
                self._stored[host] = self._usage[host] = usage
        used = self._usage.get(host)
        return budget.count_free(used, purpose, self._now, most or free) if used else 0

    def _call_of(self, name: str) -> tuple[str, str] | None:
        """Return the purpose and host under which a group's messages use a budget."""
        purpose, _, host = name.partition(" ")
        return (purpose, host) if purpose in host_budgets.SHARES and self._queue.budget else None

    def _count_leased(self) -> Counter[str]:
        """Return the numbers of leased messages or batches by group; cached by the first call."""
        if self._leased is None:
            self._leased = Counter()
            for row in self._tx.query(LEASED_BY_LANE, queue=self._queue.name):
                for name in self._names(row["lane"]):
                    self._leased[name] += 1 if self._queue.batch_size else row["n"]
        return self._leased


def turn_number(queue: queue_policy.Queue, lane: str) -> int:
    """Return a number for a lane's turn key; the row with this name stores the key's last turn."""
    return int.from_bytes(hashlib.sha256(queue.turn_key(lane).encode()).digest()[:7])


def record_turn(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> None:
    """Store that the lanes with this lane's turn key were served at a host with a budget."""
    if queue.budget and queue.turn_key(lane):
        account = f"{lanes.ACCOUNT}{turn_number(queue, lane)}"
        lanes.store(tx, queue, account, "arrival_at", now)


def reopen_lanes(
    tx: database.Transaction, queue: queue_policy.Queue, names: set[str], now: int = 0
) -> None:
    """Reopen lanes whose leases ended, and admit lanes that were parked in their groups.

    The caller has locked the lanes.
    """
    for lane in names:
        if lanes.reopen(tx, queue, lane, now) is not None:
            tx.wake(queue.name)
    LaneGroups(tx, queue).admit_waiting(names)
