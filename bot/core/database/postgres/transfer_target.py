"""The PostgreSQL schema that a database is copied from or loaded into.

The whole copy is one long transaction: the old tables stay in place until it commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from bot.core import errors
from bot.core.database import database, migrations, urls
from bot.core.database.postgres import connection, server, transactions
from bot.core.database.tables import FILLED_BY_A_START, NUMBERS, list_tables
from bot.core.text import sanitize

Connection = psycopg.Connection[tuple[Any, ...]]

UNLIMITED = ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
"""Limits for the running bot's transactions, which a copy of a whole database would exceed."""

LOCK_TIMEOUT = "2s"
"""If a lock isn't free by then, a process that should have been stopped holds it."""

ROW_CLASSES = ("22", "23")
"""SQLSTATE classes for values and rows that violate the schema."""

LOCKED, FORBIDDEN = "55P03", "42501"


@contextmanager
def open_session(url: str) -> Iterator[Connection]:
    """Open a connection in autocommit mode.

    Raises ConfigProblem if the URL or the server can't be used.
    """
    address = urls.postgres_address(url).url
    try:
        given = psycopg.conninfo.conninfo_to_dict(address)
        missing = {name: value for name, value in server.CONNECTING.items() if name not in given}
        conn = psycopg.connect(address, autocommit=True, prepare_threshold=None, **missing)  # type: ignore[arg-type]
    except psycopg.Error as error:
        text = server.advise(sanitize.line(str(error)))
        raise errors.ConfigProblem(
            f"DATABASE_URL: {urls.safe_url(url)} can't be used: {text}"
        ) from None
    connection.register_loaders(conn.adapters)
    with conn:
        try:
            server.refuse_old(conn.info.server_version)
        except connection.NotConnected as error:
            raise errors.ConfigProblem(
                f"DATABASE_URL: {urls.safe_url(url)} can't be used: {error}"
            ) from None
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
        for name in UNLIMITED:  # lists only settings that the server knows
            conn.execute(
                "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = %s", [name]
            )
        conn.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        yield transactions.PostgresTransaction(connection.Connection(conn, prepares=False))


@contextmanager
def _naming_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _named(error.sqlstate, error.diag.message_primary or str(error)) from None
    except connection.SqlError as error:
        raise _named(error.sqlstate, str(error)) from None


def _named(state: str | None, message: str) -> errors.BotError:
    text = sanitize.line(message)
    if (state or "").startswith(ROW_CLASSES):
        return errors.Unreadable(f"holds data that this program never wrote: {text}")
    if state == LOCKED:
        return errors.BotError("the database is in use: stop the bot everywhere first")
    if state == FORBIDDEN:
        return errors.ConfigProblem(f"DATABASE_URL: its user lacks a right: {text}")
    return errors.StorageError(f"the database can't be used: {text}")


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

    @property
    def strangers(self) -> list[str]:
        """Return the tables that no migration known to this version creates."""
        known = list_tables(self.version) if self.version else frozenset()
        return [] if self.is_newer else sorted(self.tables - known - {NUMBERS})


def examine_target(conn: Connection) -> Target:
    """Read the content of the schema. Raises ConfigProblem if there is no schema."""
    (schema,) = _one(conn, "SELECT current_schema()")
    if schema is None:
        raise errors.ConfigProblem("DATABASE_URL: its search_path names no schema that exists")
    tables = frozenset(str(name) for (name,) in conn.execute(TABLES))
    version = None
    if NUMBERS in tables:
        (version,) = _one(conn, "SELECT MAX(number) FROM migrations")
    return Target(str(schema), tables, version)


def refuse_strangers(found: Target) -> None:
    """Raise BotError if the schema has tables of another program, which would be moved too."""
    if found.strangers:
        raise errors.BotError(
            f"the table {found.schema}.{found.strangers[0]} is not ours: give the bot a database"
            " or a schema of its own"
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
    for name in sorted(target.tables - FILLED_BY_A_START):
        rows = conn.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name)))
        if rows.fetchone() is not None:
            return True
    return False


def lock_target(conn: Connection, target: Target) -> None:
    """Lock the tables against every other session until the transaction ends."""
    for name in sorted(target.tables):
        conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(name)))


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


def _one(conn: Connection, statement: LiteralString, *given: object) -> tuple[Any, ...]:
    return conn.execute(statement, given).fetchone() or ()
