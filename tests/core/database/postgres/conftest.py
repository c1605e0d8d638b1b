"""A server of its own for these tests, which stop it, and a database that is opened on it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from bot.core.database.postgres.engine import PostgresDatabase, open_postgres
from tests.support.postgres_server import PostgresServer

NUMBERS = count()


@pytest.fixture(scope="package")
def running_server() -> Iterator[PostgresServer]:
    with PostgresServer(password="p:a@s/s?w#0 %") as server:
        open_postgres(server.clone("template")).close()
        yield server


@pytest.fixture
def server(running_server: PostgresServer) -> Iterator[PostgresServer]:
    """Return the server; the next test gets it running, whatever this one did to it."""
    yield running_server
    running_server.thaw()
    if running_server.running.poll() is not None:
        running_server.start()


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    """Return the URL of a new database."""
    name = f"engine_{next(NUMBERS)}"
    yield server.clone(name, "template")
    if server.running.poll() is None:
        server.thaw()
        server.drop(name)


@pytest.fixture
def db(url: str) -> Iterator[PostgresDatabase]:
    database = open_postgres(url)
    yield database
    database.close()
