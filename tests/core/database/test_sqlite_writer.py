"""SQLite's one writer: queued transactions are committed together, and each caller is answered."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.core.database import sqlite_writer
from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.errors import ConstraintError, StorageError
from tests.support.databases import PUT, SQLITE, PausedWriter, fail, orphan, put, sqlite, there
from tests.support.machine_faults import locked

pytestmark = pytest.mark.only(SQLITE, "its one writer")


@pytest.fixture
async def held(db: Database, monkeypatch: pytest.MonkeyPatch) -> PausedWriter:
    """Hold the writer; on a busy machine too, only the size of a group ends its turn."""
    monkeypatch.setattr(sqlite_writer, "TURN_SECONDS", 60.0)
    return PausedWriter(db)


async def test_queued_transactions_are_one_commit_in_their_order(
    db: Database, held: PausedWriter
) -> None:
    names = [f"{number:02d}" for number in range(20)]
    assert await held.together(*(db.transaction(partial(put, name=name)) for name in names)) == (
        names
    )
    assert held.commits == 1
    assert there(db) == names


async def test_one_call_of_the_loop_answers_all_of_a_commit(
    db: Database, held: PausedWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call from a thread wakes the loop, which costs as much as a statement."""
    loop, calls = asyncio.get_running_loop(), []
    call = loop.call_soon_threadsafe

    def counted(callback: object, *args: object) -> asyncio.Handle:
        calls.append(callback)
        return call(callback, *args)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    names = [f"{number:02d}" for number in range(20)]
    await held.together(*(db.transaction(partial(put, name=name)) for name in names))
    assert calls.count(sqlite(db)._writer._answer) == 1


async def test_each_transaction_sees_earlier_changes_and_a_failing_one_is_rolled_back_alone(
    db: Database, held: PausedWriter
) -> None:
    """As if each had been committed before the next one began."""

    def count(tx: Transaction) -> int:
        return len(tx.query("SELECT name FROM kept_secrets"))

    found = await held.together(
        db.transaction(partial(put, name="a")),
        db.transaction(count),
        db.transaction(partial(fail, name="b")),
        db.transaction(count),
        db.transaction(partial(put, name="c")),
    )
    assert isinstance(found.pop(2), LookupError)
    assert (found, held.commits) == (["a", 1, 1, "c"], 1)
    assert there(db) == ["a", "c"]


async def test_no_caller_gets_a_result_that_is_not_stored(db: Database, held: PausedWriter) -> None:
    """The disk is full at the last of them, and SQLite rolls back the whole commit."""
    conn = sqlite(db)._writer._conn
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {pages + 2}")
    woken = db.listen("topic")

    def wake(tx: Transaction) -> None:
        tx.execute(PUT, name="a")
        tx.wake("topic")

    def fill(tx: Transaction) -> None:
        tx.execute(PUT, name="x" * 100_000)

    found = await held.together(db.transaction(wake), db.transaction(fill))
    assert isinstance(found[1], StorageError)
    stored = there(db) == ["a"]
    assert (found[0] is None, woken.is_set()) == (stored, stored)
    conn.execute("PRAGMA max_page_count = 1000000")
    await db.transaction(partial(put, name="b"))
    assert "b" in there(db)


