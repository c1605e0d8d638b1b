"""A database goes from SQLite to PostgreSQL and back, and no value of any table changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bot.core.database import snapshot
from bot.core.database.postgres import copying, transfer
from bot.core.database.postgres.copying import Connection, Digest, Table, digest
from bot.core.errors import BotError, Unreadable
from tests.support.databases import PostgresDatabases
from tests.support.filled_database import ROWS, TABLES, fill

pytestmark = pytest.mark.process

STAMP = "20261123T120000Z"


@pytest.fixture
def url(postgres: PostgresDatabases) -> Iterator[str]:
    """Return the address of a database without tables."""
    made = postgres.bare()
    yield made
    postgres.drop(made)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Return a SQLite file with rows in every table."""
    return fill(tmp_path)


def digests(path: Path) -> dict[str, Digest]:
    with snapshot.opened(path, "mode=ro") as db:
        return {
            table.name: digest(db.conn.execute(f"SELECT {table.names} FROM {table.name}"))
            for table in TABLES
        }


def load_into(url: str, path: Path, *, replaces: bool = False) -> str | None:
    with transfer.open_destination(url, "embedded", None if replaces else "move it") as destination:
        return destination.load(path, STAMP)


def test_every_table_comes_back_as_it_was(url: str, filled: Path, tmp_path: Path) -> None:
    before = digests(filled)
    assert {one.rows for one in before.values()} == {ROWS}
    assert load_into(url, filled) is None
    copy = tmp_path / "copy.db"
    transfer.back_up(url, copy)
    assert digests(copy) == before
    snapshot.check_foreign(copy, copy)


def test_no_row_about_running_processes_is_copied(url: str, filled: Path, tmp_path: Path) -> None:
    load_into(url, filled)
    with psycopg.connect(url) as conn:
        conn.execute("INSERT INTO rates VALUES ('api', 'x', 1, 1)")
        conn.execute("INSERT INTO leads VALUES ('chat', 'me', 3)")
    copy = tmp_path / "copy.db"
    transfer.back_up(url, copy)
    with closing(sqlite3.connect(copy)) as db:
        for table in ("rates", "leads", "replicas", "slices", "probe", "timelines"):
            assert db.execute(f"SELECT COUNT(*) FROM {table}").fetchone() == (0,), table


def test_a_backup_is_of_one_moment(
    url: str, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed while it is made isn't in it, in no table."""
    load_into(url, filled)
    written = copying._write

    def meanwhile(conn: Connection, file: sqlite3.Connection, table: Table) -> Digest:
        with psycopg.connect(url) as other:
            other.execute("INSERT INTO audit VALUES (%s, 1, '', '', '', '')", [table.name])
            other.execute("DELETE FROM unsubscribed")
        return written(conn, file, table)

    monkeypatch.setattr(copying, "_write", meanwhile)
    copy, before = tmp_path / "copy.db", digests(filled)
    transfer.back_up(url, copy)
    assert digests(copy) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE lanes SET turn = 4294967296", "lanes.turn holds a number beyond 32 bits"),
        ("UPDATE outbox SET due_at = 'soon'", "outbox.due_at holds a text instead of BIGINT"),
        ("UPDATE outbox SET note = 'a' || char(0) || 'b'", "outbox.note holds a text with a NUL"),
        ("UPDATE images SET data = 'text'", "images.data holds a text instead of BYTEA"),
        ("UPDATE images SET created_at = 1.5", "images.created_at holds a fraction"),
        ("UPDATE posts SET listing_id = 'none'", "holds data that this program never wrote"),
    ],
)
def test_a_hostile_file_leaves_the_server_empty(
    url: str, filled: Path, change: str, message: str
) -> None:
    """The last change alone would come as far as the server, in the middle of the load."""
    with closing(sqlite3.connect(filled)) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(Unreadable, match=message):
        load_into(url, filled)
    with psycopg.connect(url) as conn:
        assert tables(conn) == []


def tables(conn: psycopg.Connection) -> list[tuple[str, ...]]:
    return conn.execute(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'public%' ORDER BY 1, 2"
    ).fetchall()


def test_rows_that_the_server_stored_otherwise_are_found(
    url: str, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = copying._copy

    def changed(conn: Connection, file: sqlite3.Connection, table: Table) -> Digest:
        found = copied(conn, file, table)
        conn.execute("UPDATE audit SET actor = 'x' WHERE id = (SELECT MAX(id) FROM audit)")
        return found

    monkeypatch.setattr(copying, "_copy", changed)
    with pytest.raises(BotError, match="audit: what the server stored differs"):
        load_into(url, filled)
    with psycopg.connect(url) as conn:
        assert tables(conn) == []


def test_a_database_with_data_is_moved_into_a_schema_of_its_own(url: str, filled: Path) -> None:
    load_into(url, filled)
    with pytest.raises(BotError, match="holds data"):
        load_into(url, filled)
    aside = load_into(url, filled, replaces=True)
    assert aside == "public_replaced_20261123t120000z"
    with psycopg.connect(url) as conn:
        for schema in ("public", aside):
            counted = conn.execute(f"SELECT COUNT(*) FROM {schema}.payments").fetchone()
            assert counted == (ROWS,)
        assert conn.execute("SELECT number FROM migrations").fetchall() == [(1,)]


def test_tables_of_another_program_are_left_alone(url: str, filled: Path) -> None:
    with psycopg.connect(url) as conn:
        conn.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(BotError, match=r"the table public\.notes is not ours"):
        load_into(url, filled, replaces=True)


def test_the_tables_are_locked_against_everybody_else(url: str, filled: Path) -> None:
    load_into(url, filled)
    with psycopg.connect(url) as other:
        other.execute("SELECT COUNT(*) FROM payments")
        with pytest.raises(BotError, match="the database is in use"):
            load_into(url, filled, replaces=True)
