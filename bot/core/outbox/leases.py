"""Leases that end without an outcome: the messages are queued again, marked as uncertain.

A lease names its owner, a worker of a process. A living owner keeps its messages, however long they
take and whatever the clock says. The messages of a dead owner are released when a worker starts, or
within half a minute.

A start also corrects times that were stored while a clock was ahead: the outbox stores wall clock
times, because other processes read them.
"""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from bot.core.database import database
from bot.core.outbox import fairness, groups, lanes, queue_policy

CRASH_DELAYS = queue_policy.RetryTable(
    tuple(seconds * queue_policy.SECOND for seconds in (0, 0, 2, 4, 8, 16, 30, 60))
)
"""The delays before a message comes again whose worker died, again and again.

Two crashes delay nothing. If it is the cause, others are handled meanwhile; if it is not, a storm
of restarts that lasts less than three minutes makes no dead letter of it.
"""

_numbers = itertools.count(1)
_alive: set[str] = set()
"""The workers of this process."""


def is_alive(owner: str) -> bool:
    """True if a worker is known to be alive, in any process of this machine."""
    process, _, _ = owner.rpartition(":")
    if process == _process():
        return owner in _alive
    _, _, rest = process.partition(":")
    pid, _, began = rest.partition(":")
    return _is_local(owner) and pid.isdecimal() and _start_of(int(pid)) == began


def is_dead(owner: str) -> bool:
    """True if a worker is known to be dead; nothing is known about workers on other machines."""
    return _is_local(owner) and not is_alive(owner)


def _is_local(owner: str) -> bool:
    return owner.partition(":")[0] == _host()


@cache
def _process() -> str:
    return f"{_host()}:{os.getpid()}:{_start_of(os.getpid())}"


