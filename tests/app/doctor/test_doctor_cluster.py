"""The doctor at a real PostgreSQL server, with replicas that beat, and with faults planted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any, cast

import psycopg
import pytest

from bot import config
from bot.app.doctor import database_checks
from bot.app.doctor.database_checks import CONNECTIONS
from bot.app.doctor.examination import examine
from bot.app.doctor.findings import Finding, Installation
from bot.app.resources import digest_settings, open_vault
from bot.config import Settings
from bot.core import clock
from bot.core.database.opening import open_database
from bot.core.database.postgres import checks, engine
from bot.core.database.postgres.connection import Connection, Server
from bot.core.database.urls import Address
from bot.core.replicas.membership import HeartbeatTimeouts, ReplicaInfo
from bot.core.replicas.replica import BeatingReplica
from tests.support.databases import PostgresDatabases, rows
from tests.support.postgres_server import PostgresServer


class PooledConnection:
    """A client's connection to a pooler, which hands out the one that was free last."""

    def __init__(self, pool: list[Connection]) -> None:
        self._pool = pool
        self._held: Connection | None = None

    def execute(self, sql: str, **how: Any) -> Any:
        connection = self._held or self._pool.pop()
        self._held = connection if sql.startswith("BEGIN") else self._held
        try:
            return connection.execute(sql, **how)
        finally:
            if self._held is None:
                self._pool.append(connection)

    def roll_back(self) -> None:
        if self._held is not None:
            self._held.roll_back()
            self._pool.append(self._held)
            self._held = None


pytestmark = pytest.mark.process

PASSWORD = "correct-horse"
QUICK = HeartbeatTimeouts(beat=0.05, lead=2.0, gone=3.0)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(password=PASSWORD, fsync="on") as it:
        url = it.clone("started")
        with closing(open_database(url)) as database:
            open_vault(loaded(url), database)
        yield it


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_checks, "LISTEN_SECONDS", 0.5)
    monkeypatch.setattr(engine, "OWN_SECONDS", 0.5)


