"""Write scopes: one transaction at a time, in all replicas, and under their lead alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from bot.core.database.database import Transaction, WriteLease
from bot.core.database.postgres.engine import (
    ABOUT_THE_SAME,
    WRITERS,
    PostgresDatabase,
    open_postgres,
)
from bot.core.errors import NoLongerLead, StorageError
from tests.support.databases import put
from tests.support.product_process import until

SECONDS = 10.0
ROUNDS = 25
LOCK_WAITS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
APPOINT = "UPDATE slices SET owner = :owner, term = :term WHERE name = 'chat'"


@pytest.fixture
def other(url: str) -> Iterator[PostgresDatabase]:
    """Return the database as another replica opens it."""
    database = open_postgres(url)
    yield database
    database.close()


async def test_transactions_of_a_write_scope_run_one_at_a_time_in_all_replicas(
    db: PostgresDatabase, other: PostgresDatabase
) -> None:
    ours, theirs = db.in_write_scope("chat"), other.in_write_scope("chat")
    began, may_end, entered = threading.Event(), threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        began.set()
        while not may_end.is_set():
            tx.query("SELECT pg_sleep(0.01)::text")  # the server ends a transaction that is idle

    async def goes_on() -> bool:
        return entered.is_set() or bool(await db.query(LOCK_WAITS))

    await ours.transaction(lambda _tx: None)  # its row is there
    first = asyncio.create_task(ours.transaction(hold))
    await asyncio.to_thread(began.wait, SECONDS)
    second = asyncio.create_task(theirs.transaction(lambda _tx: entered.set()))
    await until(goes_on)
    assert not entered.is_set()
    may_end.set()
    await asyncio.gather(first, second)
    assert entered.is_set()


async def test_a_write_scope_under_way_leaves_threads_to_other_transactions(
    db: PostgresDatabase,
) -> None:
    began, may_end = threading.Event(), threading.Event()

    def hold(_tx: Transaction) -> None:
        began.set()
        may_end.wait(SECONDS)

    chat = db.in_write_scope("chat")
    held = [asyncio.create_task(chat.transaction(hold)) for _ in range(2 * WRITERS)]
    await asyncio.to_thread(began.wait, SECONDS)
    await asyncio.wait_for(db.transaction(partial(put, name="a")), SECONDS)
    may_end.set()
    await asyncio.gather(*held)


async def test_transactions_about_the_same_leave_threads_to_others_and_all_end(
    db: PostgresDatabase,
) -> None:
    """So the payers of one drop don't keep those of other sellers waiting."""
    began, may_end = threading.Semaphore(0), threading.Event()

    def hold(_tx: Transaction) -> int:
        began.release()
        may_end.wait(SECONDS)
        return 1

    held = [asyncio.create_task(db.transaction(hold, "drop")) for _ in range(3 * WRITERS)]
    for _ in range(ABOUT_THE_SAME):
        assert await asyncio.to_thread(began.acquire, timeout=SECONDS)
    for other in ("", "another drop"):
        await asyncio.wait_for(db.transaction(partial(put, name=f"a{other}"), other), SECONDS)
    assert not began.acquire(blocking=False)
    may_end.set()
    assert sum(await asyncio.gather(*held)) == len(held)
    db._writers.close()  # its threads leave their places after they have answered
    assert not db._writers._begun
    assert not db._writers._lines


async def test_only_the_lead_of_a_write_scope_changes_it(db: PostgresDatabase) -> None:
    lead = WriteLease("replica", 2)
    chat = db.in_write_scope("chat", lead)
    with pytest.raises(NoLongerLead):
        await chat.transaction(partial(put, name="before"))
    await db.in_write_scope("chat").transaction(
        lambda tx: tx.execute(APPOINT, owner="replica", term=2)
    )
    await chat.transaction(partial(put, name="lead"))
    await db.transaction(lambda tx: tx.execute(APPOINT, owner="replica", term=3))
    with pytest.raises(NoLongerLead) as raised:
        await chat.transaction(partial(put, name="after"))
    assert not isinstance(raised.value, StorageError), "it would be repeated for ever"
    assert await chat.query("SELECT name FROM kept_secrets") == [{"name": "lead"}]


async def test_an_error_in_a_write_scope_lets_the_next_one_in(db: PostgresDatabase) -> None:
    chat = db.in_write_scope("chat")
    found = await asyncio.gather(
        chat.transaction(lambda tx: tx.query("SELECT 1 / 0")),
        chat.transaction(partial(put, name="a")),
        return_exceptions=True,
    )
    assert isinstance(found[0], Exception)
    assert found[1] == "a"


def test_the_name_of_a_write_scope_is_quoted(db: PostgresDatabase) -> None:
    """It stands in a statement without parameters."""
    name = "x' OR 'a' = 'a"
    db.in_write_scope(name).run(partial(put, name="a"))
    assert db.run(lambda tx: tx.query("SELECT name FROM slices")) == [{"name": name}]


@pytest.mark.parametrize("about", ["", "drop"])
async def test_transactions_that_wait_for_their_turn_are_finished_at_a_stop(
    url: str, about: str
) -> None:
    database = open_postgres(url)
    chat = database if about else database.in_write_scope("chat")
    names = [f"{number:02d}" for number in range(ROUNDS)]
    asked = [
        asyncio.create_task(chat.transaction(partial(put, name=name), about)) for name in names
    ]
    await asyncio.sleep(0)
    await asyncio.to_thread(database.close)
    assert await asyncio.gather(*asked) == names
    with pytest.raises(RuntimeError, match="closed"):
        await chat.transaction(partial(put, name="late"))
    with pytest.raises(RuntimeError, match="closed"):
        await chat.check()
    database.close()
