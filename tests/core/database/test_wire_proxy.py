"""The proxy before PostgreSQL: what a client sees of a lost COMMIT, a stall and a cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.support.postgres_server import PostgresServer
from tests.support.wire_proxy import WireProxy

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as it:
        with psycopg.connect(it.clone("behind")) as connection:
            connection.execute("CREATE TABLE t (x BIGINT)")
        yield it


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[WireProxy]:
    with WireProxy(server) as it:
        yield it
    with psycopg.connect(server.url("behind")) as connection:
        connection.execute("TRUNCATE t")


def kept(proxy: WireProxy) -> int:
    with psycopg.connect(proxy.server.url("behind")) as connection:
        row = connection.execute("SELECT COUNT(*) FROM t").fetchone()
        assert row
        return int(row[0])


def plain(connection: psycopg.Connection[Any]) -> None:
    connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()


def prepared(connection: psycopg.Connection[Any]) -> None:
    connection.autocommit = True
    for statement in (b"BEGIN", b"INSERT INTO t VALUES (1)", b"COMMIT"):
        connection.execute(statement, prepare=True)


WAYS = pytest.mark.parametrize("commit", [plain, prepared])


@WAYS
def test_a_commit_passes(
    proxy: WireProxy, commit: Callable[[psycopg.Connection[Any]], None]
) -> None:
    with psycopg.connect(proxy.url("behind")) as connection:
        commit(connection)
    assert (kept(proxy), proxy.asked, proxy.answered) == (1, 1, 1)


@WAYS
@pytest.mark.parametrize(("fault", "rows"), [("eat_commit", 1), ("cut_commit", 0)])
def test_a_client_cannot_tell_a_lost_answer_from_a_lost_commit(
    proxy: WireProxy,
    commit: Callable[[psycopg.Connection[Any]], None],
    fault: str,
    rows: int,
) -> None:
    setattr(proxy, fault, lambda number: number == 1)
    connection = psycopg.connect(proxy.url("behind"))
    with pytest.raises(psycopg.OperationalError) as lost:
        commit(connection)
    assert connection.broken
    assert lost.value.sqlstate is None
    assert kept(proxy) == rows
    assert (proxy.eaten, proxy.cut) == (rows, 1 - rows)


def test_a_stalled_connection_stays_open_and_goes_on(proxy: WireProxy) -> None:
    with psycopg.connect(proxy.url("behind")) as connection:
        proxy.stall()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(proxy.url("behind"), connect_timeout=2)
        proxy.flow()
        plain(connection)
    assert kept(proxy) == 1


def test_dropped_and_refused_connections_are_broken(proxy: WireProxy) -> None:
    connection = psycopg.connect(proxy.url("behind"))
    proxy.refusing = True
    proxy.drop_all()
    with pytest.raises(psycopg.OperationalError):
        plain(connection)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.url("behind"))


def test_each_trip_takes_the_delay_twice(proxy: WireProxy) -> None:
    with psycopg.connect(proxy.url("behind"), autocommit=True) as connection:
        proxy.delay = 0.05
        began = time.monotonic()
        connection.execute("SELECT 1")
        assert time.monotonic() - began >= 0.1
        proxy.delay = 0.0
