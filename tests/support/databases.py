"""Databases of tests, empty and of either engine: copies of a template that the product migrated.

`TEST_DATABASE_URL` names the server whose copies are made, by a role that may create databases;
without it a server from a package is started (tests/support/postgres_server.py).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bot.core.database.database import Database, Row, Transaction
from bot.core.database.opening import open_database
from bot.core.database.postgres.engine import PostgresDatabase
from bot.core.database.sqlite import SqliteDatabase
from tests.support.postgres_server import PostgresServer


def sqlite(db: Database) -> SqliteDatabase:
    assert isinstance(db, SqliteDatabase)
    return db


def open_in(folder: Path) -> Database:
    """Open the database in a folder; where there is none, an empty one."""
    path = folder / "bot.db"
    if not path.exists():
        copy_empty(path)
    database = open_database(f"sqlite:///{path}")
    sqlite(database)._writer._conn.execute("PRAGMA synchronous = OFF")
    return database


def copy_empty(path: Path) -> Path:
    path.write_bytes(_empty_file())
    return path


@cache
def _empty_file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bot.db"
        open_database(f"sqlite:///{path}").close()
        return path.read_bytes()


SQLITE, POSTGRESQL = "sqlite", "postgresql"
ENGINES = (SQLITE, POSTGRESQL)
TABLES = {
    SQLITE: "SELECT name FROM sqlite_schema WHERE type = 'table'",
    POSTGRESQL: "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
}
MOST_UNUSED = 10


class PostgresDatabases:
    """Makes databases on a server; `url` names one of it that is left as it is."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._numbers = count()
        self._unused: deque[str] = deque()
        self._admin = psycopg.connect(url, autocommit=True)
        self._template = self._create("template0")
        open_database(self._url(self._template)).close()

    def new(self) -> str:
        """Return the URL of a new database without rows."""
        return self._url(self._create(self._template))

    def bare(self) -> str:
        """Return the URL of a new database without tables."""
        return self._url(self._create("template0"))

    def drop(self, url: str) -> None:
        """Drop a database, later: while a backend ends, the server waits in steps of 100 ms."""
        self._unused.append(urlsplit(url).path[1:])
        if len(self._unused) > MOST_UNUSED:
            self._drop(self._unused.popleft())

    def close(self) -> None:
        for name in (*self._unused, self._template):
            self._drop(name)
        self._admin.close()

    def _create(self, template: str) -> str:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    def _drop(self, name: str) -> None:
        try:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")
        except psycopg.errors.InsufficientPrivilege:  # of an autovacuum worker, which gives way
            self._run(f"DROP DATABASE {name}")

    def _run(self, statement: str) -> None:
        self._admin.execute(statement.encode())

    def _url(self, name: str) -> str:
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()


@contextmanager
def postgres_databases() -> Iterator[PostgresDatabases]:
    """Make databases on the server of `TEST_DATABASE_URL`, else on one that ends with the block."""
    with ExitStack() as stack:
        given = os.environ.get("TEST_DATABASE_URL")
        url = given or stack.enter_context(PostgresServer(autovacuum="off")).url()
        yield stack.enter_context(closing(PostgresDatabases(url)))


def open_quick(url: str) -> Database:
    """Open a database whose commits don't wait for the disk: no test cuts the power."""
    database = open_database(url)
    if urlsplit(url).scheme == SQLITE:
        sqlite(database)._writer._conn.execute("PRAGMA synchronous = OFF")
    return database


async def text_of(db: Database) -> str:
    """Return every value of the whole database, one a line."""
    values = [
        value
        for table in await db.query(TABLES[db.engine])
        for row in await db.query(f"SELECT * FROM {table['name']}")
        for value in row.values()
    ]
    return "\n".join(map(str, values))


def rows(url: str, sql: str) -> list[Any]:
    """Return the rows of a SELECT, read from outside of the product."""
    if urlsplit(url).scheme == SQLITE:
        with closing(sqlite3.connect(Path(url.removeprefix("sqlite:///")))) as connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(url) as server:
        return server.execute(sql.encode()).fetchall()


