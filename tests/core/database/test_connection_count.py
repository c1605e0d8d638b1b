"""PostgreSQL's engine opens only as many connections as it has work at once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bot.core.database.database import Database, Transaction
from bot.core.database.postgres.engine import WRITERS
from tests.support.databases import POSTGRESQL

WRITE = "UPDATE payment_requests SET id = id"


pytestmark = pytest.mark.only(POSTGRESQL, "SQLite has one writer, and its readers from the start")


def write(tx: Transaction) -> None:
    tx.execute(WRITE)


@pytest.mark.long
async def test_work_that_comes_one_by_one_has_one_connection(db: Database) -> None:
    for _ in range(3 * WRITERS):
        await db.transaction(write)
        await db.one("SELECT 1 FROM payment_requests")
    writer, reader, listener = 1, 1, 1
    assert await connections(db) <= writer + reader + listener


async def test_work_that_comes_at_once_has_all_connections(db: Database) -> None:
    """Each transaction waits until all of them are under way."""
    together = threading.Barrier(WRITERS, timeout=10)

    def meet(tx: Transaction) -> None:
        tx.query("SELECT 1")
        together.wait()

    await db.transaction(write)
    await asyncio.gather(*[db.transaction(meet) for _ in range(WRITERS)])
    await asyncio.gather(
        *[db.in_write_scope("chat").transaction(write) for _ in range(2 * WRITERS)]
    )
    await asyncio.gather(*[db.transaction(meet) for _ in range(WRITERS)])


async def connections(db: Database) -> int:
    """Count the server's connections, with the one that counts."""
    row = await db.one(
        "SELECT COUNT(*) AS number FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    assert row
    return int(row["number"])
