"""A SQLite file as a `Database`: one writer, a few reader threads, and the check of the disk."""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from bot.core import errors
from bot.core.database import database, migrations, private_files, sqlite_writer, urls

T = TypeVar("T")

READERS = 2
READER_KIB = 500
"""The page cache of a reader: a quarter of SQLite's default, because each commit empties it and the
system caches the file as well."""

PAYMENT_BYTES = 128 * 1024
"""The most bytes that a payment writes: the pages of its rows and their indexes, about 25."""

COMMIT_BYTES = sqlite_writer.MAX_GROUP * 64 * 1024
"""The most bytes that one commit of a full group of payments writes.

Measured: 28 KiB per payment in a small database. A smaller write proves nothing, because it may fit
into the space that a failed commit left in the -wal.
"""


class SqliteDatabase(database.Database):
    """A SQLite file behind one writer and a few reader threads."""

    engine: database.Engine = "sqlite"

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        private_files.make_folder(Path(path).parent)
        private_files.make_file(path)
        self.health = database.Health()
        self._writer = sqlite_writer.Writer(path, _connect(path), self.health, self.wake)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="db-reader")
        self._idle = [_connect(path) for _ in range(READERS)]
        self._loop_reader = _connect(path)
        self._loop_reader.execute("PRAGMA busy_timeout = 0")
        for reader in (*self._idle, self._loop_reader):
            reader.execute(f"PRAGMA cache_size = -{READER_KIB}")
            reader.execute("PRAGMA query_only = ON")
        self._bulks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        small, large = partial(self.probe, PAYMENT_BYTES), partial(self.probe, COMMIT_BYTES)
        self.check = database.StorageCheck(small, large, self.health)

    async def transaction(self, work: Callable[[database.Transaction], T], about: str = "") -> T:  # noqa: ARG002 - PostgreSQL asks
        return await self._enqueue(work, in_thread=False)

    async def bulk(self, work: Callable[[database.Transaction], T], about: str = "") -> T:
        if not about:
            return await self._enqueue(work, in_thread=True)
        # A commit serves all queued transactions: a short one would wait for a whole crowd.
        async with self._bulks.setdefault(about, asyncio.Lock()):
            return await self._enqueue(work, in_thread=True)

    def run(self, work: Callable[[database.Transaction], T]) -> T:
        return self._writer.submit(work).result()

    def in_write_scope(self, name: str, lead: database.WriteLease | None = None) -> SqliteDatabase:  # noqa: ARG002
        """Return this database: its only writer serves every write scope and always leads."""
        return self

    async def read(self, work: Callable[[database.Transaction], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    async def one(self, sql: str, **params: object) -> database.Row | None:
        """Return the row that a key or an index finds in a few steps, or None.

        It is read on the event loop, because switching threads takes ten times as long as reading
        the row. If the file can't be read immediately, a reader thread waits for it.
        """
        try:
            with sqlite_writer.storage_errors():
                return sqlite_writer.SqliteTransaction(self._loop_reader).one(sql, **params)
        except errors.StorageError:
            rows = await self.query(sql, **params)
            return rows[0] if rows else None

    def count_with(self, increment: Callable[..., None]) -> None:
        self._writer.count = increment

    def count(self, name: str, *labels: str) -> None:
        self._writer.count(name, *labels)

    async def probe(self, size: int) -> None:
        """Read, then durably replace the last probe with `size` new bytes. Raises StorageError."""
        await self.query("SELECT 1 AS one")
        filler = secrets.token_hex(size // 2)  # random: a file system could compress anything else

        def fill(tx: database.Transaction) -> None:
            tx.execute("DELETE FROM probe")
            tx.execute("INSERT INTO probe (number, filler) VALUES (1, :filler)", filler=filler)

        await self.bulk(fill)

    def migrate(self) -> bool:
        ran = self.run(migrations.run_missing)
        self._writer.keep_journals_in_memory()
        return ran

    def checkpoint(self) -> None:
        """Move the content of the -wal into the file."""
        self._idle[0].execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._writer.close()
        self._readers.shutdown(wait=True)
        for reader in (*self._idle, self._loop_reader):
            reader.close()

    async def _enqueue(self, work: Callable[[database.Transaction], T], *, in_thread: bool) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._writer.enqueue(work, future, loop, in_thread=in_thread)
        return await future

    def _read(self, work: Callable[[database.Transaction], T]) -> T:
        reader = self._idle.pop()
        try:
            with sqlite_writer.storage_errors():
                return work(sqlite_writer.SqliteTransaction(reader))
        except errors.StorageError as error:
            self.health.failed(str(error))
            raise
        finally:
            self._idle.append(reader)


def open_sqlite(url: str, *, writing: bool = False) -> SqliteDatabase:
    """Open the file of a DATABASE_URL, like `open_database`. Raises ConfigProblem."""
    path = urls.sqlite_path(url)
    urls.refuse_lost_file(path)
    try:
        db = SqliteDatabase(path)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(url, error) from error
    try:
        if db.migrate():
            db.checkpoint()
        if writing:
            db.run(lambda tx: tx.execute(database.TEST_WRITE))
    except (sqlite3.Error, errors.BotError) as error:
        db.close()
        raise _unusable(url, error) from error
    return db


def in_memory(version: int) -> sqlite3.Connection:
    """Return an empty database in memory with the schema of a version; the caller closes it."""
    conn = _connect(":memory:")
    migrations.run_missing(sqlite_writer.SqliteTransaction(conn), version=version)
    return conn


def _unusable(url: str, error: Exception) -> errors.ConfigProblem:
    return errors.ConfigProblem(f"DATABASE_URL: {url} can't be used: {error}")


def _connect(path: str) -> sqlite3.Connection:
    conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("PRAGMA synchronous=FULL")
        conn.execute("PRAGMA foreign_keys=ON")
        conn.execute("PRAGMA secure_delete=ON")
    except sqlite3.Error:
        conn.close()
        raise
    return conn
