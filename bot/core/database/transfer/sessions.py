"""A connection to a PostgreSQL server for one long transaction, and its errors as our own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from bot.core.database.postgres import loaders
from bot.core.database.postgres.advice import advise
from bot.core.database.postgres.connection import Connection as EngineConnection
from bot.core.database.postgres.faults import NotConnected, SqlError
from bot.core.database.postgres.server import CONNECTING, refuse_old
from bot.core.database.postgres.transactions import PostgresTransaction
from bot.core.database.urls import postgres_address, safe_url
from bot.core.errors import BotError, ConfigProblem, StorageError, Unreadable
from bot.core.text import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bot.core.database.interface import Transaction

Connection = psycopg.Connection[tuple[Any, ...]]

UNLIMITED = ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
"""Limits of the running bot's transactions that a copy of a whole database exceeds."""

LOCK_TIMEOUT = "2s"
"""A lock that is not free by then is held by a process that should have been stopped."""

ROW_CLASSES = ("22", "23")
"""SQLSTATE classes of values and rows that break a rule of the schema."""

LOCKED, FORBIDDEN = "55P03", "42501"


@contextmanager
def opened(url: str) -> Iterator[Connection]:
    """Open a connection that begins no transaction by itself.

    Raises ConfigProblem where the URL or the server can't be used.
    """
    address = postgres_address(url).url
    given = psycopg.conninfo.conninfo_to_dict(address)
    missing = {name: value for name, value in CONNECTING.items() if name not in given}
    try:
        conn = psycopg.connect(address, autocommit=True, prepare_threshold=None, **missing)  # type: ignore[arg-type]
    except psycopg.Error as error:
        text = advise(sanitize.line(str(error)))
        raise ConfigProblem(f"DATABASE_URL: {safe_url(url)} can't be used: {text}") from None
    loaders.register(conn.adapters)
    with conn:
        try:
            refuse_old(conn.info.server_version)
        except NotConnected as error:
            raise ConfigProblem(f"DATABASE_URL: {safe_url(url)} can't be used: {error}") from None
        yield conn


def vacuum(url: str, tables: Iterable[str]) -> None:
    """Make the room of deleted rows free to be written over, while others use the tables.

    Raises BotError.
    """
    with opened(url) as conn, _naming_errors():
        if not postgres_address(url).is_pooled:  # a pooler would give the setting to others
            conn.execute("SET statement_timeout = 0")
        for name in tables:
            conn.execute(sql.SQL("VACUUM {}").format(sql.Identifier(name)))


@contextmanager
def transaction(conn: Connection, *, read_only: bool = False) -> Iterator[Transaction]:
    """Begin a transaction that may take long, of one snapshot if `read_only`; then commit it.

    Raises BotError for the server's errors. Details of these are left out: they quote rows, which
    hold payers' data.
    """
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ if read_only else None
    conn.read_only = read_only
    with _naming_errors(), conn.transaction():
        for name in UNLIMITED:  # only servers that know a setting list it
            conn.execute(
                "SELECT set_config(name, '0', true) FROM pg_settings WHERE name = %s", [name]
            )
        conn.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        yield PostgresTransaction(EngineConnection(conn, prepares=False))


@contextmanager
def _naming_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _named(error.sqlstate, error.diag.message_primary or str(error)) from None
    except SqlError as error:
        raise _named(error.sqlstate, str(error)) from None


def _named(state: str | None, message: str) -> BotError:
    text = sanitize.line(message)
    if (state or "").startswith(ROW_CLASSES):
        return Unreadable(f"holds data that this program never wrote: {text}")
    if state == LOCKED:
        return BotError("the database is in use: stop the bot everywhere first")
    if state == FORBIDDEN:
        return ConfigProblem(f"DATABASE_URL: its user lacks a right: {text}")
    return StorageError(f"the database can't be used: {text}")
