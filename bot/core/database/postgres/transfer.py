"""Copy whole databases between a PostgreSQL server and a SQLite file, and compare the copies."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from bot.core import errors
from bot.core.database import database, inspection, migrations, sqlite, timelines, urls
from bot.core.database.postgres import migrating, transfer_target

NO_DATABASE = "DATABASE_URL: there is no database yet: start the bot once or fix the URL"

OTHER_VERSION = (
    "DATABASE_URL: the database has the schema of another version: run this with the version that"
    " ran last"
)


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


def check_rows(
    table: inspection.Table, rows: Iterable[tuple[object, ...]]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows. Raises Unreadable at the first value that its column can't hold."""
    checks = [(column, FITS[column.type]) for column in table.columns]
    for row in rows:
        for value, (column, fits) in zip(row, checks, strict=True):
            if value is not None and not fits(value):
                kind = _kind(column, value)  # not the value, which may be payer data
                raise errors.Unreadable(f"{table.name}.{column.name} holds {kind}")
        yield row


def _kind(column: inspection.Column, value: object) -> str:
    if isinstance(value, str) and column.type == "TEXT":
        return "a text with a NUL"
    if isinstance(value, int) and column.type == "INTEGER":
        return "a number beyond 32 bits"
    kinds = {int: "a number", float: "a fraction", str: "a text", bytes: "bytes"}
    return f"{kinds[type(value)]} instead of {column.type}"


# Write the rows of a PostgreSQL server into a SQLite file, the format of backups.


def dump(conn: transfer_target.Connection, path: Path, version: int) -> None:
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
        for table in inspection.read_tables(version):
            if _write(conn, file, table) != digest(_rows(file, table)):
                raise errors.BotError(
                    f"{table.name}: what the file holds differs from what was sent"
                )
        file.execute("COMMIT")
        file.execute("PRAGMA journal_mode = DELETE")


def _write(
    conn: transfer_target.Connection, file: sqlite3.Connection, table: inspection.Table
) -> Digest:
    found = Digest()
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name} ({table.names}) VALUES ({marks})"  # noqa: S608 - our own names
    file.executemany(insert, found.count(stream(conn, table)))
    return found


def _rows(file: sqlite3.Connection, table: inspection.Table) -> sqlite3.Cursor:
    return file.execute(f"SELECT {table.names} FROM {table.name}")  # noqa: S608 - our own names


# Load the rows of a SQLite file into the empty tables of a PostgreSQL server.


CHUNK, CHUNK_OF_BYTES = 1_000, 16
"""Rows that a reader holds at a time; fewer if a table has bytes, such as parts of files."""


def load(
    conn: transfer_target.Connection, path: Path, tables: tuple[inspection.Table, ...]
) -> None:
    """Copy the rows of `tables` in this order, and verify the copy.

    They are written in the transaction of `conn`. Raises Unreadable if the server can't hold a
    value, sqlite3.Error if the file can't be read.
    """
    with inspection.opened(path, "mode=ro&immutable=1") as file:
        sent = {table: _copy(conn, file.conn, table) for table in tables}
    for table, expected in sent.items():
        if digest(stream(conn, table)) != expected:
            raise errors.BotError(
                f"{table.name}: what the server stored differs from what it was sent"
            )
        conn.execute(f"ANALYZE {table.name}")


def _copy(
    conn: transfer_target.Connection, file: sqlite3.Connection, table: inspection.Table
) -> Digest:
    found = Digest()
    rows = _rows(file, table)
    copy_rows = f"COPY {table.name} ({table.names}) FROM STDIN"
    with closing(rows), conn.cursor() as cursor, cursor.copy(copy_rows) as copy:
        for row in found.count(check_rows(table, rows)):
            copy.write_row(row)
    return found


