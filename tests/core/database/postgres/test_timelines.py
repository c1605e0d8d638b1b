"""A server that failed over or was recovered is noticed, until `restore --in-place` marked it."""

from __future__ import annotations

from contextlib import closing

import pytest

from bot.core.database.opening import open_database
from bot.core.database.postgres import checks
from bot.core.database.postgres.engine import PostgresDatabase
from tests.support.postgres_server import PostgresServer


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
