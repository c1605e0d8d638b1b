"""The statements about replicas and leads.

Beats change rows of `replicas` alone: the rows of `leads` and `slices`, which transactions of a
lead lock, change only when the lead does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.database.slices import Lead

if TYPE_CHECKING:
    from collections.abc import Collection

    from bot.core.database.database import Transaction

COLUMNS = "owner, beat, role, version, migration, settings, started_at"
TAKE_OVER = """
    UPDATE leads SET owner = :owner, term = term + 1
    WHERE role = :role AND owner = :former AND term = :term
    AND EXISTS (SELECT 1 FROM replicas WHERE owner = :owner)
    AND NOT EXISTS (SELECT 1 FROM replicas WHERE owner = :former)
    RETURNING term
"""
SHORT_WAIT = "SELECT set_config('lock_timeout', '1s', true)"
"""A takeover that has to wait longer for the slice is tried again: beats wait behind it."""

LEAD_SLICE = """
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


def join(tx: Transaction, owner: str, info: ReplicaInfo, now: int) -> None:
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


def beat(tx: Transaction, owner: str) -> bool:
    """Count a beat; return False if the replica was declared gone."""
    sql = "UPDATE replicas SET beat = beat + 1 WHERE owner = :owner"
    return bool(tx.execute(sql, owner=owner))


def find_all(tx: Transaction) -> list[ReplicaRow]:
    """Return the replicas that were not declared gone, in the order of their start."""
    rows = tx.query(f"SELECT {COLUMNS} FROM replicas ORDER BY started_at, owner")  # noqa: S608 - our own names
    return [ReplicaRow(**row) for row in rows]


def remove_gone(tx: Transaction, gone: Collection[tuple[str, int]]) -> list[str]:
    """Remove replicas that are gone, each with its last beat, unless it has beaten since.

    Returns those that were removed here and now, not by another one.
    """
    sql = "DELETE FROM replicas WHERE owner = :owner AND beat = :last"
    return [owner for owner, last in sorted(gone) if tx.execute(sql, owner=owner, last=last)]


def leave(tx: Transaction, owner: str) -> None:
    """Remove a replica that stops."""
    tx.execute("DELETE FROM replicas WHERE owner = :owner", owner=owner)


def find_leads(tx: Transaction) -> dict[str, Lead]:
    """Return the lead of each role; its owner is '' where it was handed over."""
    rows = tx.query("SELECT role, owner, term FROM leads")
    return {row["role"]: Lead(row["owner"], row["term"]) for row in rows}


def take_over(tx: Transaction, owner: str, role: str, former: Lead) -> Lead | None:
    """Make a replica the lead in place of one that is gone; None if that is not so any more.

    It waits for the transaction of the slice that is under way, the former lead's last one.
    """
    tx.lock(SHORT_WAIT)
    tx.execute("INSERT INTO leads (role) VALUES (:role) ON CONFLICT DO NOTHING", role=role)
    row = tx.one(TAKE_OVER, owner=owner, role=role, former=former.owner, term=former.term)
    if row is None:
        return None
    tx.execute(LEAD_SLICE, role=role, owner=owner, term=row["term"])
    return Lead(owner, row["term"])


def hand_over(tx: Transaction, role: str, lead: Lead) -> None:
    """Release a lead for any other replica, if it is still this one's."""
    sql = "UPDATE leads SET owner = '' WHERE role = :role AND owner = :owner AND term = :term"
    if tx.execute(sql, role=role, owner=lead.owner, term=lead.term):
        tx.execute(LEAD_SLICE, role=role, owner="", term=lead.term)
        tx.wake(TOPIC)
