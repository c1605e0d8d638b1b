"""The PostgreSQL schema that a database is copied from or loaded into.

The whole copy is one long transaction: the old tables stay in place until it commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from bot.core import errors
from bot.core.database import database, inspection, migrations, urls
from bot.core.database.postgres import connection, server, transactions

Connection = psycopg.Connection[tuple[Any, ...]]

NO_LIMITS = """
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')
"""
"""Limits for the running bot's transactions, which a copy of a whole database would exceed."""

LOCK_TIMEOUT = "SET LOCAL lock_timeout = '2s'"
"""If a lock isn't free by then, a process that should have been stopped holds it."""


@contextmanager
def open_session(url: str) -> Iterator[Connection]:
    """Open a connection in autocommit mode.

    Raises ConfigProblem if the URL or the server can't be used.
    """
    try:
        conn = server.connect(urls.postgres_address(url).url)
    except (psycopg.Error, server.NotConnected) as error:
        raise server.unusable(url, connection.describe(error)) from None
    conn.prepare_threshold = None  # a pooler may stand between
    with conn:
        yield conn


def vacuum(url: str, tables: Iterable[str]) -> None:
    """Free the space of deleted rows while the tables are in use. Raises BotError."""
    with open_session(url) as conn, _naming_errors():
        if not urls.postgres_address(url).is_pooled:  # a pooler would pass the setting on to others
            conn.execute("SET statement_timeout = 0")
        for name in tables:
            conn.execute(sql.SQL("VACUUM {}").format(sql.Identifier(name)))


@contextmanager
def session_transaction(
    conn: Connection, *, read_only: bool = False
) -> Iterator[database.Transaction]:
    """Run a long transaction, with a single snapshot if `read_only`, and commit it at the end.

    Raises BotError for the server's errors, without their details, which quote payers' data.
    """
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ if read_only else None
    conn.read_only = read_only
    with _naming_errors(), conn.transaction():
        conn.execute(NO_LIMITS)
        conn.execute(LOCK_TIMEOUT)
        yield transactions.PostgresTransaction(connection.Connection(conn))


@contextmanager
def _naming_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        text = connection.describe(error)
        if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            named: errors.BotError = errors.Unreadable(
                f"holds data that this program never wrote: {text}"
            )
        elif isinstance(error, psycopg.errors.LockNotAvailable):
            named = errors.BotError("the database is in use: stop the bot everywhere first")
        elif isinstance(error, psycopg.errors.InsufficientPrivilege):
            named = errors.ConfigProblem(f"DATABASE_URL: its user lacks a right: {text}")
        else:
            named = errors.StorageError(f"the database can't be used: {text}")
        raise named from None


# The schema: its content, and moving its tables away.


TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
"""
"""The tables of the schema, without extension tables."""


@dataclass(frozen=True, slots=True)
class Target:
    """A schema and its content."""

    schema: str
    tables: frozenset[str]
    version: int | None
    """The number of the last migration that ran; None if there is no table `migrations`."""

    @property
    def is_newer(self) -> bool:
        """True if a newer version of this program created the tables."""
        return (self.version or 0) > len(migrations.MIGRATIONS)


def examine_target(conn: Connection) -> Target:
    """Read the content of the schema. Raises ConfigProblem if there is no schema."""
    (schema,) = _one(conn, "SELECT current_schema()")
    if schema is None:
        raise errors.ConfigProblem("DATABASE_URL: its search_path names no schema that exists")
    tables = frozenset(str(name) for (name,) in conn.execute(TABLES))
    version = None
    if inspection.NUMBERS in tables:
        (version,) = _one(conn, "SELECT MAX(number) FROM migrations")
    return Target(str(schema), tables, version)


def refuse_strangers(found: Target) -> None:
    """Raise BotError if the schema has tables of another program, which would be moved too."""
    known = inspection.list_tables(found.version) if found.version else frozenset()
    strangers = sorted(found.tables - known - {inspection.NUMBERS})
    if strangers and not found.is_newer:
        raise errors.BotError(
            f"the table {found.schema}.{strangers[0]} is not ours: give the bot a database or a"
            " schema of its own"
        )


def holds_data(conn: Connection, target: Target, embedded: str) -> bool:
    """Return whether data would be lost with these tables.

    `embedded` is the name of the secret of the application that the first start creates.
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
    for name in sorted(target.tables - inspection.FILLED_BY_A_START):
        rows = conn.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name)))
        if rows.fetchone() is not None:
            return True
    return False


def lock_target(conn: Connection, target: Target) -> None:
    """Lock the tables against every other session until the transaction ends."""
    if target.tables:
        names = sql.SQL(", ").join(map(sql.Identifier, sorted(target.tables)))
        conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(names))


def clear_target(conn: Connection, target: Target, stamp: str, *, keeps: bool) -> str | None:
    """Drop the tables, or, if `keeps`, move them to a new schema and return its name."""
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


def _one(conn: Connection, statement: str, *given: object) -> tuple[Any, ...]:
    return conn.execute(statement, given).fetchone() or ()
