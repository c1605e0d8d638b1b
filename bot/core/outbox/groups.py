"""Groups of lanes, which share a limit of leased messages, and the budget of a host.

A lane whose group is full is parked: no claim reads it again until its group has room. So parked
lanes cost a claim nothing, however many they are, and none of them precedes other lanes.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from bot.core.database import database
from bot.core.outbox import lanes, queue_policy

# Budgets of hosts as they are stored: all processes share them, and a restart allows no new
# burst.
#
# The rules are in host_budgets.py.


HOSTS = queue_policy.Queue("hosts", lease=0)
"""Queue without messages: its lanes are the budgets, one a host and one a share of it."""

FURTHEST_CLOSED = queue_policy.LONGEST_CLOSED + queue_policy.CLOCK_SKEW
"""Milliseconds from now to the latest end of a closing that no wrong clock has stored."""

READ = (
    "SELECT lane, arrival_at, held_until FROM lanes WHERE queue = :queue"  # noqa: S608 - our own words
    f" AND lane IN (:host, {', '.join(f':{purpose}' for purpose in queue_policy.SHARES)})"
)
TRY_LOCK = (
    "SELECT lane FROM lanes WHERE queue = :queue AND lane = :lane FOR NO KEY UPDATE SKIP LOCKED"
)
ENSURE = (
    "INSERT INTO lanes (queue, lane) VALUES (:queue, :lane) ON CONFLICT (queue, lane) DO NOTHING"
)
LOCK = "SELECT lane FROM lanes WHERE queue = :queue AND lane = :lane FOR NO KEY UPDATE"


def read_budget(
    tx: database.Transaction, budget: queue_policy.HostBudget, host: str, now: int
) -> queue_policy.Usage:
    """Return how much of a host's budget is used."""
    names = {purpose: f"{host} {purpose}" for purpose in queue_policy.SHARES}
    found = tx.query(READ, queue=HOSTS.name, host=host, **names)
    rows = {row["lane"]: row for row in found}
    whole = rows.get(host, {"arrival_at": 0, "held_until": 0})
    # A time that no call can have led to is of a clock that was far ahead.
    latest = now + queue_policy.CLOCK_SKEW + queue_policy.LONGEST_WAIT
    if budget.rate:
        latest += budget.burst * budget.interval
    arrival_at = whole["arrival_at"] if whole["arrival_at"] <= latest else now
    closed = whole["held_until"] if whole["held_until"] <= now + FURTHEST_CLOSED else now
    shares = {
        purpose: min(rows[name]["arrival_at"], latest + queue_policy.LONGEST_SHARE)
        for purpose, name in names.items()
        if name in rows
    }
    return queue_policy.Usage(arrival_at, closed, shares)


def store_budget(
    tx: database.Transaction, host: str, before: queue_policy.Usage, after: queue_policy.Usage
) -> None:
    """Store the usage that has changed; the caller has locked the host."""
    if after.arrival_at != before.arrival_at:
        lanes.store(tx, HOSTS, host, "arrival_at", after.arrival_at)
    for purpose in sorted(queue_policy.SHARES):
        at = after.shares.get(purpose)
        if at is not None and at != before.shares.get(purpose):
            lanes.store(tx, HOSTS, f"{host} {purpose}", "arrival_at", at)


def close_host(tx: database.Transaction, host: str, until: int, now: int) -> None:
    """Allow no call of a host until a time (epoch ms), as it asks; a stored later one stays.

    One of a clock that was far ahead doesn't. The caller has locked the host.
    """
    stored = lanes.stored(tx, HOSTS, host, "held_until") or 0
    if not until < stored <= now + FURTHEST_CLOSED:
        lanes.store(tx, HOSTS, host, "held_until", until)


def lock_budget(tx: database.Transaction, host: str) -> None:
    """Lock a host's budget, for a transaction that locks no other."""
    tx.lock(ENSURE, queue=HOSTS.name, lane=host)
    tx.lock(LOCK, queue=HOSTS.name, lane=host)


def try_lock_budget(tx: database.Transaction, host: str) -> bool:
    """Lock a host's budget unless another transaction has: a claim waits for no lock."""
    if tx.engine == "sqlite":
        return True
    tx.lock(ENSURE, queue=HOSTS.name, lane=host)
    return bool(tx.query(TRY_LOCK, queue=HOSTS.name, lane=host))


MAX_PARKED = 100
"""Lanes that one claim parks, and reads beside those that it claims from."""

