"""Connections to the server: errors, values, statements; connections made, watched and given up.

When a connection is lost, all others are presumed lost too. A server is refused if its timeline is
lower than the highest known timeline: it was restarted with older data, or it is a standby that was
promoted without the newest commits.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types import none, numeric, string

from bot.core import errors
from bot.core.database import database, urls
from bot.core.text import sanitize

T = TypeVar("T")

# Classes of errors: retry, unusable now, a broken rule, or a bug. The class follows from the
# SQLSTATE, never from the text, which is in the server's language.


CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
"""The server rolled back one of several transactions that blocked each other."""

OUT_OF_DATE = (
    psycopg.errors.FeatureNotSupported,  # "cached plan must not change result type"
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)
"""Errors after which the prepared statements of a connection can't be used any more."""

OVERTAKEN = (psycopg.errors.UniqueViolation, psycopg.errors.ForeignKeyViolation, *OUT_OF_DATE)
"""Another transaction may have been faster, and the next run sees its changes."""

UNUSABLE = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.ReadOnlySqlTransaction,  # a standby, or a primary that no longer accepts changes
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.TransactionTimeout,
    psycopg.errors.IoError,
)
UNUSABLE_STATES = ("08", "53", "57", "XX")
"""SQLSTATE classes: connection lost; out of disk, memory or connections; cancelled or shut down;
damaged."""

FATAL = ("FATAL", "PANIC")
"""Errors after which the server ends the connection."""


class SqlError(Exception):
    """A bug in a statement. The message has no details of the server, which quote row values."""


def is_lost(error: psycopg.Error) -> bool:
    """True if the connection is lost: the server ended it, or libpq has no answer and no SQLSTATE.

    Wrong statements and values that psycopg refuses have no SQLSTATE either.
    """
    if error.sqlstate is None:
        return not isinstance(error, psycopg.ProgrammingError | psycopg.DataError)
    return error.diag.severity_nonlocalized in FATAL


def is_storage(error: psycopg.Error) -> bool:
    """True if the machine failed, not the statement."""
    is_unusable = isinstance(error, UNUSABLE) or (error.sqlstate or "").startswith(UNUSABLE_STATES)
    return is_unusable or is_lost(error)


def describe(error: Exception) -> str:
    """Return the text of an error in one line, without the server's details, which quote rows."""
    if not isinstance(error, psycopg.Error):
        return str(error)
    text = sanitize.line(error.diag.message_primary or str(error))
    return f"{text} ({error.sqlstate})" if error.sqlstate else text


def translated(error: psycopg.Error) -> errors.BotError | SqlError:
    """Return the error that callers of the database know; a bug is a SqlError."""
    if is_storage(error) or isinstance(error, CONFLICTS):
        return errors.StorageError(describe(error))
    if isinstance(error, psycopg.IntegrityError):
        return errors.ConstraintError(describe(error))
    return SqlError(describe(error))


# The types of our columns, which have the same values as on SQLite.


class BoolLoader(Loader):
    """Loads a comparison as 1 or 0."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


def _known_types() -> AdaptersMap:
    """Return only the types that SQLite has too, so that any other value is an error.

    A whole number is a bigint, whatever its size: each size would be another prepared statement.
    """
    known = AdaptersMap(types=psycopg.adapters.types)
    known.register_dumper(type(None), none.NoneDumper)
    known.register_dumper(str, string.StrDumper)
    known.register_dumper(int, numeric.Int8Dumper)
    known.register_dumper(float, numeric.FloatDumper)
    for kind in (bytes, bytearray, memoryview):
        known.register_dumper(kind, string.BytesDumper)
        known.register_dumper(kind, string.BytesBinaryDumper)
    known.register_loader(0, string.TextLoader)  # of all other types
    for name in ("int2", "int4", "int8", "numeric"):  # a SUM of bigints is a numeric
        known.register_loader(name, numeric.IntLoader)
    for name in ("float4", "float8"):
        known.register_loader(name, numeric.FloatLoader)
    known.register_loader("bool", BoolLoader)
    known.register_loader("bytea", string.ByteaLoader)
    return known


TYPES = _known_types()


# One connection, and its statements.


TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | :: | :([a-z_][a-z_0-9]*)""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
"""A parameter, or another token that may contain a colon."""

MOST_KNOWN = 2000
"""The most cached translations: the program has about 400 statements, some of varying length."""


@lru_cache(MOST_KNOWN)
def translate(sql: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with `$1`, `$2`, … instead of `:name`, and the names in this order."""
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        return names.setdefault(name, f"${len(names) + 1}") if name else found[0]

    return TOKEN.sub(number, sql), tuple(names)


