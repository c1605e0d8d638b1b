"""Copy the rows of whole tables between a PostgreSQL server and a SQLite file, and compare them."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from graphlib import TopologicalSorter
from hashlib import blake2b
from pathlib import Path
from typing import Any

import psycopg

from bot.core import errors
from bot.core.database import snapshot, sqlite

Connection = psycopg.Connection[tuple[Any, ...]]


# The tables of the schema as data: their columns, and an order in which rows can be inserted.


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
    others = {"migrations", *snapshot.OF_RUNNING_PROCESSES}
    return tuple(found[name] for name in order if name not in others)


def list_tables(version: int) -> frozenset[str]:
    """Return the names of all tables of a version of the schema."""
    with closing(sqlite.in_memory(version)) as conn:
        return frozenset(_names(conn))


def _names(conn: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    return [str(name) for (name,) in conn.execute(sql)]


# Digests of tables, independent of the order of their rows and of the engine.


HASH_BYTES = 16
"""The size of a row's hash."""


@dataclass(slots=True)
class Digest:
    """The number of rows, and the sum of their hashes.

    With an exclusive or instead of a sum, two equal rows would cancel each other out.
    """

    rows: int = 0
    total: int = 0

    def count(self, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
        """Yield the rows, which consist of integers, texts, bytes and nulls, and add each."""
        for row in rows:
            hashed = blake2b(repr(row).encode(), digest_size=HASH_BYTES).digest()
            self.rows += 1
            self.total = (self.total + int.from_bytes(hashed)) % (1 << 8 * HASH_BYTES)
            yield row


def digest(rows: Iterable[tuple[object, ...]]) -> Digest:
    found = Digest()
    deque(found.count(rows), maxlen=0)
    return found


# The check that values of a SQLite file fit into PostgreSQL's columns.
#
# SQLite stores any value in any column, and a file may come from an untrusted source. PostgreSQL's
# own errors would occur in the middle of a COPY, and would not name the column.


SMALL = range(-(2**31), 2**31)
"""The values of PostgreSQL's INTEGER; SQLite's integers have 64 bits."""

FITS: dict[str, Callable[[object], bool]] = {
    "INTEGER": lambda value: type(value) is int and value in SMALL,
    "BIGINT": lambda value: type(value) is int,
    "TEXT": lambda value: type(value) is str and "\0" not in value,
    "BYTEA": lambda value: type(value) is bytes,
}


def check_rows(table: Table, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """Yield the rows. Raises Unreadable at the first value that its column can't hold."""
    checks = [(column, FITS[column.type]) for column in table.columns]
    for row in rows:
        for value, (column, fits) in zip(row, checks, strict=True):
            if value is not None and not fits(value):
                kind = _kind(column, value)  # not the value, which may be payer data
                raise errors.Unreadable(f"{table.name}.{column.name} holds {kind}")
        yield row


def _kind(column: Column, value: object) -> str:
    if isinstance(value, str) and column.type == "TEXT":
        return "a text with a NUL"
    if isinstance(value, int) and column.type == "INTEGER":
        return "a number beyond 32 bits"
    kinds = {int: "a number", float: "a fraction", str: "a text", bytes: "bytes"}
    return f"{kinds[type(value)]} instead of {column.type}"


# Write the rows of a PostgreSQL server into a SQLite file, the format of backups.


def dump(conn: Connection, path: Path, version: int) -> None:
    """Write all rows to the empty file `path` with the schema of `version`; verify the copy.

    They are read from the snapshot of the transaction of `conn`. Raises BotError, and sqlite3.Error
    if the file can't be written.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        with closing(sqlite.in_memory(version)) as empty:
            empty.backup(file)
        file.execute("PRAGMA journal_mode = OFF")
        file.execute("PRAGMA synchronous = OFF")  # `publish` syncs it
        file.execute("BEGIN")
        for table in read_tables(version):
            if _write(conn, file, table) != digest(_rows(file, table)):
                raise errors.BotError(
                    f"{table.name}: what the file holds differs from what was sent"
                )
        file.execute("COMMIT")
        file.execute("PRAGMA journal_mode = DELETE")


def _write(conn: Connection, file: sqlite3.Connection, table: Table) -> Digest:
    found = Digest()
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name} ({table.names}) VALUES ({marks})"  # noqa: S608 - our own names
    file.executemany(insert, found.count(stream(conn, table)))
    return found


def _rows(file: sqlite3.Connection, table: Table) -> sqlite3.Cursor:
    return file.execute(f"SELECT {table.names} FROM {table.name}")  # noqa: S608 - our own names


# Load the rows of a SQLite file into the empty tables of a PostgreSQL server.


CHUNK, CHUNK_OF_BYTES = 1_000, 16
"""Rows that a reader holds at a time; fewer if a table has bytes, such as parts of files."""


def load(conn: Connection, path: Path, tables: tuple[Table, ...]) -> None:
    """Copy the rows of `tables` in this order, and verify the copy.

    They are written in the transaction of `conn`. Raises Unreadable if the server can't hold a
    value, sqlite3.Error if the file can't be read.
    """
    with snapshot.opened(path, snapshot.UNSHARED) as file:
        sent = {table: _copy(conn, file.conn, table) for table in tables}
    for table, expected in sent.items():
        if digest(stream(conn, table)) != expected:
            raise errors.BotError(
                f"{table.name}: what the server stored differs from what it was sent"
            )
        conn.execute(f"ANALYZE {table.name}")


def _copy(conn: Connection, file: sqlite3.Connection, table: Table) -> Digest:
    found = Digest()
    rows = _rows(file, table)
    copy_rows = f"COPY {table.name} ({table.names}) FROM STDIN"
    with closing(rows), conn.cursor() as cursor, cursor.copy(copy_rows) as copy:
        for row in found.count(check_rows(table, rows)):
            copy.write_row(row)
    return found


def stream(conn: Connection, table: Table) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a server's table in any order, with constant memory."""
    sql = f"SELECT {table.names} FROM {table.name}"  # noqa: S608 - our own names
    with conn.cursor() as cursor:
        has_bytes = any(column.type == "BYTEA" for column in table.columns)
        yield from cursor.stream(sql, size=CHUNK_OF_BYTES if has_bytes else CHUNK)
