"""The PostgreSQL server of the tests: its life, its faults, and that none is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.paths import ROOT
from tests.support.postgres_server import PostgresServer

pytestmark = pytest.mark.process

ABANDONED = """
from tests.support.postgres_server import PostgresServer
server = PostgresServer().start()
print(server.running.pid, server.home, flush=True)
input()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as it:
        yield it


def ask(url: str, sql: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(sql.encode()).fetchone()
        return row and row[0]


def run(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def test_the_role_is_a_plain_one_that_owns_its_databases(server: PostgresServer) -> None:
    url = server.clone("owned")
    run(url, "CREATE TABLE t (x INTEGER)")
    assert ask(url, "SHOW is_superuser") == "off"
    assert ask(url, "SHOW server_version_num") >= "180000"  # type: ignore[operator]


def test_a_clone_has_the_rows_of_its_template(server: PostgresServer) -> None:
    run(server.clone("first"), "CREATE TABLE t AS SELECT 7 AS x")
    assert ask(server.clone("second", template="first"), "SELECT x FROM t") == 7


def test_a_dropped_database_is_gone_though_somebody_is_connected(server: PostgresServer) -> None:
    with psycopg.connect(server.clone("busy")):
        server.drop("busy")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(server.url("busy"))


@pytest.mark.parametrize("fault", ["stop", "crash", "kill9"])
def test_what_is_committed_is_there_after_a_fault(fault: str) -> None:
    with PostgresServer() as server:
        url = server.clone("kept")
        run(url, "CREATE TABLE t AS SELECT 7 AS x")
        with psycopg.connect(url) as connection:
            getattr(server, fault)()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        server.start()
        assert ask(url, "SELECT x FROM t") == 7


def test_a_frozen_server_answers_when_it_thaws(server: PostgresServer) -> None:
    server.freeze()
    with pytest.raises(psycopg.errors.ConnectionTimeout):
        psycopg.connect(server.url(), connect_timeout=2)
    server.thaw()
    assert ask(server.url(), "SELECT 1") == 1


def test_a_standby_goes_on_where_its_primary_ended(server: PostgresServer) -> None:
    url = server.clone("followed")
    standby = server.standby()
    with standby:
        run(url, "CREATE TABLE t AS SELECT 7 AS x")
        assert ask(standby.url(), "SELECT pg_is_in_recovery()") is True
        standby.promote()
        assert ask(standby.url(), "SELECT pg_is_in_recovery()") is False


def test_tcp_asks_for_the_password() -> None:
    with PostgresServer(password="correct horse/+%") as server:
        assert ask(server.url(tcp=True), "SELECT 1") == 1
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url(tcp=True), password="wrong")


def test_the_oldest_supported_version_is_there_too() -> None:
    with PostgresServer(version=16) as server:
        assert str(ask(server.url(), "SHOW server_version")).startswith("16.")


def test_a_server_and_its_folder_go_with_the_process_that_made_them() -> None:
    command = [sys.executable, "-c", ABANDONED]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout
        pid, home = parent.stdout.readline().split()
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    left = [Path("/proc", pid), Path(home)]
    while any(path.exists() for path in left) and time.monotonic() < end:
        time.sleep(0.01)
    assert [path for path in left if path.exists()] == []