WRITABLE = "-c default_transaction_read_only=off"
NAME = "SELECT current_database()"
OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def make_read_only(db: Database) -> None:
    _set(db, "on")


def make_writable(db: Database) -> None:
    _set(db, "off")


def _set(db: Database, value: str) -> None:
    if db.engine == SQLITE:
        writer = sqlite(db)._writer
        writer._thread.submit(lambda: writer._conn.execute(f"PRAGMA query_only={value}")).result()
    else:
        _set_on_server(db, value)  # type: ignore[arg-type]  # told by its engine


def _set_on_server(db: PostgresDatabase, value: str) -> None:
    """Do what a provider does when the disk is nearly full: connections begin anew."""
    with psycopg.connect(db.url, options=WRITABLE, autocommit=True) as server:
        ((name,),) = server.execute(NAME).fetchall()
        server.execute(
            f'ALTER DATABASE "{name}" SET default_transaction_read_only = {value}'.encode()
        )
        server.execute(OTHERS)


SECONDS = 10.0


async def listening(db: Database, *topics: str) -> list[asyncio.Event]:
    """Return the events of topics, unset; nobody may have listened before.

    PostgreSQL wakes everybody when it begins to listen, because notifications may have been missed.
    """
    events = [db.listen(topic) for topic in topics]
    if db.engine == POSTGRESQL:
        async with asyncio.timeout(SECONDS):
            await events[0].wait()  # a later one may have come after that
        for event in events:
            event.clear()
    return events


PUT = "INSERT INTO kept_secrets (name, sealed) VALUES (:name, '')"


def put(tx: Transaction, name: str) -> str:
    tx.execute(PUT, name=name)
    return name


def fail(tx: Transaction, name: str) -> None:
    tx.execute(PUT, name=name)
    raise LookupError(name)


def orphan(tx: Transaction) -> None:
    """Make the commit fail: a deferred foreign key is checked last."""
    tx.execute("PRAGMA defer_foreign_keys = ON")
    tx.execute(
        "INSERT INTO received_payments"
        " (request_id, transaction_id, listing_id, amount, currency, body, received_at)"
        " VALUES ('r', 't', 'nobody', 1, 'USD', '{}', 0)"
    )


def there(db: Database) -> list[str]:
    """Return what is stored, read from outside."""
    with closing(sqlite3.connect(sqlite(db).path)) as other:
        return [name for (name,) in other.execute("SELECT name FROM kept_secrets ORDER BY name")]


class PausedWriter:
    """A writer whose thread is held, so that transactions come to it as one group."""

    def __init__(self, db: Database) -> None:
        self._release = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._db = db
        self.statements: list[str] = []

    async def together(self, *asked: Awaitable[object]) -> list[object]:
        """Start all of them at once; return each result or exception."""
        thread, conn = sqlite(self._db)._writer._thread, sqlite(self._db)._writer._conn
        go = thread.submit(self._wait)
        tasks = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0)  # each has been submitted
        conn.set_trace_callback(self.statements.append)
        self._release.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        conn.set_trace_callback(None)
        await asyncio.wrap_future(go)
        return list(found)

    def _wait(self) -> None:
        asyncio.run_coroutine_threadsafe(self._release.wait(), self._loop).result()

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")


class CountedTransaction(Transaction):
    """A transaction that keeps the texts of its statements, of locks only where there are any."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__()
        self._tx, self.engine = tx, tx.engine
        self.texts: list[str] = []

    def query(self, sql: str, **params: object) -> list[Row]:
        self.texts.append(sql)
        return self._tx.query(sql, **params)

    def execute(self, sql: str, **params: object) -> int:
        self.texts.append(sql)
        return self._tx.execute(sql, **params)

    def lock(self, sql: str, **params: object) -> None:
        if self.engine != "sqlite":
            self.texts.append(sql)
        self._tx.lock(sql, **params)


def statements_of(work: Callable[[Transaction], Any]) -> Callable[[Transaction], list[str]]:
    """Return work that does the same, and returns the texts of its statements."""

    def run(tx: Transaction) -> list[str]:
        counted = CountedTransaction(tx)
        work(counted)
        return counted.texts

    return run
