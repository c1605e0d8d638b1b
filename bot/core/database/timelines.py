"""Find a database that went back in time without `restore`, by its server's timeline.

Every promotion and every recovery to a point in time begins a new timeline of PostgreSQL. The
database notes the timeline on which its messages are known to be complete; on another timeline,
messages that were sent may wait again. A restored snapshot of a disk keeps its timeline and is not
found.
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
"""Some providers forbid to ask."""

ASK = """
SELECT CAST(system_identifier AS TEXT) AS system,
  SUBSTR(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline
FROM pg_control_system()
"""
"""The timeline is the beginning of the name of the file that is written now, hexadecimal: the
checkpoint still has the former timeline for a second or more after a promotion."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The timeline that a server is on."""

    system: str
    """The system identifier of the server's data directory."""

    number: int


def note(tx: database.Transaction) -> str | None:
    """Note the server's timeline if none is noted; return what `find_change` returns."""
    if tx.one(NOTED) is None:
        accept(tx)
    return find_change(tx)


def find_change(tx: database.Transaction) -> str | None:
    """Return what happened if the server is on another timeline than the noted one, else None.

    The text is for operators, and names the command to run. None on SQLite, and if no timeline is
    noted.
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
    """Note that the database is complete on the timeline that its server is on now."""
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
    """Return the timeline that the server is on; None on SQLite, or if it doesn't say."""
    if tx.engine != "postgresql":
        return None
    may = tx.one(MAY_ASK)
    row = tx.one(ASK) if may and may["may"] else None
    return Timeline(row["system"], int(row["timeline"], 16)) if row else None
