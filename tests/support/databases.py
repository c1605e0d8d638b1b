"""Databases of tests, empty and of either engine: copies of a template that the product migrated.

`TEST_DATABASE_URL` names the server whose copies are made, by a role that may create databases;
without it a server from a package is started (tests/support/postgres_server.py).
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bot.core.database.database import Database
from bot.core.database.opening import open_database
from tests.support.postgres_server import PostgresServer
from tests.support.sqlite_engine import sqlite

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
