"""Upgrades of a PostgreSQL database while replicas use it: nobody waits long, nothing is broken."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from bot.core.database import migrations
from bot.core.database.migrations import Concurrent, PostgresOnly, Removal, SqliteOnly
from bot.core.database.opening import open_database, open_for_command
from bot.core.database.postgres import migrating
from bot.core.errors import ConfigProblem
from tests.support.databases import PostgresDatabases
from tests.support.postgres_server import PostgresServer

pytestmark = pytest.mark.process

FIRST = migrations.MIGRATIONS[:1]
ADDED = ("ALTER TABLE apps ADD COLUMN color TEXT NOT NULL DEFAULT 'red'",)
ADDED_LATER = ("CREATE TABLE later (a TEXT)",)
INDEXED = (Concurrent("CREATE UNIQUE INDEX apps_color ON apps (color)"),)
VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'apps_color'::regclass"
REMOVED = (Removal("ALTER TABLE apps DROP COLUMN seller"),)


@pytest.fixture
def url(postgres: PostgresDatabases) -> Iterator[str]:
    made = postgres.new()
    yield made
    postgres.drop(made)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(migrating, "LOOK_SECONDS", 0.01)


def upgrade(url: str, monkeypatch: pytest.MonkeyPatch, *added: tuple[str, ...]) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, *added))
    open_database(url).close()


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(sql.encode()).fetchall()


def add_replica(url: str, migration: int) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("INSERT INTO replicas VALUES ('old', 5, 'all', '1', %s, '', 1)", [migration])


def test_an_addition_is_made_beneath_an_older_replica_which_goes_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statements name their columns, so that a new one breaks none."""
    sql = "SELECT id, name FROM apps"
    with closing(open_database(url)) as old:
        assert old.run(lambda tx: tx.query(sql)) == []
        add_replica(url, 1)
        upgrade(url, monkeypatch, ADDED)
        assert old.run(lambda tx: tx.query(sql)) == []
        monkeypatch.setattr(migrations, "MIGRATIONS", FIRST)
        open_database(url).close()
    assert ask(url, "SELECT number, needs FROM migrations ORDER BY 1") == [(1, 0), (2, 0)]


def test_each_engine_runs_its_own_statements(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = (
        SqliteOnly("CREATE TABLE ours (a TEXT)"),
        PostgresOnly("CREATE TABLE theirs (a TEXT)"),
        *INDEXED,
    )
    upgrade(url, monkeypatch, ADDED, mixed[1:2], INDEXED)
    assert ask(url, "SELECT to_regclass('ours'), to_regclass('theirs')::text") == [(None, "theirs")]
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, ADDED, mixed))
    with closing(open_database(f"sqlite:///{tmp_path}/bot.db")) as db:
        made = db.run(lambda tx: tx.query("SELECT name FROM sqlite_master ORDER BY name"))
    assert {"ours", "apps_color"} <= {row["name"] for row in made}
    assert "theirs" not in {row["name"] for row in made}


