"""The database: whole transactions, one writer, wake-ups for committed changes alone."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.core.database import database, sqlite_writer
from bot.core.database.database import Database, Health, Transaction
from bot.core.database.opening import open_database
from bot.core.database.sqlite import PAYMENT_BYTES
from bot.core.errors import ConfigProblem, ConstraintError, StorageError
from tests.support.databases import SQLITE, listening, sqlite
from tests.support.machine_faults import locked, moved

KEEP = "INSERT INTO kept_secrets (name, sealed) VALUES (:name, :sealed)"
COUNT = "SELECT COUNT(*) AS n FROM kept_secrets"
ROUNDS = 50
COUNTER = f"""
import sys
from bot.core.database.sqlite import SqliteDatabase
from tests.core.database.test_database import ROUNDS, count_up
database = SqliteDatabase(sys.argv[1])
for _ in range({ROUNDS}):
    database.run(count_up)
database.close()
"""


def store_secret(tx: Transaction, name: str = "a") -> int:
    return tx.execute(KEEP, name=name, sealed="x")


def count_up(tx: Transaction) -> None:
    """Read a number, then write the next one."""
    row = tx.one("SELECT sealed FROM kept_secrets WHERE name = 'counter'")
    assert row
    tx.execute(
        "UPDATE kept_secrets SET sealed = :value WHERE name = 'counter'",
        value=str(int(row["sealed"]) + 1),
    )


async def test_a_transaction_commits_whole_and_returns_the_result_of_its_work(db: Database) -> None:
    assert await db.transaction(store_secret) == 1
    assert await db.query("SELECT * FROM kept_secrets") == [{"name": "a", "sealed": "x"}]


async def test_a_transaction_that_raises_stores_nothing_and_wakes_no_listener(db: Database) -> None:
    (woken,) = await listening(db, "topic")

    def work(tx: Transaction) -> None:
        store_secret(tx)
        tx.wake("topic")
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await db.transaction(work)
    assert await db.one(COUNT) == {"n": 0}
    assert not woken.is_set()
    assert await db.transaction(store_secret) == 1


async def test_a_failing_statement_rolls_back_those_before_it(db: Database) -> None:
    with pytest.raises(ConstraintError):
        await db.transaction(lambda tx: (store_secret(tx), store_secret(tx)))
    assert await db.one(COUNT) == {"n": 0}


async def test_listeners_are_woken_after_the_commit(db: Database) -> None:
    """All of a topic are, and none of another one."""
    first, second, other = await listening(db, "topic", "topic", "other")
    begun, may_end = threading.Event(), threading.Event()

    def work(tx: Transaction) -> None:
        store_secret(tx)
        tx.wake("topic")
        begun.set()
        may_end.wait(5)

    task = asyncio.create_task(db.bulk(work))
    await asyncio.to_thread(begun.wait, 5)
    assert await db.one(COUNT) == {"n": 0}
    assert not first.is_set()
    may_end.set()
    await first.wait()
    assert await db.one(COUNT) == {"n": 1}
    await task
    assert (second.is_set(), other.is_set()) == (True, False)


async def test_a_commit_wakes_listeners_though_its_caller_was_cancelled(db: Database) -> None:
    (woken,) = await listening(db, "topic")
    begun, may_end = threading.Event(), threading.Event()

    def work(tx: Transaction) -> None:
        begun.set()
        may_end.wait(5)
        store_secret(tx)
        tx.wake("topic")

    task = asyncio.create_task(db.bulk(work))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    may_end.set()
    await asyncio.wait_for(woken.wait(), 5)
    assert await db.one(COUNT) == {"n": 1}
    assert task.cancelled()


@pytest.mark.long
async def test_a_listener_that_has_gone_is_forgotten(db: Database) -> None:
    """Each lead of the chat has its own workers, which listen."""
    kept = db.listen("topic")
    db.listen("topic")
    gc.collect()
    assert list(db._listeners["topic"]) == [kept]


async def test_readers_see_committed_rows_alone_and_wait_for_no_writer(db: Database) -> None:
    """Twice as many reads as there are readers, while a transaction is open."""
    begun, may_end = threading.Event(), threading.Event()

    def work(tx: Transaction) -> None:
        store_secret(tx)
        begun.set()
        may_end.wait(5)

    writing = asyncio.create_task(db.bulk(work))
    await asyncio.to_thread(begun.wait, 5)
    found = await asyncio.gather(*(db.query(COUNT) for _ in range(6)), db.one(COUNT))
    assert found == [*[[{"n": 0}]] * 6, {"n": 0}]
    assert not writing.done()
    may_end.set()
    await writing
    assert await db.one(COUNT) == {"n": 1}


async def test_a_read_that_writes_is_a_fault_of_the_database(db: Database) -> None:
    """A write beside the writer would have no place in the order of transactions."""
    with capture_logs() as lines, pytest.raises(StorageError, match=r"read-?only"):
        await db.read(store_secret)
    assert [line["event"] for line in lines] == ["database not usable"]
    assert db.health.failures == 1
    assert await db.query(COUNT) == [{"n": 0}]


@pytest.mark.process
async def test_two_processes_that_read_then_write_wait_for_each_other(tmp_path: Path) -> None:
    """BEGIN IMMEDIATE: neither process loses a step or is refused as busy."""
    path = f"{tmp_path}/bot.db"
    database = open_database(f"sqlite:///{path}")
    database.run(lambda tx: tx.execute(KEEP, name="counter", sealed="0"))
    others = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", COUNTER, path) for _ in range(2)
    ]
    for _ in range(ROUNDS):
        await database.transaction(count_up)
    assert [await other.wait() for other in others] == [0, 0]
    assert await database.query("SELECT sealed FROM kept_secrets") == [{"sealed": str(ROUNDS * 3)}]
    database.close()


@pytest.mark.only(SQLITE, "PRAGMA")
async def test_commits_are_durable_and_foreign_keys_are_checked(db: Database) -> None:
    """The connection has synchronous=FULL (2), a write-ahead log and foreign keys."""
    assert await db.query("PRAGMA synchronous") == [{"synchronous": 2}]
    assert await db.query("PRAGMA journal_mode") == [{"journal_mode": "wal"}]
    assert await db.query("PRAGMA foreign_keys") == [{"foreign_keys": 1}]


async def test_a_locked_database_is_a_storage_error_and_a_wrong_statement_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """StorageError for what the machine is to blame for; a wrong statement stays what it is."""
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 0.01)
    database = open_database(f"sqlite:///{tmp_path}/bot.db")
    with closing(sqlite3.connect(tmp_path / "bot.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked"):
            await database.transaction(lambda tx: tx.execute("DELETE FROM lanes"))
        with pytest.raises(ConfigProblem, match="can't be used: database is locked"):
            open_database(f"sqlite:///{tmp_path}/bot.db", writing=True)
        other.execute("ROLLBACK")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await database.transaction(lambda tx: tx.execute("DELETE FROM nowhere"))
    database.close()


@pytest.mark.only(SQLITE, "a file")
async def test_nothing_is_committed_to_a_file_that_was_moved_or_deleted(
    db: Database,
) -> None:
    """SQLite would write on to a file without a name. Once it is back, commits work again."""
    with (
        moved(Path(sqlite(db).path)),
        pytest.raises(StorageError, match="moved, deleted or replaced"),
    ):
        await db.transaction(store_secret)
    assert await db.transaction(store_secret) == 1


@pytest.mark.only(SQLITE, "its one lock")
async def test_the_log_has_one_line_for_a_fault_and_one_for_its_end(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that changes nothing proves nothing.

    The end is a write that reached the disk.
    """
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 0.0)
    with capture_logs() as lines:
        with locked(Path(sqlite(db).path)):
            for _ in range(3):
                with pytest.raises(StorageError):
                    await db.transaction(store_secret)
        await db.transaction(lambda tx: tx.query(COUNT))
        assert [line["event"] for line in lines] == ["database not usable"]
        await sqlite(db).probe(PAYMENT_BYTES)
    assert [line["event"] for line in lines] == ["database not usable", "database usable again"]
    assert lines[1]["failures"] == db.health.failures == 3


