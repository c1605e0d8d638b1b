"""The database: one writer, a few readers, plain SQL.

A transaction is a function of a `Transaction`, run by the one writer (see core/database/writer.py):
it commits whole or not at all, and no other process writes between its reads and its writes.
Statements take named parameters (`:name`) and stay portable between SQLite and PostgreSQL.
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
from urllib.parse import quote, unquote, urlsplit

from bot.core.database import private_files
from bot.core.database.schema import migrations
from bot.core.database.writer import LoopCaller, Row, Transaction, Writer, storage_errors
from bot.core.errors import BotError, ConfigProblem, StorageError
from bot.core.health import Health

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Database", "Row", "Transaction", "open_database", "sqlite_path"]

T = TypeVar("T")

READERS = 2
STORE_RETRY_SECONDS = 0.5
"""Seconds between attempts of `transaction_until_stored`."""

TEST_WRITE = "UPDATE migrations SET number = number WHERE number = 1"
"""A statement that changes nothing, and yet reaches the disk when it is committed."""


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
        self._loop_reader = _connect(path)
        self._loop_reader.execute("PRAGMA busy_timeout = 0")
        for reader in (*self._idle, self._loop_reader):
            reader.execute("PRAGMA query_only = ON")
        self._listeners: dict[str, list[asyncio.Event]] = defaultdict(list)

    async def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one durable transaction; an exception of it rolls everything back.

        Raises StorageError where the machine fails (a lock, a full disk); then nothing is stored.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._writer.enqueue(work, future, LoopCaller(loop, self.wake))
        return await future

    def count_with(self, increment: Callable[..., None]) -> None:
        """Set the function that counts: `increment(name, *labels)`, called from any thread."""
        self._writer.count = increment

    def count(self, name: str, *labels: str) -> None:
        """Increment a counter of /metrics now; `Transaction.count` waits for the commit."""
        self._writer.count(name, *labels)

    async def probe(self, size: int) -> None:
        """Write `size` bytes to the disk, in place of those of the last probe.

        Raises StorageError where the machine fails.
        """
        filler = secrets.token_hex(size // 2)  # random: a file system could compress anything else
        await self.transaction(partial(_fill, filler=filler))

    async def transaction_until_stored(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as `transaction` does, again and again until the database can be used.

        For the outcome of a call to another server: if it were lost, the call would be repeated.
        """
        while True:
            try:
                return await self.transaction(work)
            except StorageError:
                await asyncio.sleep(STORE_RETRY_SECONDS)

    async def query(self, sql: str, **params: object) -> list[Row]:
        """Return all rows of a SELECT, read beside the writer."""
        return await self.read(lambda tx: tx.query(sql, **params))

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work`, which only reads, beside the writer; it sees committed data alone."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    async def one(self, sql: str, **params: object) -> Row | None:
        """Return the row that a key or an index finds in a few steps, or None.

        Statements that scan rows are for `query`. This one runs on the event loop, since a change
        of threads takes ten times as long as the row; where the file can't be read at once, a
        reader's thread waits for it.
        """
        try:
            with storage_errors():
                return Transaction(self._loop_reader).one(sql, **params)
        except StorageError:
            rows = await self.query(sql, **params)
            return rows[0] if rows else None

    def listen(self, topic: str) -> asyncio.Event:
        """Return an event that each commit that wakes `topic` sets; the caller clears it."""
        event = asyncio.Event()
        self._listeners[topic].append(event)
        return event

    def wake(self, topic: str) -> None:
        """Set the events of `topic`; only from the event loop's thread."""
        for event in self._listeners[topic]:
            event.set()

    def migrate(self) -> bool:
        """Run the migrations that the database has not seen; return whether there were any.

        Safe while another process does the same.
        """
        ran = [
            self.run(partial(_migrate, number=number, statements=statements))
            for number, statements in enumerate(migrations.MIGRATIONS, start=1)
        ]
        return any(ran)

    def checkpoint(self) -> None:
        """Move the content of the -wal into the file."""
        self._idle[0].execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction from code without an event loop: commands, the start."""
        return self._writer.submit(work).result()

    def close(self) -> None:
        """Finish transactions under way, then close every connection; wait for no lock."""
        self._writer.close()
        self._readers.shutdown(wait=True)
        for reader in (*self._idle, self._loop_reader):
            reader.close()

    def _read(self, work: Callable[[Transaction], T]) -> T:
        reader = self._idle.pop()
        try:
            with storage_errors():
                return work(Transaction(reader))
        except StorageError as error:
            self.health.failed(str(error))
            raise
        finally:
            self._idle.append(reader)


def open_database(url: str, *, writing: bool = False) -> Database:
    """Open the database of `DATABASE_URL` and run its missing migrations.

    With `writing`, a test write finds out at once whether the file can be written. Raises
    ConfigProblem where the URL or the file can't be used.
    """
    path = sqlite_path(url)
    _refuse_lost_file(path)
    try:
        database = Database(path)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(url, error) from error
    try:
        if database.migrate():
            database.checkpoint()
        if writing:
            database.run(lambda tx: tx.execute(TEST_WRITE))
    except (sqlite3.Error, StorageError) as error:
        database.close()
        raise _unusable(url, error) from error
    return database


def in_memory(version: int) -> sqlite3.Connection:
    """Return an empty database in memory with the schema of a version; the caller closes it."""
    conn = _connect(":memory:")
    for number, statements in enumerate(migrations.MIGRATIONS[:version], start=1):
        _migrate(Transaction(conn), number, statements)
    return conn


def sqlite_path(url: str) -> str:
    """Return the path of `sqlite:///relative` or `sqlite:////absolute`. Raises ConfigProblem."""
    parts = urlsplit(url)
    path = unquote(parts.path[1:])
    if parts.scheme != "sqlite" or parts.netloc or path in {"", ":memory:"}:
        raise ConfigProblem(
            "DATABASE_URL: write sqlite:///data/bot.db or sqlite:////an/absolute/path"
        )
    return path


def existing_file(url: str) -> Path:
    """Return the database file of a DATABASE_URL. Raises BotError where there is none."""
    path = Path(sqlite_path(url))
    _refuse_lost_file(str(path))
    if not path.is_file():
        raise BotError(
            f"DATABASE_URL: there is no database at {path}: start the bot once or fix the path"
        )
    return path


def url_of(path: Path) -> str:
    """Return the DATABASE_URL of a file."""
    return f"sqlite:///{quote(str(path))}"


def _refuse_lost_file(path: str) -> None:
    """Raise ConfigProblem where a -wal lies without its file: SQLite would delete its data."""
    file, log = Path(path), Path(path + "-wal")
    is_gone = not file.exists() or file.stat().st_size == 0
    if is_gone and log.exists() and log.stat().st_size > 0:
        raise ConfigProblem(
            f"DATABASE_URL: {path} is missing, but {log.name} beside it holds its newest data:"
            " put the file back there"
        )


def _unusable(url: str, error: Exception) -> ConfigProblem:
    return ConfigProblem(f"DATABASE_URL: {url} can't be used: {error}")


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


def _fill(tx: Transaction, filler: str) -> None:
    tx.execute("DELETE FROM probe")
    tx.execute("INSERT INTO probe (number, filler) VALUES (1, :filler)", filler=filler)


def _migrate(tx: Transaction, number: int, statements: tuple[str, ...]) -> bool:
    tx.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
    if tx.one("SELECT number FROM migrations WHERE number = :number", number=number):
        return False
    for statement in statements:
        tx.execute(statement)
    tx.execute("INSERT INTO migrations (number) VALUES (:number)", number=number)
    return True