@pytest.fixture
def url(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"db{abs(hash(request.node.name))}"
    server.clone(name, template="started")
    yield server.url(name, tcp=True)
    server.drop(name)


def loaded(url: str, **given: Any) -> Settings:
    return config.load(database_url=url, secret_key="the same for all", **given)


@asynccontextmanager
async def replica(url: str, role: str = "all") -> AsyncIterator[BeatingReplica]:
    """Run a replica, which leads if its role lets it and nobody else does."""
    database = engine.open_postgres(url)
    known = ReplicaInfo(role, "1.0", 1, digest_settings(loaded(url)))
    one = BeatingReplica(database, known, clock.now, QUICK)
    try:
        await one.start()
        if role != "api":
            await asyncio.wait_for(one.join_election("chat").won(), 10)
        yield one
    finally:
        await one.stop()
        database.close()


async def examined_database(url: str, now: Callable[[], int] = clock.now) -> Sequence[Finding]:
    return (await asyncio.to_thread(database_checks.read, Installation(loaded(url), now))).database


async def examined(url: str, now: Callable[[], int] = clock.now) -> dict[str, Finding]:
    """Return the findings about the database and its replicas, of which each name has one."""
    found = await examined_database(url, now)
    assert len({one.name for one in found}) == len(found), found
    assert PASSWORD not in repr(found)
    return {one.name: one for one in found}


def admin(server: PostgresServer, url: str, *statements: str) -> None:
    database = url.rpartition("/")[2]
    with psycopg.connect(server.url(database, user="postgres"), autocommit=True) as connection:
        for one in statements:
            connection.execute(one.encode())


async def test_a_sound_cluster_has_nothing_to_fix(url: str) -> None:
    async with replica(url) as one, replica(url, "api") as other:
        found = await examined(url)
    assert [finding.ok for finding in found.values()] == [True, True]
    assert found["database"].text.startswith(f"{url.replace(':' + PASSWORD, '')}: PostgreSQL 18.")
    assert ", timeline 1, " in found["database"].text
    told = found["replicas"].text
    assert told.startswith("2 are running")
    assert f"{one.owner}  all, version 1.0" in told
    assert f"{other.owner}  api, version 1.0" in told
    assert told.count("leads in term 1") == 1


async def test_the_whole_examination_has_no_check_of_files_and_no_password(url: str) -> None:
    found = await examine(loaded(url, bot_token=None))
    assert {"database", "replicas"} <= {one.name for one in found}
    assert "disk" not in {one.name for one in found}
    assert PASSWORD not in repr(found)


async def test_a_recovery_that_was_not_marked_is_told_with_the_command(
    server: PostgresServer, url: str
) -> None:
    admin(server, url, "DELETE FROM timelines", "INSERT INTO timelines VALUES ('another', 1)")
    found = await examined(url)
    assert not found["timeline"].ok
    assert "run restore --in-place" in found["timeline"].text


async def test_a_killed_replica_is_found_before_the_others_forget_it(
    server: PostgresServer, url: str
) -> None:
    async with replica(url):
        admin(
            server, url,
            "INSERT INTO replicas (owner, beat, role, version, migration, settings, started_at)"
            " VALUES ('killed', 7, 'all', '1.0', 1, '{}', 0)",
        )  # fmt: skip
        found = await examined(url)
    assert not found["replicas"].ok
    assert found["replicas"].text.startswith("killed (all) hasn't been heard from for ")


FAULTS = {
    "the server grants this user 25 connections": "ALTER ROLE bot CONNECTION LIMIT 25",
    "synchronous_commit is off": "ALTER ROLE bot SET synchronous_commit = off",
    "text isn't sorted by its bytes in apps.name": (
        'ALTER TABLE apps ALTER COLUMN name TYPE TEXT COLLATE "POSIX"'
    ),
    "the user may not create tables": (
        "ALTER SCHEMA public OWNER TO postgres; GRANT USAGE ON SCHEMA public TO bot"
    ),
}
MEND = "ALTER ROLE bot CONNECTION LIMIT -1; ALTER ROLE bot RESET synchronous_commit"


@pytest.mark.parametrize("told", FAULTS)
async def test_a_fault_of_the_server_is_found(server: PostgresServer, url: str, told: str) -> None:
    admin(server, url, FAULTS[told])
    try:
        found = await examined(url)
    finally:
        admin(server, url, MEND)
    (text,) = [one.text for one in found.values() if not one.ok]
    assert told in text


async def test_a_server_that_may_lose_everything_is_found(postgres: PostgresDatabases) -> None:
    """As the server of all other tests does."""
    url = postgres.new()
    with closing(open_database(url)) as database:
        open_vault(loaded(url), database)
    assert "fsync is off" in (await examined(url))["database"].text
    postgres.drop(url)


async def test_another_encoding_is_found(server: PostgresServer) -> None:
    server._admin("CREATE DATABASE latin OWNER bot ENCODING 'LATIN1' TEMPLATE template0")
    url = server.url("latin")
    with closing(open_database(url)) as database:
        open_vault(loaded(url), database)
    assert "its encoding is LATIN1" in (await examined(url))["database"].text


async def test_a_clock_that_is_wrong_is_found(url: str) -> None:
    text = (await examined(url, lambda: clock.now() + 3000))["clock"].text
    assert text.startswith("this machine's clock is 3.0 seconds ahead of the database server's")


async def test_an_empty_database_is_reported_and_stays_empty(server: PostgresServer) -> None:
    url = server.clone("nothing")
    (found,) = (await examined(url)).values()
    assert found.text.endswith("it has no tables yet: start the bot once, or check its name")
    assert rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


async def test_a_wrong_password_is_reported_without_it(url: str) -> None:
    wrong = url.replace(PASSWORD, "battery-staple")
    (found,) = await examined_database(wrong)
    assert found.text.endswith("it refuses the user or the password: check both")
    assert "battery" not in found.text


def test_a_pooler_is_recognized_by_its_changing_backends(server: PostgresServer) -> None:
    connecting = Server(Address(server.url("started"), is_pooled=True))
    one, other = connecting.connect(), connecting.connect()
    assert not checks.is_pooled(one, other)
    pool = [one, other]
    clients = [cast("Connection", PooledConnection(pool)) for _ in range(2)]
    assert checks.is_pooled(clients[0], clients[1])
    assert len(pool) == 2
    for connection in pool:
        connection.close()
    connecting.close()


async def test_a_replica_takes_no_more_connections_than_the_doctor_counts(
    server: PostgresServer, url: str
) -> None:
    database = engine.open_postgres(url)
    one = BeatingReplica(database, ReplicaInfo("all", "1.0", 1, "{}"), clock.now, QUICK)
    await one.start()
    sleep = "SELECT pg_sleep(0.2)"
    await asyncio.gather(
        *(database.transaction(lambda tx: tx.query(sleep)) for _ in range(20)),
        *(database.query(sleep) for _ in range(20)),
        database.check(),
    )
    name = url.rpartition("/")[2]
    sql = f"SELECT numbackends FROM pg_stat_database WHERE datname = '{name}'"
    ((taken,),) = rows(server.url(), sql)
    await one.stop()
    database.close()
    assert taken == CONNECTIONS