ANSWER_SECONDS = 12.0
"""The longest wait for an answer: the server itself ends a statement after ten seconds.

A suspended server or a hanging proxy still acknowledges packets, so no TCP time-out ends the wait.
"""

NEVER = float("inf")


class Connection:
    """A connection that one thread uses, with a time limit for answers; another may `shut` it."""

    def __init__(self, conn: psycopg.Connection[Any], patience: float = ANSWER_SECONDS) -> None:
        self.conn, self._patience = conn, patience
        self._cursor = psycopg.RawCursor(conn, row_factory=dict_row)
        self.begin = ""
        """The statements that begin a transaction."""
        self.until = NEVER
        """The time (monotonic) by which the awaited answer must arrive."""
        self.timeline: str | None = None
        """The server's timeline, hexadecimal; None if unknown."""
        self.generation = 0
        """Once a connection is lost, other connections of its generation are no longer trusted."""

    def execute(
        self, sql: str, params: Mapping[str, object] | None = None, *, prepare: bool | None = None
    ) -> psycopg.RawCursor[database.Row]:
        """Run a statement, or without `params` and unprepared several in one round trip.

        The rows must be read before the next statement. Raises psycopg.Error.
        """
        values = None
        if params is not None:
            sql, names = translate(sql)
            values = [params[name] for name in names]
        return self._answer(lambda: self._cursor.execute(sql, values, prepare=prepare))

    def commit(self) -> None:
        """Commit the transaction. Raises psycopg.Error."""
        if self.conn.info.transaction_status == TransactionStatus.INERROR:
            raise psycopg.errors.InFailedSqlTransaction(
                "a transaction went on after an error, and was rolled back"
            )
        self._answer(self.conn.commit)

    def roll_back(self) -> None:
        """Roll back the transaction, if there is one."""
        with suppress(psycopg.Error):
            self._answer(self.conn.rollback)

    def shut(self) -> None:
        """Stop the connection's thread from waiting for an answer; call it from any thread."""
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self.conn.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, and roll back its transaction."""
        self.conn.close()

    def _answer(self, ask: Callable[[], T]) -> T:
        self.until = time.monotonic() + self._patience
        try:
            return ask()
        finally:
            self.until = NEVER


# The server, and all connections to it.


CONNECTING: dict[str, Any] = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",
    "client_encoding": "utf8",
    "application_name": "paylink-bot",
}
"""Default parameters of libpq, which the URL may override."""

OLDEST = 160_000
"""The oldest tested version (PostgreSQL 16), as servers report it; version 15 rejects some of our
statements."""

MOST_PREPARED = 1000
"""Prepared statements per connection, each for one combination of parameter types."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"

LIMITS = {
    "lock_timeout": "5s",
    "statement_timeout": "10s",
    "idle_in_transaction_session_timeout": "3s",
    "client_connection_check_interval": "2s",
    "transaction_timeout": "10s",
}
"""Limits that the server enforces, to free the locks of a hanging replica."""

WITH_TRANSACTION_TIMEOUT = 170_000
"""The version that introduced it."""

ONE_PLAN = {"plan_cache_mode": "force_generic_plan"}
"""One plan for each statement, whatever its parameters: the plan that the tests check."""

DURABLE = (
    "SELECT CASE current_setting('synchronous_commit') WHEN 'off'"
    " THEN set_config('synchronous_commit', 'on', {is_local}) END"
)
"""A role may have it switched off, so that a crash of the server would lose commits."""

TIMELINE = """
SELECT CAST(system_identifier AS TEXT) AS system,
  SUBSTR(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline
FROM pg_control_system()
"""
"""The server's data directory and its timeline (hexadecimal), a prefix of the current WAL file's
name. The checkpoint would still have the former timeline for a second or more after a promotion."""

AWAY_SECONDS = 3.0
"""How long the server counts as away after a failed attempt to connect."""

WATCH_SECONDS = 0.5
"""The time between two checks for late answers."""


class NotConnected(errors.StorageError):
    """No connection to the server can be made now."""


