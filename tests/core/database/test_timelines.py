"""A server that failed over or was recovered is noticed, until `restore --in-place` marked it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from bot.core.database import timelines
from bot.core.database.database import Database
from bot.core.database.opening import open_database
from tests.support.databases import PostgresDatabases
from tests.support.postgres_server import PostgresServer


@pytest.fixture
def server_db(postgres: PostgresDatabases) -> Iterator[Database]:
    url = postgres.new()
    with closing(open_database(url)) as db:
        yield db
    postgres.drop(url)


def test_the_first_start_notes_the_timeline(server_db: Database) -> None:
    for _ in range(2):
        assert server_db.run(timelines.note) is None
    (row,) = server_db.run(lambda tx: tx.query("SELECT system, timeline FROM timelines"))
    assert (int(row["system"]) > 0, row["timeline"]) == (True, 1)


@pytest.mark.parametrize(
    ("noted", "message"),
    [
        ("system = 'another'", "the database was moved to another server: "),
        ("timeline = 7", "the server went from timeline 7 to 1: "),
    ],
)
def test_another_server_or_timeline_is_told_with_the_command_to_run(
    server_db: Database, noted: str, message: str
) -> None:
    server_db.run(timelines.note)
    server_db.run(lambda tx: tx.execute(f"UPDATE timelines SET {noted}"))
    found = server_db.run(timelines.note)
    assert found
    assert found.startswith(message)
    assert "restore --in-place" in found
    assert server_db.run(timelines.find_change) == found
    server_db.run(timelines.accept)
    assert server_db.run(timelines.note) is None


@pytest.mark.process
def test_a_promoted_standby_is_noticed() -> None:
    with PostgresServer() as primary:
        with closing(open_database(primary.clone("bot"))) as db:
            assert db.run(timelines.note) is None
        with primary.standby() as standby:
            primary.stop()
            standby.promote()
            with closing(open_database(standby.url("bot"))) as db:
                found = db.run(timelines.note)
    assert found
    assert found.startswith("the server went from timeline 1 to 2: ")


def test_sqlite_has_no_timeline(tmp_path: object) -> None:
    with closing(open_database(f"sqlite:///{tmp_path}/bot.db")) as db:
        assert db.run(timelines.note) is None
        assert db.run(lambda tx: tx.query("SELECT * FROM timelines")) == []
