"""Inspect the tables and the damage of database files, which commands open with sqlite-utils.

The running bot uses core/database/opening.py instead. A file may come from an untrusted source, so
its schema is never trusted (sqlite.org/security.html).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from urllib.parse import quote

from sqlite_utils import Database

from bot.core.database import sqlite
from bot.core.text import sanitize

CHECK_SECONDS = 5.0
"""The longest check of a file; it covers only a part of a large file."""

STEPS = 20_000
"""SQLite instructions between two reads of the clock."""

LOCK_SECONDS = 5.0
"""The longest wait for another process's lock."""

SOUND = "ok"


@contextmanager
def opened(path: str | Path, mode: str) -> Iterator[Database]:
    """Open an existing file in autocommit mode; `mode` as in sqlite.org/uri.html."""
    address = f"file:{quote(str(path))}?{mode}"
    conn = sqlite3.connect(address, uri=True, isolation_level=None, timeout=LOCK_SECONDS)
    try:
        conn.execute("PRAGMA trusted_schema = OFF")
        yield Database(conn, recursive_triggers=False, execute_plugins=False)
    finally:
        conn.close()


def find_damage(path: str, seconds: float = CHECK_SECONDS) -> str | None:
    """Return the first damage that SQLite finds in a file within `seconds`, or None.

    Raises sqlite3.Error if the file can't be read.
    """
    until = time.monotonic() + seconds
    with opened(path, "mode=ro") as db:
        db.conn.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            return first_flaw(db)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return None
            raise


def first_flaw(db: Database) -> str | None:
    """Return the first damage in a database, or None; indexes and references are not checked."""
    (row,) = db.query("PRAGMA quick_check(1)")
    return None if row["quick_check"] == SOUND else sanitize.line(row["quick_check"])


def first_inconsistency(db: Database) -> str | None:
    """Return the first fault in a database, its indexes and its references, or None.

    Takes several times as long as `first_flaw`.
    """
    (row,) = db.query("PRAGMA integrity_check(1)")
    if row["integrity_check"] != SOUND:
        return sanitize.line(row["integrity_check"])
    lost = next(db.query("PRAGMA foreign_key_check"), None)
    return f"{lost['table']} refers to a row of {lost['parent']} that is missing" if lost else None


# The tables of the schema as data: their columns, and an order in which rows can be inserted.


NUMBERS = "migrations"
"""The table of the schema's own version."""

OF_RUNNING_PROCESSES = frozenset({"probe", "replicas", "leads", "slices", "rates", "timelines"})
"""Tables about running processes and their server, whose rows are useless in another database."""

FILLED_BY_A_START = OF_RUNNING_PROCESSES | {NUMBERS, "kept_secrets", "lanes", "apps", "audit"}
"""Tables that have rows even before anybody has used the database."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str
    """As declared: INTEGER (32 bits), BIGINT, TEXT or BYTEA."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its columns, in the order of their declaration."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> str:
        """Return the names of all columns, as statements list them."""
        return ", ".join(column.name for column in self.columns)


def read_tables(version: int) -> tuple[Table, ...]:
    """Return the tables to copy in a version of the schema; referenced tables come first."""
    found, parents = {}, {}
    with closing(sqlite.in_memory(version)) as conn:
        for name in _names(conn):
            columns = conn.execute(f"PRAGMA table_info({name})")
            found[name] = Table(name, tuple(Column(str(row[1]), str(row[2])) for row in columns))
            references = conn.execute(f"PRAGMA foreign_key_list({name})")
            parents[name] = {str(row[2]) for row in references}
    order = TopologicalSorter(parents).static_order()
    return tuple(found[name] for name in order if name not in {NUMBERS, *OF_RUNNING_PROCESSES})


def list_tables(version: int) -> frozenset[str]:
    """Return the names of all tables of a version of the schema."""
    with closing(sqlite.in_memory(version)) as conn:
        return frozenset(_names(conn))


def _names(conn: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    return [str(name) for (name,) in conn.execute(sql)]