LEASED = (
    "SELECT lane, COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'leased' GROUP BY lane"
)
# Finds one group after the other by the index, without reading all of their lanes.
NEXT_GROUP = (
    "SELECT waits_for FROM lanes WHERE queue = :queue AND waits_for > :last"
    " ORDER BY waits_for LIMIT 1"
)
WAITS = "SELECT 1 AS one FROM lanes WHERE queue = :queue AND waits_for = :name LIMIT 1"
PARKED_AT_ONCE = 10
PARK = (
    "UPDATE lanes SET waits_for = :name WHERE queue = :queue AND lane IN ("  # noqa: S608 - our own words
    + ", ".join(f":lane_{number}" for number in range(PARKED_AT_ONCE))
    + ")"
)
ADMIT = """
    WITH free AS (
        SELECT lane FROM lanes WHERE queue = :queue AND waits_for = :name
        ORDER BY priority, open_at, lane LIMIT :most
    )
    UPDATE lanes SET waits_for = NULL WHERE queue = :queue AND lane IN (SELECT lane FROM free)
"""
ADMIT_IN_TURN = ADMIT.replace(
    "ORDER BY priority, open_at",
    "ORDER BY priority, COALESCE((SELECT turn.arrival_at FROM lanes AS turn"
    " WHERE turn.queue = :queue AND turn.lane = :account || CAST(lanes.rank AS TEXT)), 0),"
    " arrival_at",
).replace("waits_for = NULL", "waits_for = NULL, rank = NULL")
"""Opens lanes of those who were served longest ago, and of these the lane that was."""

PARK_IN_TURN = PARK.replace(
    "waits_for = :name",
    "waits_for = :name, rank = CASE lane"
    + "".join(
        f" WHEN :lane_{number} THEN CAST(:turn_{number} AS BIGINT)"
        for number in range(PARKED_AT_ONCE)
    )
    + " END",
)
"""Keeps with a lane whose turn it shares."""


