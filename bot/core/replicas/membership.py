"""A replica's beats: each shows that it is alive, and checks the other replicas and the leads.

All of this runs in one thread at a time, usually the thread of `replica.BeatingReplica`, and waits
for the database. `clock` is monotonic, in seconds.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import partial

import structlog

from bot.core import errors
from bot.core.database import database

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HeartbeatTimeouts:
    """Times in seconds. A lead stops before others presume it dead, whatever their clocks show."""

    beat: float = 2.0
    """The time between two beats."""

    lead: float = 8.0
    """A lead stops this long after it began its last beat."""

    gone: float = 10.0
    """A replica without a new beat for this long is presumed dead."""


HEARTBEAT_TIMEOUTS = HeartbeatTimeouts()


class SilenceObservation:
    """Measures how long other replicas have been silent.

    Clocks are never compared: a beat is an increasing number, and an observer measures with its own
    clock how long it sees the same number. At most two beats of the time between two observations
    count: while the observer was suspended or the database was away, the others may have sent
    unseen beats, or may have been unable to send any.
    """

    def __init__(self, timeouts: HeartbeatTimeouts) -> None:
        self._timeouts = timeouts
        self._silences: dict[str, tuple[int, float]] = {}  # the last beat, and seconds since
        self._observed_at: float | None = None

    def observe(self, now: float, beats: Mapping[str, int]) -> dict[str, int]:
        """Record the beats of other replicas; return the last beats of replicas that are gone."""
        longest = 2 * self._timeouts.beat
        gap = 0.0 if self._observed_at is None else min(now - self._observed_at, longest)
        self._observed_at = now
        former, self._silences = self._silences, {}
        for owner, beat in beats.items():
            last, seconds = former.get(owner, (None, 0.0))
            self._silences[owner] = (beat, seconds + gap if beat == last else 0.0)
        return {
            owner: beat
            for owner, (beat, seconds) in self._silences.items()
            if seconds >= self._timeouts.gone
        }

    def interrupt(self) -> None:
        """Record a failed observation: the time until the next observation doesn't count."""
        self._observed_at = None


# The rows of replicas and leads.
#
# Beats change only rows of `replicas`. The rows of `leads` and `slices`, which transactions of a
# lead lock, change only when the lead changes.


TAKE_OVER = """
    UPDATE leads SET owner = :owner, term = term + 1
    WHERE role = :role AND owner = :former AND term = :term
    AND EXISTS (SELECT 1 FROM replicas WHERE owner = :owner)
    AND NOT EXISTS (SELECT 1 FROM replicas WHERE owner = :former)
    RETURNING term
"""
SHORT_WAIT = "SELECT set_config('lock_timeout', '1s', true)"
"""A takeover that would wait longer for the write scope is retried later: beats wait behind it."""

LEAD_SCOPE = """
    INSERT INTO slices (name, owner, term) VALUES (:role, :owner, :term)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, term = excluded.term
"""

TOPIC = "leads"
"""The topic that a hand-over wakes."""


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """A replica's description of itself."""

    role: str
    version: str
    migration: int
    """The number of the newest migration that it knows."""
    settings: str
    """A digest of the settings that all replicas must share."""


@dataclass(frozen=True, slots=True)
class ReplicaRow(ReplicaInfo):
    """A row of `replicas`."""

    owner: str
    """The name of the replica."""
    beat: int
    started_at: int
    """In epoch ms."""


COLUMNS = database.columns_of(ReplicaRow)


def join(tx: database.Transaction, owner: str, info: ReplicaInfo, now: int) -> None:
    """Store the row of a new replica."""
    sql = database.insert_into("replicas", COLUMNS)
    tx.execute(sql, owner=owner, beat=0, started_at=now, **asdict(info))


def beat(
    tx: database.Transaction, owner: str
) -> tuple[list[ReplicaRow], dict[str, database.WriteLease]] | None:
    """Count a beat; return the other replicas and the lead of each role.

    Return None if the replica has been removed as gone.
    """
    if not tx.execute("UPDATE replicas SET beat = beat + 1 WHERE owner = :owner", owner=owner):
        return None
    return [one for one in find_all(tx) if one.owner != owner], find_leads(tx)


def find_all(tx: database.Transaction) -> list[ReplicaRow]:
    """Return the registered replicas by start time."""
    rows = tx.query(f"SELECT {COLUMNS} FROM replicas ORDER BY started_at, owner")  # noqa: S608 - our own names
    return [ReplicaRow(**row) for row in rows]