async def test_a_lasting_fault_is_logged_again_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = Health()
    with capture_logs() as lines:
        for reason in ("one", "one", "two"):
            checked.failed(reason)
        monkeypatch.setattr(database, "REMIND_SECONDS", 0.0)
        checked.failed("three")
    assert [(line["reason"], line["failures"]) for line in lines] == [("one", 1), ("three", 4)]
    assert checked.failures == 4


def test_a_fault_that_comes_and_goes_does_not_flood_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At most one beginning and one end are logged in CALM_SECONDS."""
    monkeypatch.setattr(database, "CALM_SECONDS", 3600.0)
    checked = Health()
    with capture_logs() as lines:
        for _ in range(50):
            checked.failed("full")
            checked.worked()
    assert [line["event"] for line in lines] == ["database not usable", "database usable again"]
    assert 0 <= lines[1]["lasted_s"] < 100  # not since the start of the machine


@pytest.mark.only(SQLITE, "its own readers")
async def test_a_row_is_read_at_once_while_all_readers_are_busy(db: Database) -> None:
    await db.transaction(store_secret)
    release = threading.Event()
    held = [sqlite(db)._readers.submit(release.wait, 30) for _ in range(2)]
    async with asyncio.timeout(10):
        assert await db.one("SELECT sealed FROM kept_secrets WHERE name = 'a'") == {"sealed": "x"}
    release.set()
    assert all(one.result() for one in held)


@pytest.mark.only(SQLITE, "its own readers")
async def test_a_row_that_cannot_be_read_at_once_is_read_by_a_thread(
    db: Database, tmp_path: Path
) -> None:
    """A locked file takes the place of the one that the event loop reads."""
    await db.transaction(store_secret)
    shut = tmp_path / "shut.db"
    with closing(sqlite3.connect(shut)) as holder, closing(sqlite3.connect(shut)) as at_once:
        holder.execute("CREATE TABLE kept_secrets (name, sealed)")
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        at_once.execute("PRAGMA busy_timeout = 0")
        with closing(sqlite(db)._loop_reader):
            sqlite(db)._loop_reader = at_once
            assert await db.one(COUNT) == {"n": 1}
            sqlite(db)._loop_reader = sqlite3.connect(sqlite(db).path)


async def test_storage_is_checked_once_a_second_and_with_much_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A load balancer may ask as often as it likes."""
    health, written = database.Health(), []

    async def small() -> None:
        written.append("small")

    async def large() -> None:
        written.append("large")
        raise StorageError("full")

    check = database.StorageCheck(small, large, health)
    assert [await check() for _ in range(3)] == [None] * 3
    health.failed("a payment")
    assert [await check() for _ in range(3)] == ["full"] * 3
    assert written == ["small", "large"]
    monkeypatch.setattr(database, "PROVEN_SECONDS", 0.0)
    assert [await check() for _ in range(2)] == ["full"] * 2
    assert written == ["small", "large", "large", "large"]