class LaneGroups:
    """The groups of a queue in one transaction at `now`, with the free slots of each.

    A lane may be in several groups; a series takes one slot of each.
    """

    def __init__(self, tx: database.Transaction, queue: queue_policy.Queue, now: int = 0) -> None:
        self._tx = tx
        self._queue = queue
        self._now = now
        self._taken: Counter[str] | None = None
        self._full: defaultdict[str, list[str]] = defaultdict(list)
        self._found: dict[str, queue_policy.Usage | None] = {}
        self._usage: dict[str, queue_policy.Usage] = {}

    def free_slots(self, lane: str) -> int | None:
        """Return how many messages of a lane its groups have room for; None if it has no group.

        A budget is asked for one call at a time.
        """
        return min((max(0, self._free(name, 1)) for name in self._names(lane)), default=None)

    def count_claimed(self, lane: str, slots: int) -> None:
        """Count slots that claimed messages of a lane take."""
        names = self._names(lane)
        if names:
            self._count().update(dict.fromkeys(names, slots))
        for found in map(self._budgeted, names):
            if found:
                for _ in range(slots):
                    self._take(*found)

    def park(self, lane: str) -> None:
        """Set a lane aside, by `store`, until the first of its full groups has room."""
        full = next(name for name in self._names(lane) if self._free(name) <= 0)
        self._full[full].append(lane)
        if found := self._budgeted(full):
            self._tx.count("host_calls", found[0], "delayed")

    def store(self) -> None:
        """Store the use of budgets, and which lanes are parked, several in a statement."""
        for host, usage in self._usage.items():
            if self._queue.budget and (before := self._found[host]):
                store_budget(self._tx, host, before, usage)
        for name, waiting in self._full.items():
            for start in range(0, len(waiting), PARKED_AT_ONCE):
                some = waiting[start : start + PARKED_AT_ONCE]
                some += some[-1:] * (PARKED_AT_ONCE - len(some))  # so that statements are alike
                given: dict[str, object] = {f"lane_{at}": lane for at, lane in enumerate(some)}
                if self._queue.budget:
                    given |= {
                        f"turn_{at}": turn_of(self._queue, lane) for at, lane in enumerate(some)
                    }
                park = PARK_IN_TURN if self._queue.budget else PARK
                self._tx.execute(park, queue=self._queue.name, name=name, **given)
        self._full.clear()

    def admit_all(self) -> None:
        """Open parked lanes of every group that has room, whatever made the room.

        An admitted lane may have been paused before its message was claimed. Few groups have parked
        lanes, since each of these has all of its slots in use.
        """
        for name in self._parked_groups():
            self._admit(name)

    def next_call(self) -> int | None:
        """Return when a budget has room for a parked lane, whose group has room; None for never."""
        budget, times = self._queue.budget, []
        for name in self._parked_groups() if budget else ():
            found = self._budgeted(name)
            if budget and found and self._width(name) > self._count()[name]:
                purpose, host = found
                usage = read_budget(self._tx, budget, host, self._now)
                times.append(budget.opens_at(usage, purpose, self._now))
        return min(times, default=None)

    def _parked_groups(self) -> Iterator[str]:
        last, name = "", self._queue.name
        while self._queue.group and (row := self._tx.one(NEXT_GROUP, queue=name, last=last)):
            last = row["waits_for"]
            yield last

    def admit_waiting(self, settled: Collection[str]) -> None:
        """Open parked lanes after messages of these lanes were settled."""
        if not self._queue.group or not self._tx.one(NEXT_GROUP, queue=self._queue.name, last=""):
            return
        for name in sorted({name for lane in settled for name in self._names(lane)}):
            if self._tx.one(WAITS, queue=self._queue.name, name=name):
                if self._budgeted(name):  # the next claim chooses, by its budget
                    self._tx.wake(self._queue.name)
                else:
                    self._admit(name)

    def _admit(self, name: str) -> None:
        free = self._free(name)
        if free > 0:
            in_turn = {"account": lanes.ACCOUNT} if self._queue.budget else {}
            sql = ADMIT_IN_TURN if in_turn else ADMIT
            admit = lanes.skipping_locked(self._tx, self._queue, sql)
            self._tx.execute(admit, queue=self._queue.name, name=name, most=free, **in_turn)
            self._tx.wake(self._queue.name)

    def _names(self, lane: str) -> tuple[str, ...]:
        names = self._queue.group(lane) if self._queue.group else None
        return (names,) if isinstance(names, str) and names else tuple(names or ())

    def _width(self, name: str) -> int:
        width = self._queue.group_width
        return width if isinstance(width, int) else width(name)

    def _free(self, name: str, most: int | None = None) -> int:
        """Return how many slots of a group are free; of one with a budget, up to `most`."""
        free, budget = self._width(name) - self._count()[name], self._queue.budget
        found = self._budgeted(name)
        if free <= 0 or found is None or budget is None:
            return free
        purpose, host = found
        usage = self._read(host)
        return budget.count_free(usage, purpose, self._now, most or free) if usage else 0

    def _take(self, purpose: str, host: str) -> None:
        if budget := self._queue.budget:
            self._usage[host] = budget.take(self._usage[host], purpose, self._now)
            self._tx.count("host_calls", purpose, "taken")

    def _budgeted(self, name: str) -> tuple[str, str] | None:
        """Return purpose and host of a group that has a budget."""
        purpose, _, host = name.partition(" ")
        return (purpose, host) if purpose in queue_policy.SHARES and self._queue.budget else None

    def _read(self, host: str) -> queue_policy.Usage | None:
        """Return the usage of a host's budget, locked; None while another transaction has it."""
        budget = self._queue.budget
        if host not in self._found and budget:
            self._found[host] = None
            if try_lock_budget(self._tx, host):
                usage = read_budget(self._tx, budget, host, self._now)
                self._found[host] = self._usage[host] = usage
        return self._usage.get(host)

    def _count(self) -> Counter[str]:
        """Return the leased messages by group; they are counted once, at the first call."""
        if self._taken is None:
            self._taken = Counter()
            for row in self._tx.query(LEASED, queue=self._queue.name):
                for name in self._names(row["lane"]):
                    self._taken[name] += 1 if self._queue.series else row["n"]
        return self._taken


def turn_of(queue: queue_policy.Queue, lane: str) -> int:
    """Return the number of those who share a lane's turn, by which their row is named."""
    return int.from_bytes(hashlib.sha256(queue.turn(lane).encode()).digest()[:7])


def record_turn(tx: database.Transaction, queue: queue_policy.Queue, lane: str, now: int) -> None:
    """Store when a lane was served for those who share its turn at a host with a budget."""
    if queue.budget and queue.turn(lane):
        account = f"{lanes.ACCOUNT}{turn_of(queue, lane)}"
        lanes.store(tx, queue, account, "arrival_at", now)


def reopen_lanes(
    tx: database.Transaction, queue: queue_policy.Queue, names: set[str], now: int = 0
) -> None:
    """Update when lanes with fewer leased messages open, and admit lanes parked by their groups.

    The caller has locked them.
    """
    for lane in names:
        if lanes.reopen(tx, queue, lane, now) is not None:
            tx.wake(queue.name)
    LaneGroups(tx, queue).admit_waiting(names)
