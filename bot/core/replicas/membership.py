"""A replica's beats: each tells the others that it lives, and looks after them and the leads.

Everything here runs in one thread at a time and waits for the database; the thread is that of
`beating_replica.py`. `clock` is monotonic, in seconds.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from bot.core import errors
from bot.core.database import database

# After how long a replica is taken for gone, and a lead stops itself.


@dataclass(frozen=True, slots=True)
class HeartbeatTimeouts:
    """Seconds. A lead stops before anyone takes it for gone, whatever their clocks show.

    `beat`: between two beats. `lead`: a lead stops this long after it began its last beat. `gone`:
    an observer takes a replica for gone after this long without a new beat of it.
    """

    beat: float = 2.0
    lead: float = 8.0
    gone: float = 10.0


HEARTBEAT_TIMEOUTS = HeartbeatTimeouts()


# How long the others have been silent, by the observer's own clock.
#
# No clocks are compared: a beat is a number that counts up, and an observer measures how long it
# sees the same one. Only the time between two looks of its own counts, and of a longer gap no
# more than two beats: while the observer stood still or the database was away, the others may
# have beaten unseen, or may have been unable to.


@dataclass(slots=True)
class _Silence:
    beat: int
    seconds: float = 0.0


class SilenceObservation:
    """What one replica saw of the others."""

    def __init__(self, timeouts: HeartbeatTimeouts) -> None:
        self._timeouts = timeouts
        self._silences: dict[str, _Silence] = {}
        self._looked_at: float | None = None

    def look(self, now: float, beats: Mapping[str, int]) -> dict[str, int]:
        """Note the beats of the others at a moment (monotonic seconds).

        Return the last beats of those that are gone.
        """
        longest = 2 * self._timeouts.beat
        gap = 0.0 if self._looked_at is None else min(now - self._looked_at, longest)
        self._looked_at = now
        seen = self._silences
        self._silences = {
            owner: _Silence(beat, seen[owner].seconds + gap)
            if owner in seen and seen[owner].beat == beat
            else _Silence(beat)
            for owner, beat in beats.items()
        }
        return {
            owner: silence.beat
            for owner, silence in self._silences.items()
            if silence.seconds >= self._timeouts.gone
        }

    def interrupt(self) -> None:
        """Note that a look failed: the time until the next one doesn't count."""
        self._looked_at = None

    def silence(self, owner: str) -> float:
        """Return for how many seconds a replica has been silent."""
        silence = self._silences.get(owner)
        return silence.seconds if silence else 0.0


# The statements about replicas and leads.
#
# Beats change rows of `replicas` alone: the rows of `leads` and `slices`, which transactions of a
# lead lock, change only when the lead does.


COLUMNS = "owner, beat, role, version, migration, settings, started_at"
TAKE_OVER = """
    UPDATE leads SET owner = :owner, term = term + 1
    WHERE role = :role AND owner = :former AND term = :term
    AND EXISTS (SELECT 1 FROM replicas WHERE owner = :owner)
    AND NOT EXISTS (SELECT 1 FROM replicas WHERE owner = :former)
    RETURNING term
"""
SHORT_WAIT = "SELECT set_config('lock_timeout', '1s', true)"
"""A takeover that has to wait longer for the write scope is tried again: beats wait behind it."""

LEAD_SCOPE = """
    INSERT INTO slices (name, owner, term) VALUES (:role, :owner, :term)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, term = excluded.term
"""

TOPIC = "leads"
"""The topic that a hand-over wakes."""


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """What a replica says of itself.

    `migration` is the newest that it knows, `settings` a digest of what all replicas must share.
    """

    role: str
    version: str
    migration: int
    settings: str


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """A row of `replicas`."""

    owner: str
    beat: int
    role: str
    version: str
    migration: int
    settings: str
    started_at: int


def join(tx: database.Transaction, owner: str, info: ReplicaInfo, now: int) -> None:
    """Store the row of a new replica."""
    tx.execute(
        f"INSERT INTO replicas ({COLUMNS})"  # noqa: S608 - our own names
        " VALUES (:owner, 0, :role, :version, :migration, :settings, :now)",
        owner=owner,
        role=info.role,
        version=info.version,
        migration=info.migration,
        settings=info.settings,
        now=now,
    )


def beat(tx: database.Transaction, owner: str) -> bool:
    """Count a beat; return False if the replica was declared gone."""
    sql = "UPDATE replicas SET beat = beat + 1 WHERE owner = :owner"
    return bool(tx.execute(sql, owner=owner))


def find_all(tx: database.Transaction) -> list[ReplicaRow]:
    """Return the replicas that were not declared gone, in the order of their start."""
    rows = tx.query(f"SELECT {COLUMNS} FROM replicas ORDER BY started_at, owner")  # noqa: S608 - our own names
    return [ReplicaRow(**row) for row in rows]


def remove_gone(tx: database.Transaction, gone: Collection[tuple[str, int]]) -> list[str]:
    """Remove replicas that are gone, each with its last beat, unless it has beaten since.

    Returns those that were removed here and now, not by another one.
    """
    sql = "DELETE FROM replicas WHERE owner = :owner AND beat = :last"
    return [owner for owner, last in sorted(gone) if tx.execute(sql, owner=owner, last=last)]


