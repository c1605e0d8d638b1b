"""Checks of a PostgreSQL server: room for a payment, and its timeline."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import closing
from functools import partial

import pytest

from bot.core.database import database
from bot.core.database.database import Transaction
from bot.core.database.opening import open_database
from bot.core.database.postgres import checks
from bot.core.database.postgres.engine import PostgresDatabase, open_postgres
from bot.core.errors import StorageError
from tests.support.postgres_server import PostgresServer, SmallDisk, can_mount

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


# A server that failed over or was recovered is noticed, until `restore --in-place` marked it.


def test_the_first_start_notes_the_timeline(db: PostgresDatabase) -> None:
    for _ in range(2):
        assert db.run(checks.note_timeline) is None
    (row,) = db.run(lambda tx: tx.query("SELECT system, timeline FROM timelines"))
    assert (int(row["system"]) > 0, row["timeline"]) == (True, 1)


OTHERS = {
    "system = 'another'": "the database was moved to another server: ",
    "timeline = 7": "the server went from timeline 7 to 1: ",
}


def test_another_server_or_timeline_is_told_with_the_command_to_run(db: PostgresDatabase) -> None:
    for change, message in OTHERS.items():
        assert db.run(checks.note_timeline) is None
        db.run(lambda tx: tx.execute(f"UPDATE timelines SET {change}"))  # noqa: B023 - run at once
        found = db.run(checks.note_timeline)
        assert found
        assert found.startswith(message)
        assert "restore --in-place" in found
        assert db.run(checks.find_change) == found
        db.run(checks.accept_timeline)


@pytest.mark.process
def test_a_promoted_standby_is_noticed() -> None:
    with PostgresServer() as primary:
        with closing(open_database(primary.clone("bot"))) as db:
            assert db.run(checks.note_timeline) is None
        with primary.standby() as standby:
            primary.stop()
            standby.promote()
            with closing(open_database(standby.url("bot"))) as db:
                found = db.run(checks.note_timeline)
    assert found
    assert found.startswith("the server went from timeline 1 to 2: ")
