"""A server that restarts, stands still, goes back in time or eats the answer to a COMMIT."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import psycopg
import pytest

from bot.core.database.postgres import engine, transactions
from bot.core.database.postgres.engine import OWN_SECONDS, PostgresDatabase, open_postgres
from bot.core.errors import CommitUnknown, StorageError
from tests.support.databases import put
from tests.support.postgres_server import PostgresServer
from tests.support.wire_proxy import WireProxy

pytestmark = pytest.mark.process

COUNT = "SELECT COUNT(*) AS n FROM kept_secrets"
TOGETHER = 8
MANY = 100_000


async def put_many(db: PostgresDatabase) -> None:
    for number in range(MANY):
        await db.transaction(partial(put, name=f"b{number}"))


async def test_a_restart_of_the_server_loses_no_transaction(
    db: PostgresDatabase, server: PostgresServer
) -> None:
    await asyncio.gather(*(db.transaction(partial(put, name=f"a{n}")) for n in range(TOGETHER)))
    server.crash().start()
    await asyncio.gather(*(db.transaction(partial(put, name=f"b{n}")) for n in range(TOGETHER)))
    assert await asyncio.gather(*(db.one(COUNT) for _ in range(TOGETHER))) == (
        [{"n": 2 * TOGETHER}] * TOGETHER
    )


async def test_transactions_wait_for_a_server_together_and_not_for_ever(
    db: PostgresDatabase, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.5)
    server.stop()
    begun = time.monotonic()
    found = await asyncio.gather(
        *(db.transaction(partial(put, name=f"a{n}")) for n in range(5 * TOGETHER)),
        return_exceptions=True,
    )
    assert {type(error) for error in found} <= {StorageError, *StorageError.__subclasses__()}
    assert time.monotonic() - begun < 3
    assert await db.check()
    server.start()  # it ends with the thread that starts it
    assert await db.transaction(partial(put, name="next")) == "next"
    await asyncio.sleep(1)
    assert await db.check() is None


async def test_a_server_that_takes_no_changes_any_more_is_left_for_another_one(
    db: PostgresDatabase, server: PostgresServer
) -> None:
    """A URL may name several servers: only a new connection finds the one that takes changes."""
    counted: list[tuple[str, ...]] = []
    db.count_with(lambda *names: counted.append(names))
    await db.transaction(partial(put, name="a"))
    with psycopg.connect(server.url(user="postgres"), autocommit=True) as admin:
        # As a primary that is demoted without ending its sessions.
        admin.execute(b"ALTER SYSTEM SET default_transaction_read_only = on")
        admin.execute(b"SELECT pg_reload_conf()")
        try:
            with pytest.raises(StorageError, match="read-only"):
                await put_many(db)  # its processes read the settings a moment later
        finally:
            admin.execute(b"ALTER SYSTEM RESET default_transaction_read_only")
            admin.execute(b"SELECT pg_reload_conf()")
    assert ("database_connections", "lost") in counted
    assert await db.transaction(partial(put, name="c")) == "c"


async def test_a_server_that_stands_still_is_given_up(
    db: PostgresDatabase, server: PostgresServer
) -> None:
    """Its connections stay open, so that no time-out of TCP ends the wait."""
    assert await db.check() is None
    server.freeze()
    await asyncio.sleep(1)  # the last result is old
    begun = time.monotonic()
    assert await db.check()
    assert time.monotonic() - begun < 2 * OWN_SECONDS + 2
    server.thaw()
    assert await db.transaction(partial(put, name="a")) == "a"


@pytest.mark.parametrize("fault", ["eat_commit", "cut_commit"])
async def test_a_commit_without_an_answer_is_stored_once(
    server: PostgresServer, url: str, fault: str
) -> None:
    """The server keeps what became of it. Rows have no key that could tell."""
    counted: list[tuple[str, ...]] = []
    with WireProxy(server) as proxy:
        db = open_postgres(proxy.url(url.partition("@/")[2].partition("?")[0]))
        db.count_with(lambda *names: counted.append(names))
        add = "INSERT INTO rates (name, subject, slot, hits) SELECT 'a', '', COUNT(*), 1 FROM rates"
        setattr(proxy, fault, lambda number: number % 3 == 0)
        for _ in range(TOGETHER):
            await db.transaction(lambda tx: tx.execute(add))
        setattr(proxy, fault, lambda _number: False)
        assert await db.one("SELECT COUNT(*) AS n FROM rates") == {"n": TOGETHER}
        db.close()
    outcome = {"eat_commit": "committed", "cut_commit": "aborted"}[fault]
    assert counted.count(("database_commits_unknown", outcome)) >= TOGETHER // 3


async def test_a_commit_that_nobody_knows_of_is_reported_so(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "UNKNOWN_SECONDS", 0.5)

    def eat_and_refuse(_number: int) -> bool:
        proxy.refusing = True
        return True

    with WireProxy(server) as proxy:
        db = open_postgres(proxy.url(url.partition("@/")[2].partition("?")[0]))
        proxy.eat_commit = eat_and_refuse
        with pytest.raises(CommitUnknown):
            await db.transaction(partial(put, name="a"))
        proxy.refusing = False
        proxy.eat_commit = lambda _number: False
        assert await db.one(COUNT) == {"n": 1}
        db.close()


async def test_a_former_primary_is_refused_once_its_successor_was_seen() -> None:
    """Both answer, and libpq takes the first that does."""
    with PostgresServer() as first:
        name = first.clone("product") and "product"
        with first.standby() as second:
            hosts = f"{first.home},{second.home}"
            db = open_postgres(
                f"postgresql://bot@/{name}?host={hosts}&port={first.port},{second.port}"
            )
            first.stop()
            second.promote()
            await db.transaction(partial(put, name="new"))
            second.stop()
            first.start()
            with pytest.raises(StorageError, match="former primary"):
                await db.transaction(partial(put, name="old"))
            first.stop()
            second.start()
            assert await db.query("SELECT name FROM kept_secrets") == [{"name": "new"}]
            db.close()
