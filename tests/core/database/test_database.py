"""The database: whole transactions, one writer, wake-ups for committed changes alone."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.core.database import database, migrations, sqlite_writer
from bot.core.database.database import Database, Health, Transaction
from bot.core.database.opening import open_database
from bot.core.database.sqlite import PAYMENT_BYTES
from bot.core.database.urls import sqlite_path
from bot.core.errors import ConfigProblem, ConstraintError, StorageError
from tests.support.databases import SQLITE
from tests.support.listeners import listening
from tests.support.machine_faults import locked, moved
from tests.support.sqlite_engine import sqlite

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
    woken, other = await listening(db, "topic", "other")
    may_end = threading.Event()

    def work(tx: Transaction) -> None:
        store_secret(tx)
        tx.wake("topic")
        may_end.wait(5)

    task = asyncio.create_task(db.transaction(work))
    assert await db.one(COUNT) == {"n": 0}
    assert not woken.is_set()
    may_end.set()
    await woken.wait()
    assert await db.one(COUNT) == {"n": 1}
    await task
    assert not other.is_set()


async def test_a_commit_wakes_listeners_though_its_caller_was_cancelled(db: Database) -> None:
    woken, begun, may_end = db.listen("topic"), threading.Event(), threading.Event()

    def work(tx: Transaction) -> None:
        begun.set()
        may_end.wait(5)
        store_secret(tx)
        tx.wake("topic")

    task = asyncio.create_task(db.transaction(work))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    may_end.set()
    await asyncio.wait_for(woken.wait(), 5)
    assert await db.one(COUNT) == {"n": 1}


@pytest.mark.long
async def test_a_listener_that_has_gone_is_forgotten(db: Database) -> None:
    """Each lead of the chat has its own workers, which listen."""
    kept = db.listen("topic")
    db.listen("topic")
    gc.collect()
    assert list(db._listeners["topic"]) == [kept]


async def test_every_listener_of_a_topic_is_woken(db: Database) -> None:
    first, second = db.listen("topic"), db.listen("topic")
    await db.transaction(lambda tx: tx.wake("topic"))
    assert (first.is_set(), second.is_set()) == (True, True)


async def test_readers_cannot_write(db: Database) -> None:
    """A write beside the writer would have no place in the order of transactions."""
    with pytest.raises(StorageError, match=r"read-?only"):
        await db.read(lambda tx: tx.execute("DELETE FROM migrations"))
    assert await db.read(lambda tx: len(tx.query("SELECT number FROM migrations"))) == len(
        migrations.MIGRATIONS
    )


async def test_readers_do_not_wait_for_the_writer(db: Database) -> None:
    """Twice as many reads as there are readers, while a transaction is open."""
    may_end = threading.Event()
    writing = asyncio.create_task(db.bulk(lambda _tx: may_end.wait(5)))
    found = await asyncio.gather(*(db.one(COUNT) for _ in range(4)))
    assert found == [{"n": 0}] * 4
    may_end.set()
    assert await writing is True


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


def test_migrating_twice_is_harmless(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    first = open_database(url)
    first.run(store_secret)
    second = open_database(url)
    second.migrate()
    assert second.run(lambda tx: tx.query("SELECT name FROM kept_secrets")) == [{"name": "a"}]
    numbers = second.run(lambda tx: tx.query("SELECT number FROM migrations"))
    assert [row["number"] for row in numbers] == [*range(1, len(migrations.MIGRATIONS) + 1)]
    first.close()
    second.close()


def test_a_failed_migration_leaves_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = ("CREATE TABLE good (id TEXT)", "CREATE NONSENSE")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, broken))
    url = f"sqlite:///{tmp_path}/bot.db"
    with pytest.raises(ConfigProblem, match="NONSENSE"):
        open_database(url)
    monkeypatch.undo()
    database = open_database(url)
    found = database.run(lambda tx: tx.query("SELECT name FROM sqlite_master WHERE name = 'good'"))
    assert found == []
    database.close()


@pytest.mark.only(SQLITE, "PRAGMA")
async def test_commits_are_durable_and_foreign_keys_are_checked(db: Database) -> None:
    """The connection has synchronous=FULL (2), a write-ahead log and foreign keys."""
    assert await db.query("PRAGMA synchronous") == [{"synchronous": 2}]
    assert await db.query("PRAGMA journal_mode") == [{"journal_mode": "wal"}]
    assert await db.query("PRAGMA foreign_keys") == [{"foreign_keys": 1}]


@pytest.mark.parametrize("what", ["a folder", "no database", "below a file", "cut off"])
def test_a_file_that_cannot_be_used_is_a_problem_of_the_configuration(
    tmp_path: Path, what: str
) -> None:
    (tmp_path / "text").write_text("no database at all, just text" * 100)
    open_database(f"sqlite:///{tmp_path}/whole").close()
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    path = {
        "a folder": "", "no database": "/text", "below a file": "/text/bot.db", "cut off": "/cut",
    }[what]  # fmt: skip
    with pytest.raises(ConfigProblem, match=r"^DATABASE_URL: sqlite:///\S+ can't be used: "):
        open_database(f"sqlite:///{tmp_path}{path}")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///data/bot.db", "data/bot.db"),
        ("sqlite:////srv/bot.db", "/srv/bot.db"),
        ("sqlite:///with%20space.db", "with space.db"),
        ("SQLite:///odd%23name%3F.db", "odd#name?.db"),
    ],
)
def test_an_address_names_a_file(url: str, path: str) -> None:
    assert sqlite_path(url) == path


@pytest.mark.parametrize(
    "url",
    [
        *("", "data/bot.db", "sqlite:", "sqlite:///", "sqlite://host/x.db", "mysql:///x"),
        *(":memory:", "sqlite:///:memory:", "sqlite:data/bot.db", "sqlite:/data/bot.db"),
        *("sqlite:///bot.db?mode=ro", "sqlite:///bot#2.db", "sqlite:///bot%00.db"),
        *("sqlite:///~/bot.db", "sqlite:///$HOME/bot.db", "sqlite:///${DATA}/bot.db"),
    ],
)
def test_another_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigProblem, match=r"write sqlite:///data/bot\.db"):
        sqlite_path(url)


@pytest.mark.parametrize("size", [None, 0])
@pytest.mark.parametrize(
    ("former", "message"),
    [
        ("moved", "{} was moved to a PostgreSQL server, and is {} now: set DATABASE_URL to that"),
        ("replaced", "{} is missing, but a restore has put {} aside: run restore again, or move"),
    ],
)
def test_no_new_database_takes_the_place_of_one_with_another_name(
    tmp_path: Path, former: str, message: str, size: int | None
) -> None:
    """It would be empty: sellers and payers of the former one would find nothing."""
    path, latest = tmp_path / "bot.db", f"bot-{former}-20261128T050000Z.db"
    for name in (latest, f"bot-{former}-20250101T000000Z.db"):
        (tmp_path / name).write_bytes(b"former data")
    if size is not None:
        path.touch()
    with pytest.raises(ConfigProblem) as caught:
        open_database(f"sqlite:///{path}")
    assert str(caught.value).startswith("DATABASE_URL: " + message.format(path, latest))
    assert path.exists() == (size is not None)
    assert not path.with_suffix(".key").exists()


def test_former_databases_of_other_names_and_beside_one_with_data_are_no_matter(
    tmp_path: Path,
) -> None:
    for name in ("shop-moved-20261128T050000Z.db", "bot-moved-1.db", "bot-moved-20261128T050000Z"):
        (tmp_path / name).touch()
    url = f"sqlite:///{tmp_path}/bot.db"
    open_database(url).close()
    (tmp_path / "bot-moved-20261128T050000Z.db").touch()
    open_database(url).close()


def test_missing_folders_are_created(tmp_path: Path) -> None:
    open_database(f"sqlite:///{tmp_path}/a/b/bot.db").close()
    assert (tmp_path / "a/b/bot.db").is_file()


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


@pytest.mark.long
@pytest.mark.only(SQLITE, "its one lock")
async def test_queued_transactions_wait_for_a_lock_at_the_same_time(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each deadline counts from queueing. Else the waits would add up behind the one writer."""
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 1.0)
    with locked(Path(sqlite(db).path)):
        begun = time.monotonic()
        waiting = [db.transaction(store_secret) for _ in range(10)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
        took = time.monotonic() - begun
    assert [str(error) for error in found] == ["database is locked"] * 10
    assert 1.0 <= took < 5


@pytest.mark.only(SQLITE, "its one lock")
async def test_a_transaction_waits_for_a_lock_that_ends_in_time(db: Database) -> None:
    with locked(Path(sqlite(db).path)):
        waiting = asyncio.create_task(db.transaction(store_secret))
        await asyncio.sleep(0.05)
        assert not waiting.done()
    assert await waiting == 1


async def test_closing_waits_for_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 60.0)
    database = open_database(f"sqlite:///{tmp_path}/bot.db")
    with locked(tmp_path / "bot.db"):
        waiting = asyncio.create_task(database.transaction(store_secret))
        await asyncio.sleep(0.05)
        begun = time.monotonic()
        database.close()
        assert time.monotonic() - begun < sqlite_writer.BUSY_TIMEOUT_SECONDS / 2
        with pytest.raises(StorageError, match="locked"):
            await waiting


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
    checked = Health("it fails", "it works")
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
    checked = Health("it fails", "it works")
    with capture_logs() as lines:
        for _ in range(50):
            checked.failed("full")
            checked.worked()
    assert [line["event"] for line in lines] == ["it fails", "it works"]


