"""Numbered migrations: each runs once and whole, on both engines, also beside replicas."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from bot.core.database import migrations
from bot.core.database.database import Database
from bot.core.database.opening import open_database, open_for_command
from bot.core.database.postgres import engine
from bot.core.errors import ConfigProblem
from tests.support.databases import POSTGRESQL, SQLITE, TABLES, PostgresDatabases, copy_empty, rows
from tests.support.postgres_server import PostgresServer

KNOWN = migrations.MIGRATIONS
LAST = len(KNOWN)
"""The number of the last migration of this version."""
SECOND = (
    "ALTER TABLE apps ADD COLUMN color TEXT NOT NULL DEFAULT 'red'",
    "CREATE INDEX apps_color ON apps (color)",
    "UPDATE apps SET name = name || ', ' || color",
)
ADDED = SECOND[:1]
APP = (
    "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
    " VALUES ('a', 'shop', 'h', 's', 1)"
)
APPS = "SELECT name, color FROM apps"
RAN = "SELECT number, needs FROM migrations ORDER BY number"
REPLICAS = 4

Upgrade = Callable[..., None]


def numbered(last: int) -> list[tuple[int, int]]:
    """Return the rows of migrations that remove nothing."""
    return [(number, 0) for number in range(1, last + 1)]


@pytest.fixture
def upgrade(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Upgrade:
    """Return a function that opens the database with migrations after those of this version."""

    def upgrade(*later: tuple[str, ...]) -> None:
        monkeypatch.setattr(migrations, "MIGRATIONS", (*KNOWN, *later))
        open_database(database_url).close()

    return upgrade


def test_a_schema_is_split_into_statements_without_comments() -> None:
    """SQLite stores a statement as it is written, and a restore compares it letter by letter."""
    text = "\n    -- One; two.\n    CREATE TABLE a (\n        b TEXT  -- c; d\n    );\n    DROP a;"
    assert migrations.statements(text) == ("CREATE TABLE a (\n        b TEXT\n    )", "DROP a")


def test_a_later_migration_runs_once_and_keeps_the_data(
    database_url: str, upgrade: Upgrade
) -> None:
    with closing(open_database(database_url)) as db:
        db.run(lambda tx: tx.execute(APP))
    for _ in range(2):
        upgrade(SECOND)
        assert rows(database_url, APPS) == [("shop, red", "red")]
        assert rows(database_url, RAN) == numbered(LAST + 1)
    with closing(open_database(database_url)) as db:
        assert db.migrate() is False


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    database_url: str, upgrade: Upgrade
) -> None:
    """And the next start runs it whole."""
    with closing(open_database(database_url)) as db:
        db.run(lambda tx: tx.execute(APP))
    for broken in ("CREATE NONSENSE", "UPDATE apps SET no = 1"):
        with pytest.raises(ConfigProblem, match="can't be used"):
            upgrade(("CREATE TABLE later (a TEXT)",), (*SECOND, broken))
        assert rows(database_url, "SELECT name FROM apps") == [("shop",)]
        assert rows(database_url, RAN) == numbered(LAST)
    upgrade(("CREATE TABLE later (a TEXT)",), SECOND)
    assert rows(database_url, APPS) == [("shop, red", "red")]


def test_an_older_version_goes_on_over_a_newer_schema_and_starts_over_it(
    database_url: str, upgrade: Upgrade
) -> None:
    """Its statements name their columns, so that a new one breaks none."""
    sql = "SELECT id, name FROM apps"
    with closing(open_database(database_url)) as old:
        assert old.run(lambda tx: tx.query(sql)) == []
        upgrade(ADDED)
        assert old.run(lambda tx: tx.query(sql)) == []
        upgrade()
    assert rows(database_url, RAN) == numbered(LAST + 1)


def test_a_program_that_is_older_than_a_removal_does_not_start(database_url: str) -> None:
    with closing(open_database(database_url)) as db:
        db.run(lambda tx: tx.execute(f"INSERT INTO migrations VALUES ({LAST + 1}, {LAST + 1})"))
    for opens in (open_database, open_for_command):
        with pytest.raises(ConfigProblem, match=rf"this one uses \(schema {LAST + 1}\): update"):
            opens(database_url)


# The schema of each engine.


@pytest.mark.only(SQLITE, "its catalogue")
def test_a_migrated_database_has_the_schema_of_a_new_one(
    database_url: str, upgrade: Upgrade, tmp_path: Path
) -> None:
    upgrade(SECOND)
    new = f"sqlite:///{tmp_path}/new.db"
    open_database(new).close()
    made = "SELECT name, sql FROM sqlite_master ORDER BY name"
    assert rows(database_url, made) == rows(new, made)


@pytest.mark.only(SQLITE, "PRAGMA")
async def test_every_foreign_key_refers_to_a_key_of_a_table(db: Database) -> None:
    """SQLite creates a reference to a missing table or column, and fails when a row is written."""
    references = [
        (table["name"], reference)
        for table in await db.query(TABLES[SQLITE])
        for reference in await db.query(f"PRAGMA foreign_key_list({table['name']})")
    ]
    assert references
    for table, reference in references:
        columns = await db.query(f"PRAGMA table_info({reference['table']})")
        assert reference["to"] in {column["name"] for column in columns if column["pk"]}, table
    assert await db.query("PRAGMA foreign_key_check") == []
    assert await db.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


COLUMNS = {
    SQLITE: "SELECT name, \"notnull\" OR pk > 0 AS needed FROM pragma_table_info('{}')",
    POSTGRESQL: "SELECT column_name AS name, is_nullable = 'NO' AS needed"
    " FROM information_schema.columns WHERE table_name = '{}'",
}
KEYS = {
    SQLITE: "SELECT name FROM pragma_table_info('{}') WHERE pk > 0 ORDER BY pk",
    POSTGRESQL: "SELECT a.attname AS name FROM pg_index AS i"
    " CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place)"
    " JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number"
    " WHERE i.indisprimary AND i.indrelid = '{}'::regclass ORDER BY k.place",
}
REFERENCES = {
    SQLITE: 'SELECT "table" AS name FROM pragma_foreign_key_list(\'{}\') GROUP BY id, "table"',
    POSTGRESQL: "SELECT confrelid::regclass::text AS name FROM pg_constraint"
    " WHERE contype = 'f' AND conrelid = '{}'::regclass",
}
Schema = dict[str, tuple[dict[str, bool], list[str], list[str]]]


async def schema(db: Database) -> Schema:
    """Return the columns (and whether each must have a value), the key and the references."""
    found: Schema = {}
    for name in [row["name"] for row in await db.query(TABLES[db.engine])]:
        columns = await db.query(COLUMNS[db.engine].format(name))
        keys = await db.query(KEYS[db.engine].format(name))
        references = await db.query(REFERENCES[db.engine].format(name))
        found[name] = (
            {row["name"]: bool(row["needed"]) for row in columns},
            [row["name"] for row in keys],
            sorted(row["name"] for row in references),
        )
    return found


@pytest.mark.only(POSTGRESQL, "it compares with SQLite")
async def test_both_engines_have_the_same_tables_columns_and_keys(
    db: Database, tmp_path: Path
) -> None:
    with closing(open_database(f"sqlite:///{copy_empty(tmp_path / 'other.db')}")) as other:
        expected = {k: v for k, v in (await schema(other)).items() if not k.startswith("sqlite_")}
    found = await schema(db)
    assert expected.keys() == found.keys()
    assert [name for name in expected if expected[name] != found[name]] == []


@pytest.mark.only(POSTGRESQL, "its collations")
def test_text_is_ordered_by_its_bytes_whatever_the_servers_locale(database_url: str) -> None:
    """A provider's database sorts by a language, and SQLite by bytes: pages follow that order."""
    sql = (
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type = 'text'"
        " AND collation_name IS DISTINCT FROM 'C'"
    )
    assert rows(database_url, sql) == []
    assert engine.adapted("CREATE TABLE t (a TEXT, text_id BIGINT, b TEXT NOT NULL)") == (
        'CREATE TABLE t (a TEXT COLLATE "C", text_id BIGINT, b TEXT COLLATE "C" NOT NULL)'
    )


