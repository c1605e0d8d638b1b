"""Transactions on PostgreSQL: whole or not at all, run again where others got in the way."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from itertools import count

import psycopg
import pytest

from bot.core.database.database import Transaction
from bot.core.database.postgres.connection import SqlError
from bot.core.database.postgres.engine import WRITERS, PostgresDatabase
from bot.core.database.postgres.transactions import OVERTAKEN_RUNS
from bot.core.errors import ConstraintError
from tests.support.databases import PUT, fail, listening, put

SECONDS = 10.0
OFTEN = 40
"""Runs after which a statement is prepared, on each of several connections."""
NAMES = "SELECT name FROM kept_secrets ORDER BY name"
TOUCH = "UPDATE payment_requests SET id = id"
CONNECTIONS = """
SELECT COUNT(*) AS number FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
"""
SEAL = "UPDATE kept_secrets SET sealed = :sealed WHERE name = :name"


def touch(tx: Transaction) -> None:
    tx.execute(TOUCH)


async def names(db: PostgresDatabase) -> list[str]:
    return [row["name"] for row in await db.query(NAMES)]


async def test_a_broken_rule_is_named_after_a_few_runs_without_the_rows_values(
    db: PostgresDatabase,
) -> None:
    """Logs get the error, and rows hold payers' data."""
    counted: list[tuple[str, ...]] = []
    db.count_with(lambda *names: counted.append(names))
    await db.transaction(partial(put, name="secret"))
    with pytest.raises(ConstraintError, match="kept_secrets_pkey") as raised:
        await db.transaction(partial(put, name="secret"))
    assert "=(secret)" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert counted.count(("database_retries", "23505")) == OVERTAKEN_RUNS - 1


async def test_a_bug_in_a_statement_or_a_value_stays_visible(db: PostgresDatabase) -> None:
    with pytest.raises(SqlError, match='"nowhere" does not exist'):
        await db.query("SELECT 1 FROM nowhere")
    with pytest.raises(SqlError, match="NUL"):
        await db.transaction(partial(put, name="a\0b"))
    assert await names(db) == []


async def test_an_error_that_was_swallowed_commits_nothing(db: PostgresDatabase) -> None:
    """The server answers COMMIT with ROLLBACK then, which is no error to it."""

    def swallow(tx: Transaction) -> None:
        with pytest.raises(psycopg.Error):
            tx.query("SELECT 1 FROM nowhere")

    def put_and_swallow(tx: Transaction) -> None:
        put(tx, "a")
        swallow(tx)

    for work in (swallow, put_and_swallow):
        with pytest.raises(SqlError, match="rolled back"):
            await db.transaction(work)
    assert await names(db) == []


async def test_stop_iteration_in_a_transaction_is_raised_as_a_bug(db: PostgresDatabase) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await db.transaction(lambda _tx: next(iter(())))


@pytest.mark.long
async def test_a_deadlock_is_resolved_by_running_one_of_two_again(db: PostgresDatabase) -> None:
    """It waits until the other is stored: they could meet a second time."""
    counted: list[tuple[str, ...]] = []
    db.count_with(lambda *names: counted.append(names))
    for name in ("a", "b"):
        await db.transaction(partial(put, name=name))
    both, runs, stored = threading.Barrier(2), count(), threading.Event()

    def change(tx: Transaction, first: str, second: str) -> None:
        is_again = next(runs) >= both.parties
        if is_again:
            assert stored.wait(SECONDS)
        tx.execute(SEAL, name=first, sealed=first)
        if not is_again:
            both.wait(SECONDS)
        tx.execute(SEAL, name=second, sealed=first)

    async def run(first: str, second: str) -> None:
        await db.transaction(partial(change, first=first, second=second))
        stored.set()

    await asyncio.gather(run("a", "b"), run("b", "a"))
    assert counted.count(("database_retries", "40P01")) == 1
    (sealed,) = {row["sealed"] for row in await db.query("SELECT sealed FROM kept_secrets")}
    assert sealed in {"a", "b"}