async def test_a_failed_read_is_a_fault_of_the_database(db: Database) -> None:
    """The read fails since it writes on a reader's connection."""
    with capture_logs() as lines, pytest.raises(StorageError, match=r"read-?only"):
        await db.read(store_secret)
    assert [line["event"] for line in lines] == ["database not usable"]
    assert db.health.failures == 1


def test_no_new_file_is_created_where_a_lost_files_newest_data_lies(tmp_path: Path) -> None:
    """SQLite would delete the -wal of the lost file, and all data in it."""
    url, path = f"sqlite:///{tmp_path}/bot.db", tmp_path / "bot.db"
    database = open_database(url)
    database.run(lambda tx: tx.execute(KEEP, name="kept", sealed="x"))
    path.rename(tmp_path / "moved.db")
    with pytest.raises(ConfigProblem, match="put the file back"):
        open_database(url)
    (tmp_path / "moved.db").rename(path)
    again = open_database(url)
    assert again.run(lambda tx: tx.query("SELECT name FROM kept_secrets")) == [{"name": "kept"}]
    again.close()
    database.close()


def test_a_new_file_contains_its_tables(tmp_path: Path) -> None:
    """Copied or moved without its -wal, it has them still."""
    open_file = open_database(f"sqlite:///{tmp_path}/bot.db")
    assert (tmp_path / "bot.db").stat().st_size > 100_000
    open_file.close()


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
    health, written = database.Health("failed", "worked"), []

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
