"""The one writer beside trouble: each is answered, and whoever asks later has a turn."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.core.database import writer
from bot.core.database.database import open_database
from bot.core.database.writer import LoopCaller
from bot.core.errors import StorageError
from tests.support.machine_faults import locked
from tests.support.writer_harness import PausedWriter, fail, orphan, put, there

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.database.database import Database, Transaction

SECONDS = 5.0


@contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Let who asks within the block wait so long for other processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "BUSY_TIMEOUT_SECONDS", seconds)
        yield


async def one_told_late(db: Database) -> asyncio.Future[str]:
    """Ask for two as one group while another process writes; the one not told that it is late."""
    gate = threading.Event()
    db._writer._thread.submit(gate.wait, SECONDS)
    with patient(0.05):
        early = asyncio.ensure_future(db.transaction(partial(put, name="early")))
        await asyncio.sleep(0)
    with patient(60.0):
        late = asyncio.ensure_future(db.transaction(partial(put, name="late")))
        await asyncio.sleep(0)
    gate.set()
    async with asyncio.timeout(SECONDS):
        with pytest.raises(StorageError, match="locked"):
            await early
    assert not late.done()
    return late


async def test_trouble_after_one_of_a_group_was_told_is_told_to_the_others(db: Database) -> None:
    """And the writer goes on."""
    conn = db._writer._conn
    async with asyncio.timeout(2 * SECONDS):
        with locked(Path(db.path)):
            late = await one_told_late(db)
            conn.execute("PRAGMA query_only = ON")
            with pytest.raises(StorageError, match="readonly"):
                await late
        conn.execute("PRAGMA query_only = OFF")
        assert await db.transaction(partial(put, name="next")) == "next"
    assert there(db) == ["next"]


async def test_closing_after_one_of_a_group_was_told_answers_the_others(tmp_path: Path) -> None:
    db = open_database(f"sqlite:///{tmp_path}/bot.db")
    async with asyncio.timeout(2 * SECONDS):
        with locked(Path(db.path)):
            late = await one_told_late(db)
            db.close()
            with pytest.raises(StorageError, match="locked"):
                await late
    assert there(db) == []


def test_an_event_loop_that_is_closed_by_then_does_not_stop_the_writer(db: Database) -> None:
    """What was asked for is stored though nobody is left to hear of it."""
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
    assert db._writer.submit(partial(put, name="next")).result(SECONDS) == "next"
    assert there(db) == ["next", "slow"]


async def test_who_failed_by_itself_hears_that_though_the_commit_fails_too(db: Database) -> None:
    """Its own error says what it has to do; that of the commit is the others'."""
    found = await PausedWriter(db).together(
        db.transaction(partial(fail, name="a")),
        db.transaction(orphan),
        db.transaction(partial(put, name="b")),
    )
    errors = [LookupError, sqlite3.IntegrityError, sqlite3.IntegrityError]
    assert [type(error) for error in found] == errors
    assert there(db) == []
    with closing(sqlite3.connect(db.path)) as other:
        assert other.execute("SELECT COUNT(*) FROM received_payments").fetchone() == (0,)


async def test_a_stop_iteration_is_told_as_a_bug_and_the_others_hear_too(db: Database) -> None:
    """No future takes it: whoever came behind it in the commit would wait for ever."""

    def stop(_tx: Transaction) -> None:
        raise StopIteration

    async with asyncio.timeout(SECONDS):
        found = await PausedWriter(db).together(
            db.transaction(stop), db.transaction(partial(put, name="next"))
        )
    assert [type(one) for one in found] == [RuntimeError, str]
    assert there(db) == ["next"]


async def test_one_that_can_not_be_woken_keeps_nobody_from_hearing(db: Database) -> None:
    def wake(_topics: object) -> None:
        raise LookupError

    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[str]] = [loop.create_future() for _ in range(2)]

    def woken(tx: Transaction) -> str:
        tx.wake("topic")
        return "told"

    for future in futures:
        db._writer.submit_from_loop(woken, LoopCaller(loop, future, wake))
    async with asyncio.timeout(SECONDS):
        assert await asyncio.gather(*futures) == ["told", "told"]


def test_what_has_begun_can_not_be_cancelled(db: Database) -> None:
    """It is stored: who was told that it was cancelled would do it again."""
    began, gate = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> str:
        began.set()
        gate.wait(SECONDS)
        return put(tx, "slow")

    asked = db._writer.submit(slow)
    assert began.wait(SECONDS)
    later = db._writer.submit(partial(put, name="later"))
    assert (asked.cancel(), later.cancel()) == (False, True)
    gate.set()
    assert asked.result(SECONDS) == "slow"
    db.run(partial(put, name="next"))
    assert there(db) == ["next", "slow"]
