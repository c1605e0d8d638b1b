"""Detect by its server's timeline that a database went back in time without `restore`.

Every promotion and every point-in-time recovery begins a new PostgreSQL timeline. The database
records the timeline on which its messages are known to be complete. On any other timeline, messages
that were already sent may be waiting again. A restored disk snapshot keeps its timeline, so it is
not detected.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.core.database import database

NOTED = "SELECT system, timeline FROM timelines"

MAY_ASK = """
SELECT CAST(NOT pg_is_in_recovery()
  AND has_function_privilege('pg_control_system()', 'EXECUTE')
  AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE') AS INTEGER) AS may
"""
"""Some providers forbid the query."""

ASK = """
SELECT CAST(system_identifier AS TEXT) AS system,
  SUBSTR(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline
FROM pg_control_system()
"""
"""The timeline (hexadecimal) is a prefix of the current WAL file's name. The checkpoint would still
have the former timeline for a second or more after a promotion."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The timeline that a server is on."""

    system: str
    """The system identifier of the server's data directory."""

    number: int


def note(tx: database.Transaction) -> str | None:
    """Record the server's timeline if none is recorded; return the result of `find_change`."""
    if tx.one(NOTED) is None:
        accept(tx)
    return find_change(tx)


def find_change(tx: database.Transaction) -> str | None:
    """Return an explanation if the server is not on the recorded timeline, else None.

    The text is for operators, and names the command to run. Return None on SQLite, or if no
    timeline is recorded.
    """
    now, row = read(tx), tx.one(NOTED)
    if now is None or row is None:
        return None
    noted = Timeline(row["system"], row["timeline"])
    if noted == now:
        return None
    if noted.system != now.system:
        change = "the database was moved to another server"
    else:
        change = f"the server went from timeline {noted.number} to {now.number}"
    return (
        f"{change}: a failover or a recovery may have lost its newest changes, and messages that"
        " were sent may wait again. Stop the bot everywhere, run restore --in-place, start it again"
    )


def accept(tx: database.Transaction) -> None:
    """Record that the database is complete on its server's current timeline."""
    now = read(tx)
    if now is None:
        return
    tx.execute("DELETE FROM timelines")
    tx.execute(
        "INSERT INTO timelines (system, timeline) VALUES (:system, :timeline)",
        system=now.system,
        timeline=now.number,
    )


def read(tx: database.Transaction) -> Timeline | None:
    """Return the server's current timeline; None on SQLite, or if the server doesn't reveal it."""
    if tx.engine != "postgresql":
        return None
    may = tx.one(MAY_ASK)
    row = tx.one(ASK) if may and may["may"] else None
    return Timeline(row["system"], int(row["timeline"], 16)) if row else None
