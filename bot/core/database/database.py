"""The database: one writer, a few readers, plain SQL.

Work that belongs together is a function of a `Transaction`; the one writer runs
it (see core/database/writer.py), so it commits whole or not at all, and no other process
can slip between its reads and its writes. Statements take named parameters
(`:name`) and stay portable between SQLite and PostgreSQL.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from sqlite_utils import Database as SqliteUtils

from bot.core.database import private_files
from bot.core.database.schema import migrations
from bot.core.database.writer import LoopCaller, Row, Transaction, Writer, storage_errors
from bot.core.errors import ConfigProblem, StorageError
from bot.core.health import Health

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Database", "Row", "Transaction", "open_database", "sqlite_path"]

T = TypeVar("T")

READERS = 2
STORE_RETRY_SECONDS = 0.5
"""Seconds between tries of what has to be written down."""

WRITE = "UPDATE migrations SET number = number WHERE number = 1"
"""Changes nothing, and yet reaches the disk when it is committed."""


class Database:
    """A SQLite file behind one writer thread and a few reader threads."""

    def __init__(self, path: str) -> None:
        self.path = path
        private_files.make_folder(Path(path).parent)
        private_files.make_file(path)
        self.health = Health("database not usable", "database usable again")
        self._writer = Writer(path, _connect(path), self.health)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="db-reader")
        self._idle = [_connect(path) for _ in range(READERS)]
        for reader in self._idle:
            reader.conn.execute("PRAGMA query_only = ON")
        self._glance = _connect(path)
        self._glance.conn.execute("PRAGMA query_only = ON")
        self._glance.conn.execute("PRAGMA busy_timeout = 0")
        self._listeners: dict[str, list[asyncio.Event]] = defaultdict(list)

    async def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one durable transaction; whatever it raises undoes it all.

        Raises StorageError where the machine does not let us, then nothing is stored.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._writer.ask(work, LoopCaller(loop, future, self._wake_all))
        return await future

    def count_with(self, increment: Callable[..., None]) -> None:
        """Call `increment(name, *labels)` for each count, from the writer's thread too."""
        self._writer.count = increment

    def count(self, name: str, *labels: str) -> None:
        """Increment a counter of /metrics now; `Transaction.count` waits for the commit."""
        self._writer.count(name, *labels)

    async def probe(self, size: int) -> None:
        """Store `size` bytes and sync them, in place of those stored before.

        Raises StorageError where that can't be done.
        """
        filler = secrets.token_hex(size // 2)  # nothing that a file system could compress
        await self.transaction(partial(_fill, filler=filler))

    async def transaction_until_stored(self, work: Callable[[Transaction], T]) -> T:
        """As `transaction`, but wait out a database that can't be used: for what came of a call.

        Who gives up here forgets it, and the call would be made again.
        """
        while True:
            try:
                return await self.transaction(work)
            except StorageError:
                await asyncio.sleep(STORE_RETRY_SECONDS)

    async def query(self, sql: str, **params: object) -> list[Row]:
        """All rows of a SELECT, read beside the writer."""
        return await self.read(lambda tx: tx.query(sql, **params))

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work`, which only reads, beside the writer: it sees what is committed."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    async def one(self, sql: str, **params: object) -> Row | None:
        """Give the row that a key names or an index finds in a few steps, or None.

        What looks through rows is for `query`.

        Read at once, on the event loop: to ask a reader's thread takes ten times as long as the
        row. Only where the file can't be read just now a thread waits for it, and says so.
        """
        try:
            with storage_errors():
                return Transaction(self._glance).one(sql, **params)
        except StorageError:
            rows = await self.query(sql, **params)
            return rows[0] if rows else None

    def listen(self, topic: str) -> asyncio.Event:
        """Give an event that is set whenever a commit wakes `topic`; clear it oneself."""
        event = asyncio.Event()
        self._listeners[topic].append(event)
        return event

    def wake(self, topic: str) -> None:
        """Set the events of `topic`; only from the event loop's thread."""
        for event in self._listeners[topic]:
            event.set()

    def _wake_all(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.wake(topic)

    def migrate(self) -> bool:
        """Bring the schema to this version, whether it was behind.

        Safe beside another process that does it too.
        """
        made = [
            self.run(partial(_migrate, number=number, statements=statements))
            for number, statements in enumerate(migrations.MIGRATIONS, start=1)
        ]
        return any(made)

    def checkpoint(self) -> None:
        """Bring what is in the -wal into the file, that it is no empty shell without it."""
        self._idle[0].conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def run(self, work: Callable[[Transaction], T]) -> T:
        """`transaction` for code without an event loop: the commands, the start."""
        return self._writer.submit(work).result()

    def close(self) -> None:
        """Let what is under way finish, then close every connection; wait for nobody's lock."""
        self._writer.close()
        self._readers.shutdown(wait=True)
        for db in (*self._idle, self._glance):
            db.conn.close()

    def _read(self, work: Callable[[Transaction], T]) -> T:
        db = self._idle.pop()
        try:
            with storage_errors():
                return work(Transaction(db))
        except StorageError as error:
            self.health.failed(str(error))
            raise
        finally:
            self._idle.append(db)


def open_database(url: str, *, writing: bool = False) -> Database:
    """Open the database of `DATABASE_URL` and bring its schema up to date.

    Who is going to be `writing` all the time is told at once where nothing can be written.

    Raises ConfigProblem where the URL is none of ours or the file can't be used.
    """
    path = sqlite_path(url)
    _see_whole(path)
    try:
        database = Database(path)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(url, error) from error
    try:
        if database.migrate():
            database.checkpoint()
        if writing:
            database.run(_write)
    except (sqlite3.Error, StorageError) as error:
        database.close()
        raise _unusable(url, error) from error
    return database


def in_memory(version: int) -> sqlite3.Connection:
    """Return an empty database in memory with the schema of a version; the caller closes it."""
    made = _connect(":memory:")
    for number, statements in enumerate(migrations.MIGRATIONS[:version], start=1):
        _migrate(Transaction(made), number, statements)
    return made.conn


def sqlite_path(url: str) -> str:
    """Give the file of `sqlite:///relative` or `sqlite:////absolute`; else ConfigProblem."""
    parts = urlsplit(url)
    path = unquote(parts.path[1:])
    if parts.scheme != "sqlite" or parts.netloc or path in {"", ":memory:"}:
        raise ConfigProblem(
            "DATABASE_URL: write sqlite:///data/bot.db or sqlite:////an/absolute/path"
        )
    return path


def _see_whole(path: str) -> None:
    """Make no new file where an old one's newest data lies: SQLite would throw that away.

    Raises ConfigProblem.
    """
    file, log = Path(path), Path(path + "-wal")
    is_gone = not file.exists() or file.stat().st_size == 0
    if is_gone and log.exists() and log.stat().st_size > 0:
        raise ConfigProblem(
            f"DATABASE_URL: {path} is gone, but {log.name} beside it holds its newest data:"
            " put the file back there"
        )


def _unusable(url: str, error: Exception) -> ConfigProblem:
    return ConfigProblem(f"DATABASE_URL: {url} can't be used: {error}")


def _connect(path: str) -> SqliteUtils:
    conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("PRAGMA synchronous=FULL")
        conn.execute("PRAGMA foreign_keys=ON")
    except sqlite3.Error:
        conn.close()
        raise
    return SqliteUtils(conn)


def _fill(tx: Transaction, filler: str) -> None:
    tx.execute("DELETE FROM probe")
    tx.execute("INSERT INTO probe (number, filler) VALUES (1, :filler)", filler=filler)


def _write(tx: Transaction) -> None:
    tx.execute(WRITE)


def _migrate(tx: Transaction, number: int, statements: tuple[str, ...]) -> bool:
    tx.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
    if tx.one("SELECT number FROM migrations WHERE number = :number", number=number):
        return False
    for statement in statements:
        tx.execute(statement)
    tx.execute("INSERT INTO migrations (number) VALUES (:number)", number=number)
    return True