def leave(tx: database.Transaction, owner: str) -> None:
    """Remove a replica that stops."""
    tx.execute("DELETE FROM replicas WHERE owner = :owner", owner=owner)


def find_leads(tx: database.Transaction) -> dict[str, database.WriteLease]:
    """Return the lead of each role; its owner is '' where it was handed over."""
    rows = tx.query("SELECT role, owner, term FROM leads")
    return {row["role"]: database.WriteLease(row["owner"], row["term"]) for row in rows}


def take_over_lead(
    tx: database.Transaction, owner: str, role: str, former: database.WriteLease
) -> database.WriteLease | None:
    """Make a replica the lead in place of one that is gone; None if that is not so any more.

    It waits for the transaction that is under way in the write scope, the former lead's last one.
    """
    tx.lock(SHORT_WAIT)
    tx.execute("INSERT INTO leads (role) VALUES (:role) ON CONFLICT DO NOTHING", role=role)
    row = tx.one(TAKE_OVER, owner=owner, role=role, former=former.owner, term=former.term)
    if row is None:
        return None
    tx.execute(LEAD_SCOPE, role=role, owner=owner, term=row["term"])
    return database.WriteLease(owner, row["term"])


def hand_over_lead(tx: database.Transaction, role: str, lead: database.WriteLease) -> None:
    """Release a lead for any other replica, if it is still this one's."""
    sql = "UPDATE leads SET owner = '' WHERE role = :role AND owner = :owner AND term = :term"
    if tx.execute(sql, role=role, owner=lead.owner, term=lead.term):
        tx.execute(LEAD_SCOPE, role=role, owner="", term=lead.term)
        tx.wake(TOPIC)


log = structlog.get_logger()

NOBODY = database.WriteLease("", 0)


@dataclass(frozen=True, slots=True)
class BeatResult:
    """What a beat found: the others, and the lead of each role."""

    is_alive: bool
    others: tuple[ReplicaRow, ...] = ()
    leads: dict[str, database.WriteLease] = field(default_factory=dict)


class Membership:
    """A replica's place among the others: it beats, and takes over from those that are gone.

    `run` has a connection of its own; `began_at` is the start of the last beat.
    """

    def __init__(
        self,
        run: database.Run,
        info: ReplicaInfo,
        timeouts: HeartbeatTimeouts,
        now: Callable[[], int],
    ) -> None:
        self._run = run
        self._info = info
        self._now = now
        self._observation = SilenceObservation(timeouts)
        self.owner = ""
        self.began_at = float("-inf")
        self.others: tuple[ReplicaRow, ...] = ()
        self.roles: frozenset[str] = frozenset()
        self.leads: dict[str, database.WriteLease] = {}

    def join(self, clock: float) -> None:
        """Begin under a new name, without any lead. Raises StorageError."""
        owner = f"{socket.gethostname()[:40]}-{secrets.token_hex(6)}"
        self.leads.clear()
        self._run(partial(join, owner=owner, info=self._info, now=self._now()))
        self.owner, self.began_at = owner, clock
        log.info("replica joined", owner=owner, role=str(self._info.role))

    def beat(self, clock: float) -> None:
        """Send a beat at a moment, and take over from those that are gone. Raises StorageError."""
        try:
            result = self._run(partial(_beat, owner=self.owner))
            if not result.is_alive:
                log.warning("the others took this replica for gone", owner=self.owner)
                self.join(clock)
                return
            self.began_at = clock
            self.others = result.others
            gone = self._observation.look(clock, {one.owner: one.beat for one in result.others})
            if gone:
                removed = self._run(partial(remove_gone, gone=gone.items()))
                for owner in removed:
                    log.warning("replica gone", owner=owner)
            self._stand(result, set(gone))
        except errors.StorageError:
            self._observation.interrupt()
            raise

    def resign(self, role: str) -> database.WriteLease | None:
        """Stop standing for a role; return the lead that has to be handed over."""
        self.roles = self.roles - {role}
        return self.leads.pop(role, None)

    def leave(self, tx: database.Transaction) -> None:
        """Delete the row of this replica, which stops."""
        leave(tx, self.owner)

    def _stand(self, result: BeatResult, gone: set[str]) -> None:
        living = {one.owner for one in result.others} - gone
        for role in self.roles:
            former = result.leads.get(role, NOBODY)
            if former.owner == self.owner:
                self.leads[role] = former
                continue
            self.leads.pop(role, None)
            if former.owner not in living:
                take_over = partial(take_over_lead, owner=self.owner, role=role, former=former)
                if won := self._run(take_over):
                    self.leads[role] = won


def _beat(tx: database.Transaction, owner: str) -> BeatResult:
    if not beat(tx, owner):
        return BeatResult(is_alive=False)
    others = tuple(one for one in find_all(tx) if one.owner != owner)
    return BeatResult(is_alive=True, others=others, leads=find_leads(tx))