def remove_gone(tx: database.Transaction, gone: Collection[tuple[str, int]]) -> list[str]:
    """Remove replicas that are gone, given with their last beats, unless they have beaten since.

    Return the replicas that this call removed, without those that another replica removed.
    """
    sql = "DELETE FROM replicas WHERE owner = :owner AND beat = :last"
    return [owner for owner, last in sorted(gone) if tx.execute(sql, owner=owner, last=last)]


def leave(tx: database.Transaction, owner: str) -> None:
    """Remove the row of a replica that stops."""
    tx.execute("DELETE FROM replicas WHERE owner = :owner", owner=owner)


def find_leads(tx: database.Transaction) -> dict[str, database.WriteLease]:
    """Return the lead of each role; the owner is "" if the lead was handed over."""
    rows = tx.query("SELECT role, owner, term FROM leads")
    return {row["role"]: database.WriteLease(row["owner"], row["term"]) for row in rows}


def take_over_lead(
    tx: database.Transaction, owner: str, role: str, former: database.WriteLease
) -> database.WriteLease | None:
    """Make a replica the lead in place of a gone replica; None if `former` has changed.

    It waits for the current transaction in the write scope, the former lead's last transaction.
    """
    tx.lock(SHORT_WAIT)
    tx.execute("INSERT INTO leads (role) VALUES (:role) ON CONFLICT DO NOTHING", role=role)
    row = tx.one(TAKE_OVER, owner=owner, role=role, former=former.owner, term=former.term)
    if row is None:
        return None
    tx.execute(LEAD_SCOPE, role=role, owner=owner, term=row["term"])
    return database.WriteLease(owner, row["term"])


def hand_over_lead(tx: database.Transaction, role: str, lead: database.WriteLease) -> None:
    """Release a lead for any other replica, if this replica still has it."""
    sql = "UPDATE leads SET owner = '' WHERE role = :role AND owner = :owner AND term = :term"
    if tx.execute(sql, role=role, owner=lead.owner, term=lead.term):
        tx.execute(LEAD_SCOPE, role=role, owner="", term=lead.term)
        tx.wake(TOPIC)


# The replica that beats.


class Membership:
    """A replica's part in the cluster: it beats, and takes over from replicas that are gone."""

    def __init__(
        self,
        run: database.Run,
        info: ReplicaInfo,
        timeouts: HeartbeatTimeouts,
        now: Callable[[], int],
    ) -> None:
        """Initialize; `run` runs transactions on a separate connection."""
        self._run = run
        self._info = info
        self._now = now
        self._observation = SilenceObservation(timeouts)
        self.owner = ""
        self.began_at = float("-inf")
        """The start of the last beat (monotonic seconds)."""
        self.others: list[ReplicaRow] = []
        self.roles: frozenset[str] = frozenset()
        """The roles that this replica wants to lead."""
        self.leads: dict[str, database.WriteLease] = {}
        """The leads of this replica, by role."""

    def join(self, clock: float) -> None:
        """Begin under a new name and without a lead. Raises StorageError."""
        owner = f"{socket.gethostname()[:40]}-{secrets.token_hex(6)}"
        self.leads.clear()
        self._run(partial(join, owner=owner, info=self._info, now=self._now()))
        self.owner, self.began_at = owner, clock
        log.info("replica joined", owner=owner, role=str(self._info.role))

    def beat(self, clock: float) -> None:
        """Send a beat, and take over from replicas that are gone. Raises StorageError."""
        try:
            found = self._run(partial(beat, owner=self.owner))
            if found is None:
                log.warning("the others took this replica for gone", owner=self.owner)
                self.join(clock)
                return
            self.began_at = clock
            self.others, leads = found
            gone = self._observation.observe(clock, {one.owner: one.beat for one in self.others})
            if gone:
                for owner in self._run(partial(remove_gone, gone=gone.items())):
                    log.warning("replica gone", owner=owner)
            living = {one.owner for one in self.others} - gone.keys()
            for role in self.roles:
                former = leads.get(role, database.WriteLease("", 0))
                self.leads.pop(role, None)
                if former.owner == self.owner:
                    self.leads[role] = former
                elif former.owner not in living:
                    take_over = partial(take_over_lead, owner=self.owner, role=role, former=former)
                    if won := self._run(take_over):
                        self.leads[role] = won
        except errors.StorageError:
            self._observation.interrupt()
            raise

    def resign(self, role: str) -> database.WriteLease | None:
        """Leave the election of a role; return the lead to hand over, if any."""
        self.roles = self.roles - {role}
        return self.leads.pop(role, None)
