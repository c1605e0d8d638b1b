"""The check behind /readyz: a commit reaches the disk, and after a failure rows find room too."""

from __future__ import annotations

import asyncio
import secrets
from functools import partial

import pytest

from bot.core.database import database
from bot.core.database.database import Transaction
from bot.core.database.postgres import checks
from bot.core.database.postgres.engine import PostgresDatabase, open_postgres
from bot.core.errors import StorageError
from tests.support.postgres_server import SmallDisk, can_mount

FILL = "INSERT INTO probe (number, filler) VALUES (1, :filler)"
COUNT = "SELECT COUNT(*) AS n FROM probe"
PID = "SELECT pg_backend_pid() AS pid, pg_sleep(0.01)::text AS slept"


async def test_a_check_leaves_no_row_and_waits_for_no_other_replica(db: PostgresDatabase) -> None:
    other = db.own_writer()
    db.health.failed("a test")
    with pytest.raises(LookupError):
        await asyncio.to_thread(other.run, partial(_check_within, db=db))
    other.close()
    assert await db.one(COUNT) == {"n": 0}


@pytest.mark.long
@pytest.mark.skipif(not can_mount(), reason="no user namespaces here: run as root")
async def test_a_full_disk_is_reported_until_rows_find_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server's log has room all the while."""
    monkeypatch.setattr(database, "PROVEN_SECONDS", 0.0)
    with SmallDisk() as server:
        db = open_postgres(server.clone("product"))
        with server.full():
            with pytest.raises(StorageError, match="53100"):
                await _fill_pages(db)
            assert "53100" in (await db.check() or "")
            assert "53100" in (await db.check() or "")
        assert await db.check() is None
        db.close()


async def _fill_pages(db: PostgresDatabase) -> None:
    for _ in range(100):  # some were free
        filler = secrets.token_hex(checks.FILLER_BYTES)
        await db.transaction(partial(_fill, filler=filler))


def _fill(tx: Transaction, filler: str) -> None:
    tx.execute("DELETE FROM probe")
    tx.execute(FILL, filler=filler)


def _check_within(tx: Transaction, db: PostgresDatabase) -> None:
    tx.execute(FILL, filler="")
    assert asyncio.run(db.check()) is None
    raise LookupError


async def test_checks_that_were_given_up_never_share_their_connection(db: PostgresDatabase) -> None:
    """/readyz waits two seconds; the thread of its check waits for the database, with the next."""
    writer = db.own_writer()
    works = [asyncio.to_thread(writer.run, lambda tx: tx.query(PID)) for _ in range(8)]
    assert len({str(row) for row in await asyncio.gather(*works)}) == 1
    writer.close()
