"""The database: one writer, a few readers, plain SQL.

Work that belongs together is a function of a `Transaction`; the one writer runs
it inside BEGIN IMMEDIATE, so it commits whole or not at all, and no other
process can slip between its reads and its writes. Statements take named
parameters (`:name`) and stay portable between SQLite and PostgreSQL.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from sqlite_utils import Database as SqliteUtils

from bot.core import schema
from bot.core.errors import ConfigProblem, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bot.core.schema import Step

T = TypeVar("T")
Row = dict[str, Any]

BUSY_TIMEOUT_SECONDS = 10
READERS = 2
TROUBLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}
"""SQLite's primary result codes that are no fault of ours (sqlite.org/rescode.html)."""


class Transaction:
    """One transaction under way; valid only inside the function it was given to."""

    def __init__(self, db: SqliteUtils) -> None:
        self._conn = db.conn
        self.woken: set[str] = set()

    def query(self, sql: str, **params: object) -> list[Row]:
        """All rows of a SELECT or of a statement with RETURNING, as dicts."""
        with closing(self._conn.execute(sql, params)) as cursor:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def one(self, sql: str, **params: object) -> Row | None:
        """Give the first row, or None."""
        rows = self.query(sql, **params)
        return rows[0] if rows else None

    def execute(self, sql: str, **params: object) -> int:
        """Run a statement; the number of rows that it changed."""
        with closing(self._conn.execute(sql, params)) as cursor:
            return cursor.rowcount

    def wake(self, topic: str) -> None:
        """Wake who listens to `topic` once this transaction is committed."""
        self.woken.add(topic)


class Database:
    """A SQLite file behind one writer thread and a few reader threads."""

    def __init__(self, path: str) -> None:
        self.path = path
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="db-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="db-reader")
        self._write = self._writer.submit(_connect, path).result()
        self._idle = [_connect(path) for _ in range(READERS)]
        self._listeners: dict[str, list[asyncio.Event]] = defaultdict(list)

    async def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as one durable transaction; whatever it raises undoes it all."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._commit, loop, work)

    async def query(self, sql: str, **params: object) -> list[Row]:
        """All rows of a SELECT, read beside the writer."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._select, sql, params)

    async def one(self, sql: str, **params: object) -> Row | None:
        """Give the first row of a SELECT, or None."""
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

    def migrate(self) -> None:
        """Bring the schema to this version; safe beside another process that does it too."""
        for number, steps in enumerate(schema.MIGRATIONS, start=1):
            self.run(partial(_migrate, number=number, steps=steps))

    def run(self, work: Callable[[Transaction], T]) -> T:
        """`transaction` for code without an event loop: the commands, the start."""
        return self._writer.submit(_run, self._write, work).result()[0]

    def close(self) -> None:
        """Let what is under way finish, then close every connection."""
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        for db in (self._write, *self._idle):
            db.conn.close()

    def _commit(self, loop: asyncio.AbstractEventLoop, work: Callable[[Transaction], T]) -> T:
        """Wake from here, so that it happens though nobody should wait for the result any more."""
        result, woken = _run(self._write, work)
        for topic in woken:
            loop.call_soon_threadsafe(self.wake, topic)
        return result

    def _select(self, sql: str, params: dict[str, object]) -> list[Row]:
        db = self._idle.pop()
        try:
            with _told_apart():
                return Transaction(db).query(sql, **params)
        finally:
            self._idle.append(db)


def open_database(url: str) -> Database:
    """Open the database of `DATABASE_URL` and bring its schema up to date.

    Raises ConfigProblem where the URL is none of ours or the file can't be used.
    """
    path = sqlite_path(url)
    try:
        database = Database(path)
    except (sqlite3.Error, OSError) as error:
        raise _unusable(url, error) from error
    try:
        database.migrate()
    except (sqlite3.Error, StorageError) as error:
        database.close()
        raise _unusable(url, error) from error
    return database


def sqlite_path(url: str) -> str:
    """Give the file of `sqlite:///relative` or `sqlite:////absolute`; else ConfigProblem."""
    parts = urlsplit(url)
    path = unquote(parts.path[1:])
    if parts.scheme != "sqlite" or parts.netloc or path in {"", ":memory:"}:
        raise ConfigProblem(
            "DATABASE_URL: write sqlite:///data/bot.db or sqlite:////an/absolute/path"
        )
    return path


def _unusable(url: str, error: Exception) -> ConfigProblem:
    return ConfigProblem(f"DATABASE_URL: {url} can't be used: {error}")


def _connect(path: str) -> SqliteUtils:
    conn = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("PRAGMA synchronous=FULL")
        conn.execute("PRAGMA foreign_keys=ON")
    except sqlite3.Error:
        conn.close()
        raise
    return SqliteUtils(conn)


def _run(db: SqliteUtils, work: Callable[[Transaction], T]) -> tuple[T, set[str]]:
    tx = Transaction(db)
    with _told_apart():
        db.conn.execute("BEGIN IMMEDIATE")
        try:
            result = work(tx)
            db.conn.execute("COMMIT")
        except BaseException:
            if db.conn.in_transaction:
                db.conn.execute("ROLLBACK")
            raise
    return result, tx.woken


@contextmanager
def _told_apart() -> Iterator[None]:
    """Raise StorageError for what is the machine's trouble; the rest is a bug and stays one."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in TROUBLE:
            raise StorageError(str(error)) from error
        raise


def _migrate(tx: Transaction, number: int, steps: tuple[Step, ...]) -> None:
    tx.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
    if tx.one("SELECT number FROM migrations WHERE number = :number", number=number):
        return
    for step in steps:
        if isinstance(step, str):
            tx.execute(step)
        else:
            step(tx)
    tx.execute("INSERT INTO migrations (number) VALUES (:number)", number=number)
