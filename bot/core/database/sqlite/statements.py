"""Statements on a connection of SQLite: rows as dicts, errors as those of every engine."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from typing import TYPE_CHECKING

from bot.core.database.interface import Transaction
from bot.core.errors import ConstraintError, StorageError

if TYPE_CHECKING:
    from types import TracebackType

    from bot.core.database.interface import Engine, Row

MACHINE_FAULTS = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
}
"""SQLite's primary result codes for faults of the machine (sqlite.org/rescode.html)."""


_NAME = itemgetter(0)
"""Of a column's description (PEP 249)."""


class SqliteTransaction(Transaction):
    """A transaction on the writer's connection, or a read on a reader's."""

    engine: Engine = "sqlite"

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def query(self, sql: str, **params: object) -> list[Row]:
        cursor = self._conn.execute(sql, params)
        rows = cursor.fetchall()  # also ends the statement, as a commit needs
        names = list(map(_NAME, cursor.description))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def execute(self, sql: str, **params: object) -> int:
        cursor = self._conn.execute(sql, params)
        changed = cursor.rowcount
        cursor.close()
        return changed

    def lock(self, sql: str, **params: object) -> None:
        """Lock nothing: while one writer writes, no other does."""


class _StorageErrors:
    """The translation of SQLite's errors, for a `with`: a generator would cost each statement."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, sqlite3.IntegrityError):
            raise ConstraintError(str(error)) from error
        is_fault = isinstance(error, sqlite3.DatabaseError) and (
            getattr(error, "sqlite_errorcode", 0) & 0xFF in MACHINE_FAULTS
        )
        if is_fault:
            raise StorageError(str(error)) from error


_ERRORS = _StorageErrors()


def storage_errors() -> _StorageErrors:
    """Raise StorageError for faults of the machine, ConstraintError for rows that break a rule.

    Other errors are bugs and stay as they are.
    """
    return _ERRORS
