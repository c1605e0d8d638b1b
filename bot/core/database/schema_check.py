"""The check that a database file has exactly the schema that our migrations make.

A backup is a file from outside. A trigger in it would run within our statements, a view would pass
for a table (sqlite.org/security.html), so only the catalogue is read before this check: as it is
written, since a description made of it could hide what it can't describe.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, TypeAlias

from bot.core.database.inspection import opened
from bot.core.database.schema import migrations
from bot.core.database.sqlite.engine import in_memory
from bot.core.errors import BotError
from bot.core.text import sanitize

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

Entry: TypeAlias = tuple[str, str, str, str | None]
"""The type, name, table and statement of an object in the catalogue."""

MIGRATIONS: Entry = (
    *("table", "migrations", "migrations"),
    f"CREATE TABLE migrations {migrations.COLUMNS}",
)
STATISTICS: frozenset[Entry] = frozenset(
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (
        ("sqlite_stat1", "tbl,idx,stat"),
        ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"),
    )
)
"""Tables that ANALYZE makes (sqlite.org/fileformat2.html): harmless, any operator may run it."""

MARKS = ("application_id", "user_version", "encoding")
"""Pragmas stored in the file; our migrations leave them at SQLite's defaults."""

MAX_NAMED = 3
"""Differences that an error names; it counts the others."""

NOT_OURS = "is not a database of this program"
CHANGED = "was changed by another program"


def check(path: Path, source: Path) -> None:
    """Raise BotError where a copy of `source` has not exactly the schema of its version.

    Raises sqlite3.Error where the file can't be read.
    """
    with opened(path, "mode=ro&immutable=1") as db:
        found, marks = _catalogue(db.conn), _marks(db.conn)
        if MIGRATIONS not in found:
            raise BotError(f"{source}: {NOT_OURS}")
        version = _version(db.conn, source)
    with closing(in_memory(version)) as conn:
        differences = [*_differences(found, _catalogue(conn)), *_changed(marks, _marks(conn))]
    if differences:
        more = [f"{len(differences) - MAX_NAMED} more"] if len(differences) > MAX_NAMED else []
        named = "; ".join([*map(sanitize.line, differences[:MAX_NAMED]), *more])
        raise BotError(f"{source}: {CHANGED}: {named}")


def _version(conn: sqlite3.Connection, source: Path) -> int:
    sql = "SELECT COUNT(*), MIN(number), MAX(number) FROM migrations"
    count, first, last = conn.execute(sql).fetchone()
    known = len(migrations.MIGRATIONS)
    if not count:
        raise BotError(f"{source}: {NOT_OURS}")
    if last > known:
        raise BotError(
            f"{source}: was made by a newer version (schema {last}, this one knows {known}):"
            " update the program first"
        )
    if (first, last) != (1, count):
        raise BotError(f"{source}: {CHANGED}: migrations are missing")
    return int(last)


def _catalogue(conn: sqlite3.Connection) -> Counter[Entry]:
    rows = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return Counter(row for row in rows if row not in STATISTICS)


def _marks(conn: sqlite3.Connection) -> dict[str, object]:
    return {mark: conn.execute(f"PRAGMA {mark}").fetchone()[0] for mark in MARKS}


def _differences(found: Counter[Entry], expected: Counter[Entry]) -> Iterator[str]:
    """Yield the objects that are not ours, that differ from ours, and that are missing."""
    names = {entry[:2] for entry in expected}
    present = {entry[:2] for entry in found}
    for kind, name, table, _ in found - expected:
        if (kind, name) in names:
            yield f"{kind} {name} differs"
        else:
            yield f"{kind} {name}{'' if name == table else f' on {table}'} is not ours"
    for kind, name, *_ in expected - found:
        if (kind, name) not in present:
            yield f"{kind} {name} is missing"


def _changed(found: dict[str, object], expected: dict[str, object]) -> Iterator[str]:
    return (f"{mark} is {found[mark]}" for mark in MARKS if found[mark] != expected[mark])