def connect(url: str) -> psycopg.Connection[Any]:
    """Open a connection in autocommit mode. Raises psycopg.Error and NotConnected."""
    params = make_conninfo(**(CONNECTING | conninfo_to_dict(url)))
    made = psycopg.connect(params, autocommit=True, context=TYPES)
    made.prepared_max = MOST_PREPARED
    if (version := made.info.server_version) < OLDEST:
        made.close()
        raise NotConnected(
            f"PostgreSQL {version // 10_000} is too old: upgrade the server to"
            f" {OLDEST // 10_000} or later"
        )
    return made


class Server:
    """Makes connections, and watches them."""

    def __init__(self, address: urls.Address) -> None:
        """Raise ConfigProblem if libpq can't read the address; the error doesn't quote it."""
        try:
            conninfo_to_dict(address.url)
        except psycopg.ProgrammingError:
            raise urls.unreadable() from None
        self._url = address.url
        self.is_pooled = address.is_pooled
        self.count: Callable[..., None] = database.count_nothing
        """Counts opened, lost and refused connections."""
        self._generation = 0
        self._timelines: dict[str, str] = {}
        self._refused_at, self._refusal = float("-inf"), ""
        self._open: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self.closing = threading.Event()
        threading.Thread(target=self._watch, name="db-watcher", daemon=True).start()

    def connect(self, *, reads: bool = False, patience: float = ANSWER_SECONDS) -> Connection:
        """Return a new connection that waits `patience` s for answers. Raises NotConnected."""
        if self.closing.is_set():
            raise RuntimeError("the database is closed")
        made = None
        try:
            made = connect(self._url)
            if self.is_pooled:
                made.prepare_threshold = None
            opened = Connection(made, patience)
            with self._lock:
                opened.generation = self._generation
                self._open.add(opened)
            self._check_timeline(opened)
            self._limit(opened, reads=reads)
        except (psycopg.Error, NotConnected) as error:
            if made is not None:
                made.close()
            self._refused_at, self._refusal = time.monotonic(), describe(error)
            self.count("database_connections", "refused")
            raise NotConnected(self._refusal) from None
        self._refused_at = float("-inf")
        self.count("database_connections", "opened")
        return opened

    def check_presence(self) -> None:
        """Raise NotConnected if the last attempt failed recently."""
        if time.monotonic() - self._refused_at < AWAY_SECONDS:
            raise NotConnected(self._refusal)

    def lost(self, lost: Connection) -> None:
        """Close a lost connection: connections of its generation are no longer trusted."""
        lost.close()
        with self._lock:
            self._generation = max(self._generation, lost.generation + 1)
        self.count("database_connections", "lost")

    def trusts(self, opened: Connection) -> bool:
        """Return whether a connection can be used, as far as we know."""
        return not opened.conn.closed and opened.generation == self._generation

    def close(self) -> None:
        """Stop watching, refuse new connections, and end every wait for an answer."""
        self.closing.set()
        with self._lock:
            waiting = list(self._open)
        for one in waiting:
            one.shut()

    def _watch(self) -> None:
        while not self.closing.wait(WATCH_SECONDS):
            with self._lock:
                late = [one for one in self._open if one.until < time.monotonic()]
            for one in late:
                one.shut()

    def _check_timeline(self, opened: Connection) -> None:
        try:
            (row,) = opened.execute(TIMELINE).fetchall()
        except psycopg.Error as error:
            if is_storage(error):
                raise
            return  # the provider forbids the query, or the server is a standby
        name, number = row["system"], row["timeline"]
        opened.timeline = number
        with self._lock:
            highest = self._timelines.get(name, "")
            self._timelines[name] = max(highest, number)
        if number < highest:
            raise NotConnected(
                f"the server is on timeline {int(number, 16)}, but {int(highest, 16)} was seen"
                " before: this is a former primary"
            )

    def _limit(self, opened: Connection, *, reads: bool) -> None:
        """Limit what a connection may do: behind a pooler at the beginning of each transaction."""
        opened.begin = f"{BEGIN} READ ONLY" if reads else BEGIN
        settings, scope = dict(LIMITS), "LOCAL " if self.is_pooled else ""
        if reads or opened.conn.info.server_version < WITH_TRANSACTION_TIMEOUT:
            del settings["transaction_timeout"]
        if not self.is_pooled:
            settings |= ONE_PLAN | ({"default_transaction_read_only": "on"} if reads else {})
        commands = [f"SET {scope}{name} = '{value}'" for name, value in settings.items()]
        commands.append(DURABLE.format(is_local="true" if self.is_pooled else "false"))
        if self.is_pooled:
            opened.begin = "; ".join([opened.begin, *commands])
        else:
            opened.execute("; ".join(commands), prepare=False)
