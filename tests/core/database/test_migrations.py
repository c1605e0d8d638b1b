"""Numbered migrations: each runs once and whole, and the schema that they make is consistent."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.core.database import migrations
from bot.core.database.database import Database, Transaction
from bot.core.database.opening import open_database
from bot.core.errors import ConfigProblem
from tests.support.databases import SQLITE

FIRST = migrations.MIGRATIONS[:1]
SECOND = (
    "ALTER TABLE apps ADD COLUMN color TEXT NOT NULL DEFAULT 'red'",
    "CREATE INDEX apps_color ON apps (color)",
    "UPDATE apps SET name = name || ', ' || color",
)
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with the first migration alone, and an application in it."""
    url = f"sqlite:///{tmp_path}/bot.db"
    monkeypatch.setattr(migrations, "MIGRATIONS", FIRST)
    with closing(open_database(url)) as db:
        db.run(add_app)
    return url


def add_app(tx: Transaction) -> None:
    tx.execute(
        "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
        " VALUES ('a', 'shop', 'h', 's', 1)"
    )


def everything(db: Database) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of all tables, and the statements that made them."""

    def read(tx: Transaction) -> dict[str, list[dict[str, Any]]]:
        made = tx.query("SELECT name, sql FROM sqlite_master ORDER BY name")
        tables = [row["name"] for row in tx.query(TABLES)]
        return {"": made} | {name: tx.query(f"SELECT * FROM {name}") for name in tables}

    return db.run(read)


def test_a_later_migration_runs_once_and_keeps_the_data(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, SECOND))
    for _ in range(2):
        with closing(open_database(url)) as db:
            apps = db.run(lambda tx: tx.query("SELECT name, color FROM apps"))
            assert apps == [{"name": "shop, red", "color": "red"}]
            numbers = db.run(lambda tx: tx.query("SELECT number FROM migrations ORDER BY number"))
            assert numbers == [{"number": 1}, {"number": 2}]


def test_a_migrated_database_has_the_schema_of_a_new_one(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, SECOND))
    with (
        closing(open_database(url)) as migrated,
        closing(open_database(f"sqlite:///{tmp_path}/new.db")) as new,
    ):
        assert everything(migrated)[""] == everything(new)[""]


def test_migrating_again_changes_nothing(url: str) -> None:
    with closing(open_database(url)) as db:
        before = everything(db)
        assert db.migrate() is False
        with closing(open_database(url)) as again:
            assert everything(again) == before == everything(db)


@pytest.mark.parametrize("broken", ["CREATE NONSENSE", "UPDATE apps SET no = 1"])
def test_a_migration_that_fails_leaves_the_database_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """And the next start runs it whole."""
    with closing(open_database(url)) as db:
        before = everything(db)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, (*SECOND, broken)))
    with pytest.raises(ConfigProblem, match="can't be used"):
        open_database(url)
    monkeypatch.setattr(migrations, "MIGRATIONS", FIRST)
    with closing(open_database(url)) as db:
        assert everything(db) == before
    monkeypatch.setattr(migrations, "MIGRATIONS", (*FIRST, SECOND))
    with closing(open_database(url)) as db:
        assert db.run(lambda tx: tx.query("SELECT color FROM apps")) == [{"color": "red"}]


@pytest.mark.only(SQLITE, "PRAGMA")
async def test_every_foreign_key_refers_to_a_key_of_a_table(db: Database) -> None:
    """SQLite creates a reference to a missing table or column, and fails when a row is written."""
    references = [
        (table["name"], reference)
        for table in await db.query(TABLES)
        for reference in await db.query(f"PRAGMA foreign_key_list({table['name']})")
    ]
    assert references
    for table, reference in references:
        columns = await db.query(f"PRAGMA table_info({reference['table']})")
        assert reference["to"] in {column["name"] for column in columns if column["pk"]}, table
    assert await db.query("PRAGMA foreign_key_check") == []
    assert await db.query("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
