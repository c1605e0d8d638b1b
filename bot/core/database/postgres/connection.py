"""One connection to the server: its errors, the types of its values, its statements."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types import none, numeric, string

from bot.core import errors
from bot.core.database import database
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


# Statements and the connection.


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