async def test_a_failed_commit_is_an_error_for_all_of_its_group(
    db: Database, held: PausedWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await held.together(db.transaction(partial(put, name="a")), db.transaction(orphan))
    assert [type(error) for error in found] == [ConstraintError] * 2
    assert there(db) == []
    monkeypatch.setattr(sqlite_writer, "MAX_GROUP", 1)
    assert await db.transaction(partial(put, name="b")) == "b"


async def test_a_transaction_cancelled_before_it_begins_does_not_run(
    db: Database, held: PausedWriter
) -> None:
    gone = asyncio.ensure_future(db.transaction(partial(put, name="gone")))

    async def give_up() -> None:
        gone.cancel()

    await held.together(give_up(), db.transaction(partial(put, name="a")))
    assert there(db) == ["a"]
    assert gone.cancelled()


async def test_a_commit_has_no_more_than_max_group_transactions(
    db: Database, held: PausedWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "MAX_GROUP", 3)
    names = [f"{number}" for number in range(8)]
    await held.together(*(db.transaction(partial(put, name=name)) for name in names))
    assert (held.commits, there(db)) == (3, names)


async def test_short_statements_run_on_the_event_loop_and_commits_and_bulk_do_not(
    db: Database,
) -> None:
    """The thread would wait for the interpreter at each statement, the loop for the disk."""
    loop, threads = threading.current_thread(), []
    conn = sqlite(db)._writer._conn
    conn.set_trace_callback(lambda sql: threads.append((sql, threading.current_thread() is loop)))
    await db.transaction(partial(put, name="a"))
    conn.set_trace_callback(None)
    assert ("SAVEPOINT one", True) in threads
    assert threads[-1] == ("COMMIT", False)
    assert await db.bulk(lambda _tx: threading.current_thread() is loop) is False


async def test_long_and_short_ones_keep_their_order(db: Database) -> None:
    order: list[str] = []

    def note(_tx: Transaction, name: str) -> None:
        order.append(name)

    asked = [
        (db.bulk if number % 3 == 0 else db.transaction)(partial(note, name=f"{number:02d}"))
        for number in range(12)
    ]
    await asyncio.gather(*asked)
    assert order == sorted(order)


async def test_a_payment_waits_for_one_of_a_crowd_of_bulk_transactions(
    db: Database, held: PausedWriter
) -> None:
    """As for the parts of fourteen uploads, which would fill its commit."""
    order: list[str] = []

    def note(tx: Transaction, name: str) -> None:
        order.append(name)
        put(tx, name)

    parts = [partial(note, name=f"part {number:02d}") for number in range(14)]
    await held.together(
        *(db.bulk(part, about="uploads") for part in parts),
        db.transaction(partial(note, name="payment")),
    )
    assert order.index("payment") == 1
    assert sorted(order) == there(db)
    assert held.commits >= 14


async def test_bulk_transactions_about_different_things_share_a_commit(
    db: Database, held: PausedWriter
) -> None:
    names = [f"{number}" for number in range(4)]
    await held.together(*(db.bulk(partial(put, name=name), about=name) for name in names[:2]))
    await held.together(*(db.bulk(partial(put, name=name)) for name in names[2:]))
    assert (held.commits, there(db)) == (2, names)


async def test_a_turn_on_the_event_loop_ends_after_a_moment(
    db: Database, held: PausedWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have their turn there between two groups of a long queue."""
    monkeypatch.setattr(sqlite_writer, "TURN_SECONDS", 0.0)
    names = [f"{number}" for number in range(4)]
    await held.together(*(db.transaction(partial(put, name=name)) for name in names))
    assert (held.commits, there(db)) == (4, names)


async def test_the_event_loop_goes_on_while_another_process_writes(db: Database) -> None:
    with closing(sqlite3.connect(sqlite(db).path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(db.transaction(partial(put, name="a")))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not waiting.done()
        other.execute("ROLLBACK")
        assert await waiting == "a"


async def test_code_without_an_event_loop_waits_for_none(db: Database) -> None:
    """The loop that would serve those before it is blocked by the caller itself."""
    before = asyncio.ensure_future(db.transaction(partial(put, name="a")))
    await asyncio.sleep(0)
    assert db.run(partial(put, name="b")) == "b"
    assert there(db) == ["a", "b"]
    assert await before == "a"


def test_what_an_ended_event_loop_left_is_stored_with_the_next(db: Database) -> None:
    loop = asyncio.new_event_loop()
    with closing(loop):
        work = partial(put, name="left")
        sqlite(db)._writer.enqueue(work, loop.create_future(), loop, in_thread=False)
    db.run(partial(put, name="next"))
    assert there(db) == ["left", "next"]


def test_what_undoes_a_part_of_a_transaction_is_in_no_file(db: Database) -> None:
    """SQLite would write the former content of each changed page to a file of its own."""
    names = [f"{number:03d}{'x' * 2_000}" for number in range(100)]

    def change(tx: Transaction) -> list[str]:
        tx.execute("UPDATE kept_secrets SET sealed = 'changed'")
        return [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.exists()]

    db.run(lambda tx: [put(tx, name) for name in names])
    opened = db.run(change)
    assert any(name.endswith("-wal") for name in opened)
    assert not [name for name in opened if "etilqs" in name]


async def test_the_next_group_waits_for_more_behind_a_crowd(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "PAUSE_SECONDS", 1.0)
    names = [f"{number}" for number in range(sqlite_writer.CROWD)]
    await asyncio.gather(*(db.transaction(partial(put, name=name)) for name in names))
    statements: list[str] = []
    sqlite(db)._writer._conn.set_trace_callback(statements.append)
    first = asyncio.ensure_future(db.transaction(partial(put, name="x")))
    await asyncio.sleep(0.05)
    assert not first.done()
    await asyncio.gather(first, db.transaction(partial(put, name="y")))
    assert statements.count("COMMIT") == 1
    assert there(db) == [*names, "x", "y"]


async def test_nobody_waits_behind_a_few(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_writer, "PAUSE_SECONDS", 3600.0)
    names = [f"{number}" for number in range(sqlite_writer.CROWD - 1)]
    await asyncio.gather(*(db.transaction(partial(put, name=name)) for name in names))
    assert await db.transaction(partial(put, name="x")) == "x"


# Beside failures: each caller is answered, and later ones have their turn.

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


async def test_closing_waits_for_no_lock_and_answers_who_waits_for_one(tmp_path: Path) -> None:
    db = open_database(f"sqlite:///{tmp_path}/bot.db")
    async with asyncio.timeout(2 * SECONDS):
        with locked(Path(sqlite(db).path)):
            late = await queue_group_with_one_late(db)
            began = time.monotonic()
            db.close()
            assert time.monotonic() - began < SECONDS
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


async def test_a_transaction_keeps_its_own_error_when_the_commit_fails_too(
    db: Database, held: PausedWriter
) -> None:
    """The error of the commit goes to the other callers."""
    found = await held.together(
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

    sqlite(db)._writer._wake = wake
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[str]] = [loop.create_future() for _ in range(2)]

    def woken(tx: Transaction) -> str:
        tx.wake("topic")
        return "told"

    for future in futures:
        sqlite(db)._writer.enqueue(woken, future, loop)
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
