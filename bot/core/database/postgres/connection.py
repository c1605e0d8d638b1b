"""One connection to the server: its statements, values, rows and errors.

Errors are classified by their SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html), never
by their text, which is in the server's language.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import psycopg
from psycopg.adapt import AdaptersMap, Loader, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus

from bot.core import errors
from bot.core.database import database

if TYPE_CHECKING:
    from psycopg.abc import Buffer
    from psycopg.pq.abc import PGresult


# Classes of server errors: retry, unusable now, a broken rule, or a bug.


CONFLICTS = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the server rolled back one of several transactions that
blocked each other."""

OVERTAKEN = frozenset({"23505", "23503", "0A000", "26000", "42P05"})
"""A duplicate key, a missing row, an outdated prepared statement: another transaction may have been
faster, and the next run sees its changes."""

OUT_OF_DATE = frozenset({"0A000", "26000", "42P05"})
"""The subset of errors after which a connection discards its prepared statements."""

ABORTED = "25P02"
"""A statement in a transaction that an error has already ended."""

READ_ONLY = "25006"
"""A change at a standby, or at a primary that no longer accepts changes."""

UNUSABLE = frozenset({"55P03", READ_ONLY, "25P03", "25P04", "57014", "58030", "08P01"})
"""Lock not available, read-only, idle or open for too long, cancelled, an I/O error, and a pooler
without a free connection."""

UNUSABLE_CLASSES = frozenset({"08", "53", "57", "XX"})
"""Connection lost; out of disk, memory or connections; shut down; damaged."""


class NotConnected(errors.StorageError):
    """No connection to the server can be made now."""


class SqlError(Exception):
    """An error that the server returned, or a lost connection (without `sqlstate`).

    The message is the server's, without the details, which quote row values.
    """

    def __init__(self, message: str, sqlstate: str | None = None, *, is_lost: bool = False) -> None:
        super().__init__(f"{message} ({sqlstate})" if sqlstate else message)
        self.sqlstate = sqlstate
        self.is_lost = is_lost

    @property
    def is_storage(self) -> bool:
        """True if the machine failed, not the statement."""
        state = self.sqlstate or ""
        return self.is_lost or state in UNUSABLE or state[:2] in UNUSABLE_CLASSES


def translated(error: SqlError) -> errors.BotError | SqlError:
    """Return the error that callers of the database know; a bug stays a SqlError."""
    if error.is_storage or error.sqlstate in CONFLICTS:
        return errors.StorageError(str(error))
    if (error.sqlstate or "")[:2] == "23":
        return errors.ConstraintError(str(error))
    return error


# Loaders that return the same values as SQLite.


class NumberLoader(Loader):
    """Loads a whole numeric as an int, because the SUM of bigints is a numeric."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        try:
            return int(text)
        except ValueError:
            return float(text)


class BoolLoader(Loader):
    """Loads a comparison as 1 or 0."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


def register_loaders(adapters: AdaptersMap) -> None:
    """Make a connection use these loaders."""
    adapters.register_loader("numeric", NumberLoader)
    adapters.register_loader("bool", BoolLoader)


# Statements and their parameters as PostgreSQL takes them: `$1` for `:name`, typed values.


TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | :: | :([a-z_][a-z_0-9]*)""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
"""A parameter, or another token that may contain a colon."""

MOST_KNOWN = 2000
"""The most cached translations: the program has about 400 statements, some of varying length."""

BYTEA, BIGINT, TEXT, DOUBLE = 17, 20, 25, 701
UNKNOWN = 0
"""Type numbers from the catalogue pg_type; the server infers the type of a NULL."""

AS_TEXT, AS_BYTES = 0, 1


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as PostgreSQL takes it."""

    text: bytes
    names: tuple[str, ...]
    """The parameters, in the order of their numbers."""
    is_read: bool
    """True if the statement changes nothing."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a statement's parameters."""

    values: list[bytes | None]
    types: tuple[int, ...]
    formats: list[int] | None
    """None if all values are text."""


@lru_cache(MOST_KNOWN)
def translate(sql: str) -> Statement:
    """Return a statement with `$1`, `$2`, … instead of `:name` parameters."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    text = TOKEN.sub(number, sql)
    return Statement(text.encode(), tuple(names), sql.lstrip()[:6].upper() == "SELECT")


def bind(names: tuple[str, ...], params: Mapping[str, object]) -> Values:
    """Return the values of the named parameters; `params` may contain others.

    Raises ValueError for text with a NUL character, which PostgreSQL can't store.
    """
    values: list[bytes | None] = []
    types: list[int] = []
    has_bytes = False
    for name in names:
        value = params[name]
        if isinstance(value, str):
            if "\0" in value:
                raise ValueError(f"the text of :{name} contains NUL")
            values.append(value.encode())
            types.append(TEXT)
        elif isinstance(value, int):
            values.append(b"%d" % value)
            types.append(BIGINT)
        elif value is None:
            values.append(None)
            types.append(UNKNOWN)
        elif isinstance(value, float):
            values.append(repr(value).encode())
            types.append(DOUBLE)
        elif isinstance(value, bytes | bytearray | memoryview):
            values.append(bytes(value))
            types.append(BYTEA)
            has_bytes = True
        else:
            raise TypeError(f":{name} can't be a {type(value).__name__}")
    formats = [AS_BYTES if one == BYTEA else AS_TEXT for one in types] if has_bytes else None
    return Values(values, tuple(types), formats)


# The connection.


ANSWER_SECONDS = 12.0
"""The longest wait for an answer: the server itself ends a statement after ten seconds.