@cache
def _host() -> str:
    """Identify the machine, its boot and its process namespace: containers may share a host name.

    Without /proc, return only the host name.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        numbering = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}/{boot[:8]}/{numbering}"


def _start_of(pid: int) -> str | None:
    """Return a process's start in clock ticks since boot (proc(5)); None if there is no process.

    Process ids are reused, but an id with a start time is unique. Without /proc, return "".
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "" if not Path("/proc/self").exists() and _exists(pid) else None
    return stat.rpartition(")")[2].split()[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Owners:
    """The workers on one database: their names in leases, and which of them are dead.

    This class knows the workers of this machine, by the kernel; other workers are unknown.
    core/replicas/replica.py knows those of all replicas.
    """

    leases_expire = True
    """True if leases of unknown workers expire by the clock."""

    search_seconds = 30.0
    """Seconds between two searches for leases of dead workers."""

    def register(self) -> str:
        """Create a key for a new worker of this process, here its name, unique for all time."""
        worker = f"{_process()}:{next(_numbers)}"
        _alive.add(worker)
        return worker

    def unregister(self, worker: str) -> None:
        """Mark a worker of this process as dead."""
        _alive.discard(worker)

    def name_of(self, worker: str) -> str | None:
        """Return the owner name for a worker's next leases; None while it may not claim."""
        return worker

    def find_dead(
        self, _tx: database.Transaction, _queue: queue_policy.Queue, names: AbstractSet[str]
    ) -> set[str]:
        """Return the owner names of workers that are known to be dead."""
        return {name for name in names if is_dead(name)}

    def presume_dead(
        self, _tx: database.Transaction, _queue: queue_policy.Queue, names: AbstractSet[str]
    ) -> set[str]:
        """Return the owner names whose leases end when a worker starts: not known to be alive."""
        return {name for name in names if not is_alive(name)}


LOCAL = Owners()


LONGEST_HOLD = 60_000
"""The most milliseconds of a hold that survive a start: a premature call only extends the hold."""

LANES_AHEAD = """
    SELECT lane FROM outbox WHERE queue = :queue AND state = 'waiting' AND created_at > :ahead
    UNION
    SELECT lane FROM lanes WHERE queue = :queue AND (held_until > :latest OR arrival_at > :ahead)
"""
PUT_NOW = (
    "UPDATE outbox SET due_at = :now + (due_at - created_at), created_at = :now"
    " WHERE queue = :queue AND state = 'waiting' AND created_at > :ahead"
)
SHORTEN_HOLDS = (
    "UPDATE lanes SET held_until = :latest WHERE queue = :queue AND held_until > :latest"
)


def recover(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, owners: Owners = LOCAL
) -> int:
    """Prepare a queue at the start of a worker: end the leases of workers that are presumed dead.

    Return the number of ended leases.
    """
    ended = _release_where(tx, queue, now, lanes.FOREVER, owners.presume_dead)
    if queue.account_pace:  # lanes may have opened while the queue had no accounts
        tx.execute(
            "UPDATE lanes SET rank = open_at"
            " WHERE queue = :queue AND open_at IS NOT NULL AND rank IS NULL",
            queue=queue.name,
        )
    _correct_times(tx, queue, now)
    return ended


def release_expired(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, owners: Owners = LOCAL
) -> int:
    """End leases of unknown owners that expired by `now`; return their number."""
    if not owners.leases_expire:
        return 0
    return _release_where(tx, queue, now, now, owners.presume_dead)


def release_dead(
    tx: database.Transaction, queue: queue_policy.Queue, now: int, owners: Owners = LOCAL
) -> int:
    """End the leases of workers that are known to be dead, expired or not; return their number."""
    return _release_where(tx, queue, now, lanes.FOREVER, owners.find_dead)


def release_own(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    owner: str,
    keep: AbstractSet[str] = frozenset(),
) -> int:
    """End a worker's leases except those in `keep`, without counting crashes; return the count."""
    rows = _leased(tx, queue, lanes.FOREVER)
    own = [row for row in rows if _owner(row) == owner and row["lease"] not in keep]
    return _release(tx, queue, own)


def _release_where(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    now: int,
    until: int,
    choose: Callable[[database.Transaction, queue_policy.Queue, AbstractSet[str]], set[str]],
) -> int:
    rows = _leased(tx, queue, until)
    chosen = choose(tx, queue, {_owner(row) for row in rows}) if rows else ()
    return _release(tx, queue, [row for row in rows if _owner(row) in chosen], crashed_at=now)


def _leased(tx: database.Transaction, queue: queue_policy.Queue, until: int) -> list[database.Row]:
    return tx.query(
        "SELECT id, lane, lease, crashes, due_at FROM outbox"
        " WHERE queue = :queue AND state = 'leased' AND leased_until <= :until ORDER BY due_at, id",
        queue=queue.name,
        until=until,
    )


def _owner(row: database.Row) -> str:
    return str(row["lease"] or "").rpartition("/")[0]


def _release(
    tx: database.Transaction,
    queue: queue_policy.Queue,
    rows: list[database.Row],
    crashed_at: int | None = None,
) -> int:
    """End the leases of these rows, which are in their order; return how many still had them.

    A batch shares a lease and is handled in order, so a crash counts for its first message alone:
    the others had hardly begun. Afterwards each of them is handled alone (`Worker`), so that the
    cause of a crash becomes the first.
    """
    names = {row["lane"] for row in rows}
    lanes.lock(tx, queue, *names)
    suspects = {row["lease"]: row["id"] for row in reversed(rows)} if crashed_at is not None else {}
    released = 0
    for row in rows:
        crashes, due_at = row["crashes"], row["due_at"]
        if crashed_at is not None and suspects[row["lease"]] == row["id"]:
            crashes += 1
            if delay := CRASH_DELAYS.delay_or_last(crashes):
                due_at = crashed_at + delay
        released += tx.execute(
            "UPDATE outbox SET state = 'waiting', leased_until = NULL, lease = NULL, uncertain = 1,"
            " crashes = :crashes, due_at = :due_at WHERE id = :id"
            " AND COALESCE(lease, '') = :lease",
            id=row["id"],
            lease=row["lease"] or "",
            crashes=crashes,
            due_at=due_at,
        )
    groups.reopen_lanes(tx, queue, names)
    return released


def _correct_times(tx: database.Transaction, queue: queue_policy.Queue, now: int) -> None:
    """Correct times that lie further in the future than the clocks of a cluster can differ.

    A message that was put in the future counts as put now, with the same delay.
    """
    times = {
        "queue": queue.name,
        "latest": now + LONGEST_HOLD,
        "ahead": now + queue_policy.CLOCK_SKEW,
    }
    names = {row["lane"] for row in tx.query(LANES_AHEAD, **times)}
    if not names:
        return
    lanes.lock(tx, queue, *names)
    tx.execute(PUT_NOW, **times, now=now)
    tx.execute(SHORTEN_HOLDS, **times)
    for lane in names:
        if lane.startswith(lanes.ACCOUNT):
            arrival_at = fairness.clock_of(tx, queue, lane, now)
        else:
            arrival_at = lanes.arrival_at(tx, queue, lane, now)
        lanes.store(tx, queue, lane, "arrival_at", arrival_at)
        lanes.reopen(tx, queue, lane)
