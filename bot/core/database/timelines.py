"""A database that went back in time by other means than `restore`: found by its server's timeline.

PostgreSQL gives every promotion and every recovery to a point in time a new timeline. The database
notes the one on which its messages are known to be complete; on another one, messages that were
sent may wait again. A snapshot of a disk keeps its timeline and is not found.
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
"""Some providers tell nobody."""

ASK = """
SELECT CAST(system_identifier AS TEXT) AS system,
  SUBSTR(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline
FROM pg_control_system()
"""
"""The checkpoint's timeline is the former one for a second or more after a promotion; the name of
the file that is written now begins with the right one, hexadecimal."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A server's data directory, by its system identifier, and the timeline that it is on."""

    system: str
    number: int


def note(tx: database.Transaction) -> str | None:
    """Note the server's timeline if none is noted; else return what `find_change` does."""
    if tx.one(NOTED) is None:
        accept(tx)
    return find_change(tx)


def find_change(tx: database.Transaction) -> str | None:
    """Return what happened where the server is on another timeline than the one noted.

    The text is for operators, and names the command to run. None on SQLite, and where none is
    noted.
    """
    now, row = read(tx), tx.one(NOTED)
    if now is None or row is None:
        return None
    noted = Timeline(row["system"], row["timeline"])
    return None if noted == now else describe(noted, now)


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
    """Return the timeline that the server is on; None on SQLite, or where it doesn't say."""
    if tx.engine != "postgresql":
        return None
    may = tx.one(MAY_ASK)
    row = tx.one(ASK) if may and may["may"] else None
    return Timeline(row["system"], int(row["timeline"], 16)) if row else None


def describe(noted: Timeline, now: Timeline) -> str:
    """Return what happened to the server, and what to do."""
    if noted.system != now.system:
        change = "the database was moved to another server"
    else:
        change = f"the server went from timeline {noted.number} to {now.number}"
    return (
        f"{change}: a failover or a recovery may have lost its newest changes, and messages that"
        " were sent may wait again. Stop the bot everywhere, run restore --in-place, start it again"
    )