def stream(
    conn: transfer_target.Connection, table: inspection.Table
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a server's table in any order, with constant memory."""
    sql = f"SELECT {table.names} FROM {table.name}"  # noqa: S608 - our own names
    with conn.cursor() as cursor:
        has_bytes = any(column.type == "BYTEA" for column in table.columns)
        yield from cursor.stream(sql, size=CHUNK_OF_BYTES if has_bytes else CHUNK)


# Operations of commands on a server's database.


def back_up(url: str, path: Path) -> None:
    """Copy a snapshot of a server's database into the empty file `path`.

    The database can be used meanwhile. Raises BotError.
    """
    with (
        transfer_target.open_session(url) as conn,
        transfer_target.session_transaction(conn, read_only=True),
    ):
        found = transfer_target.examine_target(conn)
        if found.version is None:
            raise errors.BotError(NO_DATABASE)
        if found.is_newer:
            raise errors.BotError(
                f"DATABASE_URL: was migrated by a newer version (schema {found.version}, this one"
                f" knows {len(migrations.MIGRATIONS)}): back up with that one"
            )
        dump(conn, path, found.version)


@dataclass(slots=True)
class Destination:
    """An unused schema of a server, to load a database into."""

    conn: transfer_target.Connection
    found: transfer_target.Target
    has_data: bool
    beats: migrating.Beats

    def load(self, path: Path, stamp: str) -> str | None:
        """Replace the tables of the schema by the rows of a file, in one transaction.

        Return the schema that the former tables were moved to, which has `stamp` in its name; None
        if they held no data. Raises BotError; nothing is changed then.
        """
        with transfer_target.session_transaction(self.conn) as tx:
            tx.execute(migrating.ONE_AT_A_TIME)
            transfer_target.lock_target(self.conn, self.found)
            migrating.refuse_changed(self.beats, _read_beats(self.conn))
            aside = transfer_target.clear_target(self.conn, self.found, stamp, keeps=self.has_data)
            migrating.migrate(tx)
            load(self.conn, path, inspection.read_tables(len(migrations.MIGRATIONS)))
            timelines.accept(tx)
        return aside


@contextmanager
def open_destination(url: str, embedded: str, refusal: str | None) -> Iterator[Destination]:
    """Open a server's schema to load a database into; `embedded` is as for `holds_data`.

    Raises BotError if replicas are alive. If there is data, raises BotError with the advice
    `refusal`; without a `refusal` the data is moved aside.
    """
    with transfer_target.open_session(url) as conn:
        found = transfer_target.examine_target(conn)
        transfer_target.refuse_strangers(found)
        has_data = transfer_target.holds_data(conn, found, embedded)
        if has_data and refusal:
            raise errors.BotError(f"{urls.safe_url(url)}: holds data: {refusal}")
        beats = migrating.refuse_while_beating(lambda: _read_beats(conn))
        yield Destination(conn, found, has_data, beats)


@contextmanager
def open_in_place(url: str) -> Iterator[database.Transaction]:
    """Begin a transaction in an unused database of a server.

    Raises BotError if replicas are alive.
    """
    with transfer_target.open_session(url) as conn:
        found = transfer_target.examine_target(conn)
        if found.version != len(migrations.MIGRATIONS):
            raise errors.BotError(NO_DATABASE if found.version is None else OTHER_VERSION)
        beats = migrating.refuse_while_beating(lambda: _read_beats(conn))
        with transfer_target.session_transaction(conn) as tx:
            transfer_target.lock_target(conn, found)
            migrating.refuse_changed(beats, _read_beats(conn))
            yield tx


def forget_processes(tx: database.Transaction) -> None:
    """Delete the rows about processes, which are all gone; a former lead finds a new term."""
    tx.execute("DELETE FROM replicas")
    for table in ("leads", "slices"):
        tx.execute(f"UPDATE {table} SET owner = '', term = term + 1")  # noqa: S608 - our own names


def _read_beats(conn: transfer_target.Connection) -> migrating.Beats:
    """Return the beat of every replica; empty if there is no table yet."""
    exists = conn.execute("SELECT to_regclass('replicas') IS NOT NULL").fetchone()
    if not exists or not exists[0]:
        return {}
    return dict(conn.execute("SELECT owner, beat FROM replicas").fetchall())