A suspended server or a hanging proxy still acknowledges packets, so no TCP time-out ends the wait.
"""

MOST_PREPARED = 1000
"""Prepared statements per connection, each for one combination of parameter types."""

ANSWERED = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.EMPTY_QUERY)
FATAL = (b"FATAL", b"PANIC")
"""Errors after which the server ends the connection; libpq's own errors have no SQLSTATE."""

NEVER = float("inf")


class Connection:
    """A connection that one thread uses; another thread may `shut` it.

    Prepared statements are kept until the connection is closed, even after a rollback. Behind a
    pooler, no statements are prepared.
    """

    def __init__(
        self, conn: psycopg.Connection, *, prepares: bool = True, patience: float = ANSWER_SECONDS
    ) -> None:
        self._conn, self._libpq = conn, conn.pgconn
        self._transformer = Transformer(conn)
        self._prepares, self._patience = prepares, patience
        self._prepared: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self.until = NEVER
        """The time (monotonic) by which the awaited answer must arrive."""
        self.timeline: str | None = None
        """The server's timeline, hexadecimal; None if unknown."""
        self.generation = 0
        """Once a connection is lost, other connections of its generation are no longer trusted."""

    @property
    def is_lost(self) -> bool:
        return self._libpq.status != ConnStatus.OK

    @property
    def backend(self) -> int:
        """Return the process id of the server's process for this connection."""
        return self._libpq.backend_pid

    def fileno(self) -> int:
        """Return the socket's file handle."""
        return self._conn.fileno()

    def notifications(self) -> list[tuple[int, str]]:
        """Return the payloads of received NOTIFYs with the senders' pids. Raises SqlError."""
        found = []
        try:
            self._libpq.consume_input()
            while received := self._libpq.notifies():
                found.append((received.be_pid, received.extra.decode()))
        except psycopg.Error as error:
            raise self._lost(error) from None
        return found

    @property
    def server_version(self) -> int:
        """Return the server's version as a number, such as 180004."""
        return self._libpq.server_version

    def command(self, sql: bytes) -> PGresult:
        """Run statements without parameters in one round trip; return the last result."""
        self.until = time.monotonic() + self._patience
        try:
            return self._checked(self._libpq.exec_(sql))
        except psycopg.Error as error:
            raise self._lost(error) from None
        finally:
            self.until = NEVER

    def execute(self, sql: str, params: Mapping[str, object]) -> PGresult:
        """Run a statement. Raises SqlError."""
        statement = translate(sql)
        bound = bind(statement.names, params)
        self.until = time.monotonic() + self._patience
        try:
            if self._prepares:
                name = self._prepared_name(statement.text, bound.types)
                result = self._libpq.exec_prepared(name, bound.values, bound.formats)  # type: ignore[arg-type] # None is NULL
            else:
                result = self._libpq.exec_params(
                    statement.text, bound.values, bound.types, bound.formats
                )
            return self._checked(result)
        except psycopg.Error as error:
            raise self._lost(error) from None
        finally:
            self.until = NEVER

    def rows(self, result: PGresult) -> list[database.Row]:
        number = result.ntuples
        if not number:
            return []
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        self._transformer.set_pgresult(result)
        found = self._transformer.load_rows(0, number, tuple)
        return [dict(zip(names, row, strict=True)) for row in found]

    def roll_back(self) -> None:
        """Roll back the transaction, if there is one."""
        if self._libpq.transaction_status != TransactionStatus.IDLE:
            with suppress(SqlError):
                self.command(b"ROLLBACK")

    def forget_statements(self) -> None:
        """Delete all prepared statements, because their plans are out of date."""
        self._prepared.clear()
        with suppress(SqlError):
            self.command(b"DEALLOCATE ALL")

    def shut(self) -> None:
        """Stop the connection's thread from waiting for an answer; call it from any thread."""
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._conn.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, and roll back its transaction."""
        self._conn.close()

    def _prepared_name(self, text: bytes, types: tuple[int, ...]) -> bytes:
        name = self._prepared.get((text, types))
        if name is None:
            if len(self._prepared) >= MOST_PREPARED:
                self.forget_statements()
            name = b"s%d" % len(self._prepared)
            self._checked(self._libpq.prepare(name, text, types))
            self._prepared[text, types] = name
        return name

    def _checked(self, result: PGresult) -> PGresult:
        if result.status in ANSWERED:
            return result
        message = result.error_field(DiagnosticField.MESSAGE_PRIMARY)
        state = result.error_field(DiagnosticField.SQLSTATE)
        severity = result.error_field(DiagnosticField.SEVERITY_NONLOCALIZED)
        raise SqlError(
            _text(message or result.error_message or b"no answer"),
            state.decode() if state else None,
            is_lost=state is None or severity in FATAL,
        )

    def _lost(self, error: psycopg.Error) -> SqlError:
        return SqlError(str(error).strip() or type(error).__name__, is_lost=True)


def _text(message: bytes) -> str:
    return " ".join(message.decode(errors="replace").split())
