"""The schema of a PostgreSQL server that a database is loaded into: found out, emptied, made.

Everything happens in the transaction of the load: until it commits, the old tables are in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg import sql

from bot.core.database.schema import migrations
from bot.core.database.tables import FILLED_BY_A_START, NUMBERS, list_tables
from bot.core.errors import BotError, ConfigProblem

if TYPE_CHECKING:
    from bot.core.database.transfer.sessions import Connection

TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
"""
"""The tables of the schema that no extension made."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a schema holds: its tables, and the version that made them, None if it has none.

    `strangers` are the tables that this version didn't make.
    """

    schema: str
    tables: frozenset[str]
    version: int | None

    @property
    def is_newer(self) -> bool:
        """Return whether a version made it that this one doesn't know."""
        return (self.version or 0) > len(migrations.MIGRATIONS)

    @property
    def strangers(self) -> list[str]:
        """Return the tables that none of our migrations makes, as far as this version knows."""
        known = list_tables(self.version) if self.version else frozenset()
        return [] if self.is_newer else sorted(self.tables - known - {NUMBERS})


def examine(conn: Connection) -> Target:
    """Return what the schema holds. Raises ConfigProblem where there is none."""
    (schema,) = _one(conn, "SELECT current_schema()")
    if schema is None:
        raise ConfigProblem("DATABASE_URL: its search_path names no schema that exists")
    tables = frozenset(str(name) for (name,) in conn.execute(TABLES))
    version = None
    if NUMBERS in tables:
        (version,) = _one(conn, "SELECT MAX(number) FROM migrations")
    return Target(str(schema), tables, version)


def refuse_strangers(found: Target) -> None:
    """Raise BotError where another program keeps tables beside ours: they would be moved too."""
    if found.strangers:
        raise BotError(
            f"the table {found.schema}.{found.strangers[0]} is not ours: give the bot a database"
            " or a schema of its own"
        )


def holds_data(conn: Connection, target: Target, embedded: str) -> bool:
    """Return whether data would be lost with these tables.

    `embedded` names the secret of the application that a start creates.
    """
    if "apps" in target.tables:
        (others,) = _one(
            conn,
            "SELECT (SELECT COUNT(*) FROM apps)"
            " - (SELECT COUNT(*) FROM kept_secrets WHERE name = %s)",
            embedded,
        )
        if others > 0:
            return True
    return any(_has_rows(conn, name) for name in sorted(target.tables - FILLED_BY_A_START))


def lock(conn: Connection, target: Target) -> None:
    """Lock the tables against every other session until the transaction ends."""
    for name in sorted(target.tables):
        conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(name)))


def clear(conn: Connection, target: Target, stamp: str, *, keeps: bool) -> str | None:
    """Take the tables away: into a new schema, whose name is returned, or for good."""
    names = sorted(target.tables)
    if not keeps:
        if names:
            listed = sql.SQL(", ").join(map(sql.Identifier, names))
            conn.execute(sql.SQL("DROP TABLE {}").format(listed))
        return None
    aside = f"{target.schema}_replaced_{stamp}".lower()
    conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(aside)))
    for name in names:
        move = sql.SQL("ALTER TABLE {} SET SCHEMA {}")
        conn.execute(move.format(sql.Identifier(name), sql.Identifier(aside)))
    return aside


def _has_rows(conn: Connection, name: str) -> bool:
    found = conn.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name)))
    return found.fetchone() is not None


def _one(conn: Connection, statement: LiteralString, *given: object) -> tuple[Any, ...]:
    return conn.execute(statement, given).fetchone() or ()
