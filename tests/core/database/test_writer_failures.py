"""The one writer beside failures: each caller is answered, and later ones have their turn."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.core.database import sqlite_writer
from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.database.sqlite_writer import LoopCaller
from bot.core.errors import ConstraintError, StorageError
from tests.support.databases import SQLITE
from tests.support.machine_faults import locked
from tests.support.sqlite_engine import sqlite
from tests.support.writer_harness import PausedWriter, fail, orphan, put, there

pytestmark = pytest.mark.only(SQLITE, "its one writer")

SECONDS = 5.0


@contextmanager
def deadline_of(seconds: float) -> Iterator[None]:
    """Set the wait for other processes of transactions queued in the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", seconds)
        yield


async def queue_group_with_one_late(db: Database) -> asyncio.Future[str]:
    """Queue two as one group while another process writes; return the one that still waits."""
    gate = threading.Event()
    sqlite(db)._writer._thread.submit(gate.wait, SECONDS)
    with deadline_of(0.05):
        early = asyncio.ensure_future(db.transaction(partial(put, name="early")))
        await asyncio.sleep(0)
    with deadline_of(60.0):
        late = asyncio.ensure_future(db.transaction(partial(put, name="late")))
        await asyncio.sleep(0)
    gate.set()
    async with asyncio.timeout(SECONDS):
        with pytest.raises(StorageError, match="locked"):
            await early
    assert not late.done()
    return late


async def test_an_error_after_one_of_a_group_was_answered_reaches_the_others(db: Database) -> None:
    """The writer goes on afterwards."""
    conn = sqlite(db)._writer._conn
    async with asyncio.timeout(2 * SECONDS):
        with locked(Path(sqlite(db).path)):
            late = await queue_group_with_one_late(db)
            conn.execute("PRAGMA query_only = ON")
            with pytest.raises(StorageError, match="readonly"):
                await late
        conn.execute("PRAGMA query_only = OFF")
        assert await db.transaction(partial(put, name="next")) == "next"
    assert there(db) == ["next"]


async def test_closing_after_one_of_a_group_was_answered_answers_the_others(tmp_path: Path) -> None:
    db = open_database(f"sqlite:///{tmp_path}/bot.db")
    async with asyncio.timeout(2 * SECONDS):
        with locked(Path(sqlite(db).path)):
            late = await queue_group_with_one_late(db)
            db.close()
            with pytest.raises(StorageError, match="locked"):
                await late
    assert there(db) == []


def test_a_closed_event_loop_does_not_stop_the_writer(db: Database) -> None:
    """Its transaction is stored, though no caller is left to get the result."""
    began, gate = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        began.set()
        gate.wait(SECONDS)
        put(tx, "slow")
        tx.wake("topic")

    async def ask_and_end() -> None:
        asking = asyncio.ensure_future(db.transaction(slow))
        await asyncio.to_thread(began.wait, SECONDS)
        assert not asking.done()

    asyncio.run(ask_and_end())
    gate.set()
    assert sqlite(db)._writer.submit(partial(put, name="next")).result(SECONDS) == "next"
    assert there(db) == ["next", "slow"]


async def test_a_transaction_keeps_its_own_error_when_the_commit_fails_too(db: Database) -> None:
    """The error of the commit goes to the other callers."""
    found = await PausedWriter(db).together(
        db.transaction(partial(fail, name="a")),
        db.transaction(orphan),
        db.transaction(partial(put, name="b")),
    )
    errors = [LookupError, ConstraintError, ConstraintError]
    assert [type(error) for error in found] == errors
    assert there(db) == []
    with closing(sqlite3.connect(sqlite(db).path)) as other:
        assert other.execute("SELECT COUNT(*) FROM received_payments").fetchone() == (0,)


async def test_a_stop_iteration_becomes_a_bug_and_the_others_are_answered(db: Database) -> None:
    """No future takes StopIteration: the others of the commit would wait for ever."""

    def stop(_tx: Transaction) -> None:
        raise StopIteration

    async with asyncio.timeout(SECONDS):
        found = await PausedWriter(db).together(
            db.transaction(stop), db.transaction(partial(put, name="next"))
        )
    assert [type(one) for one in found] == [RuntimeError, str]
    assert there(db) == ["next"]


async def test_an_error_while_waking_keeps_no_caller_from_its_result(db: Database) -> None:
    def wake(_topic: str) -> None:
        raise LookupError

    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[str]] = [loop.create_future() for _ in range(2)]

    def woken(tx: Transaction) -> str:
        tx.wake("topic")
        return "told"

    for future in futures:
        sqlite(db)._writer.enqueue(woken, future, LoopCaller(loop, wake))
    async with asyncio.timeout(SECONDS):
        assert await asyncio.gather(*futures) == ["told", "told"]


def test_a_transaction_that_has_begun_cannot_be_cancelled(db: Database) -> None:
    """It is stored: a caller that took it for cancelled would repeat it."""
    began, gate = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> str:
        began.set()
        gate.wait(SECONDS)
        return put(tx, "slow")

    asked = sqlite(db)._writer.submit(slow)
    assert began.wait(SECONDS)
    later = sqlite(db)._writer.submit(partial(put, name="later"))
    assert (asked.cancel(), later.cancel()) == (False, True)
    gate.set()
    assert asked.result(SECONDS) == "slow"
    db.run(partial(put, name="next"))
    assert there(db) == ["next", "slow"]


async def test_a_commit_without_changes_after_a_rollback_proves_nothing(db: Database) -> None:
    """SQLite counts the rows of what it rolled back, too."""
    conn, health = sqlite(db)._writer._conn, sqlite(db).health
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {pages + 2}")

    def fill(tx: Transaction) -> None:
        put(tx, "small")
        put(tx, "x" * 100_000)

    with pytest.raises(StorageError):
        await db.transaction(fill)
    await db.transaction(lambda tx: tx.query("SELECT name FROM kept_secrets"))
    assert health._reason is not None
    await db.transaction(partial(put, name="b"))
    assert health._reason is None