def test_an_index_is_built_while_others_write(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade(url, monkeypatch, ADDED, INDEXED, ADDED_LATER)
    assert ask(url, VALID) == [(True,)]
    assert ask(url, "SELECT number FROM migrations ORDER BY 1") == [(1,), (2,), (3,), (4,)]
    assert ask(url, "SELECT to_regclass('later')::text") == [("later",)]


def test_a_command_without_replicas_runs_every_migration(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that is built outside of transactions is no end of them."""
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, ADDED, INDEXED, ADDED_LATER))
    open_for_command(url).close()
    assert ask(url, VALID) == [(True,)]
    assert ask(url, "SELECT MAX(number) FROM migrations") == [(4,)]


def test_a_start_says_what_to_do_about_a_table_in_use(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "ATTEMPTS", 1)
    with psycopg.connect(url) as user:
        user.execute("SELECT 1 FROM apps")
        with pytest.raises(ConfigProblem, match="start it again when that has ended"):
            upgrade(url, monkeypatch, ADDED)


def test_an_index_that_was_left_unfinished_is_built_anew(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows of one color let the first attempt fail, which leaves the index invalid."""
    insert = (
        "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
        " VALUES ('a', '', '', '', 1), ('b', '', '', '', 1)"
    )
    with psycopg.connect(url) as conn:
        conn.execute(insert)
    with pytest.raises(ConfigProblem, match="could not create unique index"):
        upgrade(url, monkeypatch, ADDED, INDEXED)
    assert ask(url, VALID) == [(False,)]
    with psycopg.connect(url) as conn:
        conn.execute("DELETE FROM apps WHERE id = 'b'")
    upgrade(url, monkeypatch, ADDED, INDEXED)
    assert ask(url, VALID) == [(True,)]


def test_a_table_in_use_is_tried_again_and_its_users_go_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is waited for half a second at most: whoever comes later waits behind it."""
    slept = []

    with psycopg.connect(url) as user:
        user.execute("SELECT 1 FROM apps")

        def release(seconds: float) -> None:
            slept.append(seconds)
            user.rollback()

        monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, ADDED))
        monkeypatch.setattr(migrating, "time", type("", (), {"sleep": staticmethod(release)}))
        monkeypatch.setattr(migrating.upgrade, "__defaults__", (release,))
        open_database(url).close()
    assert slept == [0.01]
    assert ask(url, "SELECT MAX(number) FROM migrations") == [(2,)]


@pytest.fixture(params=["1s", "50ms"])
def circled(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of a server that looks for circles so long after a wait began."""
    with PostgresServer(deadlock_timeout=request.param) as server:
        made = server.clone("circled")
        open_database(made).close()
        yield made


def test_a_migration_gives_way_to_those_with_whom_it_waits_in_a_circle(
    circled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the server looks for circles sooner than the migration gives up by itself."""
    ended = threading.Event()
    monkeypatch.setattr(migrating.upgrade, "__defaults__", (lambda _seconds: ended.set(),))
    both = (*ADDED, "ALTER TABLE payments ADD COLUMN color TEXT")

    def pay() -> None:
        """Read the tables in the other order, until the migration gives way or is made."""
        with psycopg.connect(circled) as user:
            while not ended.is_set():
                user.execute("SELECT 1 FROM payments")
                wait_until_locked(circled, ended)
                with suppress(psycopg.errors.DeadlockDetected):
                    user.execute("SELECT 1 FROM apps")
                user.rollback()

    payer = threading.Thread(target=pay)
    payer.start()
    try:
        upgrade(circled, monkeypatch, both)
    finally:
        ended.set()
        payer.join()
    assert ask(circled, "SELECT MAX(number) FROM migrations") == [(2,)]


def wait_until_locked(url: str, ended: threading.Event) -> None:
    """Return once a migration has one table and waits for another, or it has ended."""
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    while not ended.is_set() and not ask(url, waits):
        time.sleep(0.005)


def test_a_removal_waits_for_no_dead_replica_and_refuses_a_living_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_replica(url, 1)
    real = migrating._beats

    def alive(tx: object) -> dict[str, int]:
        return {"old": real(tx)["old"] + 1}  # type: ignore[arg-type]

    monkeypatch.setattr(migrating, "_beats", alive)
    with pytest.raises(ConfigProblem, match=r"what this one removes \(old\): stop them first"):
        upgrade(url, monkeypatch, REMOVED)
    assert ask(url, "SELECT MAX(number) FROM migrations") == [(1,)]
    monkeypatch.setattr(migrating, "_beats", real)
    upgrade(url, monkeypatch, REMOVED)
    assert ask(url, "SELECT number, needs FROM migrations ORDER BY 1") == [(1, 0), (2, 2)]
    assert ask(url, "SELECT owner FROM replicas") == []


def test_a_replica_that_knows_the_removal_is_no_hindrance(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_replica(url, 2)
    upgrade(url, monkeypatch, REMOVED)
    assert ask(url, "SELECT owner FROM replicas") == [("old",)]


@pytest.mark.parametrize("engine_of", ["sqlite", "postgresql"])
def test_a_program_that_is_older_than_a_removal_does_not_start(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine_of: str
) -> None:
    address = url if engine_of == "postgresql" else f"sqlite:///{tmp_path}/bot.db"
    upgrade(address, monkeypatch, REMOVED, ADDED)
    monkeypatch.setattr(migrations, "MIGRATIONS", FIRST)
    for opened in (open_database, open_for_command):
        with pytest.raises(ConfigProblem, match=r"removed what this one uses \(schema 2\): update"):
            opened(address)