# Upgrades of a PostgreSQL database while replicas use it.


def test_replicas_that_start_at_once_migrate_once(postgres: PostgresDatabases) -> None:
    url = postgres.bare()
    with ThreadPoolExecutor(REPLICAS) as starts:
        opened = list(starts.map(open_database, [url] * REPLICAS))
    assert [database.migrate() for database in opened] == [False] * REPLICAS
    for database in opened:
        database.close()
    postgres.drop(url)


@pytest.mark.only(POSTGRESQL, "its locks of tables")
def test_a_table_in_use_is_tried_again_and_its_users_go_on(
    database_url: str, upgrade: Upgrade, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is waited for half a second at most: whoever comes later waits behind it."""
    slept: list[float] = []

    with psycopg.connect(database_url) as user:

        def release(seconds: float) -> None:
            slept.append(seconds)
            user.rollback()

        user.execute("SELECT 1 FROM apps")
        sleeper = SimpleNamespace(sleep=slept.append, monotonic=time.monotonic)
        monkeypatch.setattr(engine, "time", sleeper)
        monkeypatch.setattr(engine, "ATTEMPTS", 1)
        with pytest.raises(ConfigProblem, match="start it again when that has ended"):
            upgrade(ADDED)
        sleeper.sleep = release
        monkeypatch.setattr(engine, "ATTEMPTS", 2)
        upgrade(ADDED)
    assert slept == [engine.PAUSE_SECONDS] * 2
    assert rows(database_url, RAN) == numbered(LAST + 1)


@pytest.fixture(params=["1s", "50ms"])
def circled(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of a server that looks for circles so long after a wait began."""
    with PostgresServer(deadlock_timeout=request.param) as server:
        made = server.clone("circled")
        open_database(made).close()
        yield made


@pytest.mark.process
def test_a_migration_gives_way_to_those_with_whom_it_waits_in_a_circle(
    circled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the server looks for circles sooner than the migration gives up by itself."""
    ended = threading.Event()
    sleeper = SimpleNamespace(sleep=lambda _seconds: ended.set(), monotonic=time.monotonic)
    monkeypatch.setattr(engine, "time", sleeper)
    both = (*ADDED, "ALTER TABLE payments ADD COLUMN color TEXT")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*KNOWN, both))

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
        open_database(circled).close()
    finally:
        ended.set()
        payer.join()
    assert rows(circled, RAN) == numbered(LAST + 1)


def wait_until_locked(url: str, ended: threading.Event) -> None:
    """Return once a migration has one table and waits for another, or it has ended."""
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    while not ended.is_set() and not rows(url, waits):
        time.sleep(0.005)