async def test_a_transaction_that_was_overtaken_sees_the_other_in_its_second_run(
    db: PostgresDatabase,
) -> None:
    """Only the last run's topics and counts take effect."""
    counted: list[tuple[str, ...]] = []
    db.count_with(lambda *names: counted.append(names))
    runs: list[bool] = []

    def find_or_put(tx: Transaction) -> None:
        is_there = tx.one(NAMES) is not None
        runs.append(is_there)
        tx.wake(f"run {len(runs)}")
        tx.count("run", str(len(runs)))
        if not is_there:
            other = db.own_writer()
            other.run(partial(put, name="a"))
            other.close()
            tx.execute(PUT, name="a")

    await db.transaction(lambda _tx: None)
    first, second = await listening(db, "run 1", "run 2")
    await db.transaction(find_or_put)
    assert runs == [False, True]
    assert (first.is_set(), second.is_set()) == (False, True)
    assert [names for names in counted if names[0] == "run"] == [("run", "2")]


async def test_a_statement_whose_columns_changed_is_prepared_again(db: PostgresDatabase) -> None:
    """As during an upgrade: the connections of an old replica know the old columns."""
    everything = partial(lambda tx: tx.query("SELECT * FROM probe"))
    for ask in (db.transaction, db.read):
        await asyncio.gather(*(ask(everything) for _ in range(OFTEN)))
    await db.transaction(lambda tx: tx.execute("ALTER TABLE probe ADD COLUMN more TEXT"))
    for ask in (db.transaction, db.read):
        assert await asyncio.gather(*(ask(everything) for _ in range(8))) == [[]] * 8


def test_a_statement_that_is_run_often_is_prepared_again_after_a_rollback(
    db: PostgresDatabase,
) -> None:
    number = "SELECT COUNT(*) AS n FROM pg_prepared_statements"

    def run_often(tx: Transaction) -> int:
        for _ in range(OFTEN):
            tx.one("SELECT 1 AS one")
        row = tx.one(number)
        assert row
        return int(row["n"])

    writer = db.own_writer()
    assert writer.run(run_often) > 0
    with pytest.raises(LookupError):
        writer.run(partial(fail, name="a"))
    assert writer.run(run_often) > 0
    writer.close()


async def test_a_cancelled_transaction_that_has_not_begun_never_runs(db: PostgresDatabase) -> None:
    may_end = threading.Event()
    held = [
        asyncio.create_task(db.transaction(lambda _tx: may_end.wait(SECONDS))) for _ in range(4)
    ]
    await asyncio.sleep(0)
    late = asyncio.create_task(db.transaction(partial(put, name="late")))
    await asyncio.sleep(0)
    late.cancel()
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(*held)
    await db.transaction(partial(put, name="next"))
    assert await names(db) == ["next"]


@pytest.mark.long
async def test_work_that_comes_one_by_one_has_one_connection(db: PostgresDatabase) -> None:
    for _ in range(3 * WRITERS):
        await db.transaction(touch)
        await db.one("SELECT 1 FROM payment_requests")
    row = await db.one(CONNECTIONS)
    writer, reader, listener = 1, 1, 1
    assert row
    assert row["number"] <= writer + reader + listener


async def test_work_that_comes_at_once_has_all_connections(db: PostgresDatabase) -> None:
    """Each transaction waits until all of them are under way."""
    together = threading.Barrier(WRITERS, timeout=10)

    def meet(tx: Transaction) -> None:
        tx.query("SELECT 1")
        together.wait()

    await db.transaction(touch)
    await asyncio.gather(*[db.transaction(meet) for _ in range(WRITERS)])
    await asyncio.gather(
        *[db.in_write_scope("chat").transaction(touch) for _ in range(2 * WRITERS)]
    )
    await asyncio.gather(*[db.transaction(meet) for _ in range(WRITERS)])
