"""`backup`, `restore` and `restore --in-place` of a PostgreSQL database."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bot.core.database.opening import open_database
from bot.core.database.postgres import transfer
from bot.core.database.vault import Vault
from tests.support.command_line import run_bot
from tests.support.filled_database import KEY, ROWS, fill
from tests.support.product_process import rows

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("empty_folder")]

OWN = "the key of the cluster"


@pytest.fixture
def url(empty_folder: Path, bare: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty database, which DATABASE_URL names."""
    del empty_folder
    monkeypatch.setenv("DATABASE_URL", bare)
    monkeypatch.setenv("SECRET_KEY", OWN)
    monkeypatch.setattr(transfer, "LOOK_SECONDS", 0.05)
    return bare


@pytest.fixture
def kept(empty_folder: Path) -> Path:
    """A backup of a SQLite file in which every table has rows, and its key."""
    made = fill(empty_folder).rename("kept.db")
    made.with_suffix(".key").write_text(KEY)
    return made


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(sql.encode()).fetchall()


def change(url: str, sql: str) -> None:
    with psycopg.connect(url) as conn:
        conn.execute(sql.encode())


@pytest.fixture
def restored(url: str, kept: Path) -> str:
    run_bot("restore", str(kept), code=0)
    return url


@pytest.mark.usefixtures("kept")
def test_a_backup_of_a_file_becomes_the_database_of_a_server(url: str) -> None:
    done = run_bot("restore", "kept.db", code=0)
    assert f"payments:     {ROWS}, the newest at" in done.stdout
    assert ask(url, "SELECT COUNT(*) FROM payments") == [(ROWS,)]
    sealed = ask(url, "SELECT sealed FROM kept_secrets ORDER BY name")
    assert sorted(Vault(OWN).open(str(text)) for (text,) in sealed) == [
        f"secret {number}" for number in range(ROWS)
    ]
    run_bot("apps", "list", code=0)


def test_what_waited_is_uncertain_and_belongs_to_no_worker(restored: str) -> None:
    found = ask(
        restored,
        "SELECT MIN(uncertain), COUNT(lease) FROM outbox WHERE state IN ('waiting', 'leased')",
    )
    assert found == [(1, 0)]
    assert ask(restored, "SELECT action FROM audit WHERE action LIKE 'backup.%'") == [
        ("backup.restored",)
    ]


def test_a_server_with_data_is_replaced_with_the_option_alone(restored: str) -> None:
    change(restored, "DELETE FROM delivery_attempts")
    refused = run_bot("restore", "kept.db")
    assert (refused.exit_code, ask(restored, "SELECT COUNT(*) FROM delivery_attempts")) == (
        1,
        [(0,)],
    )
    assert "restore --replace moves it aside" in refused.stderr
    done = run_bot("restore", "--replace", "kept.db", code=0)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("set aside")]
    schema = line.rpartition(" ")[2]
    assert ask(restored, f"SELECT COUNT(*) FROM {schema}.delivery_attempts") == [(0,)]
    assert ask(restored, "SELECT COUNT(*) FROM delivery_attempts") == [(ROWS,)]


@pytest.mark.usefixtures("kept")
def test_an_unused_server_is_replaced_without_a_trace(url: str) -> None:
    open_database(url).close()
    done = run_bot("restore", "kept.db", code=0)
    assert "set aside" not in done.stdout
    schemas = ask(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'public%'")
    assert schemas == [("public",)]


@pytest.fixture
def beating(restored: str) -> Iterator[None]:
    """A replica that beats."""
    change(restored, "INSERT INTO replicas VALUES ('r1', 1, 'all', '1', 1, '', 1)")
    done = threading.Event()

    def beat() -> None:
        with psycopg.connect(restored, autocommit=True) as conn:
            while not done.wait(0.05):
                conn.execute("UPDATE replicas SET beat = beat + 1")

    thread = threading.Thread(target=beat)
    thread.start()
    yield
    done.set()
    thread.join()


@pytest.mark.usefixtures("beating")
@pytest.mark.parametrize("command", [("--replace", "kept.db"), ("--in-place",)])
def test_nothing_is_restored_beneath_a_living_replica(
    restored: str, command: tuple[str, ...]
) -> None:
    change(restored, "UPDATE outbox SET uncertain = 0")
    refused = run_bot("restore", *command, code=1)
    assert refused.stderr == (
        "the database is in use by 1 running replica (r1): stop the bot everywhere first\n"
    )
    assert ask(restored, "SELECT MAX(uncertain) FROM outbox") == [(0,)]


def test_in_place_the_messages_are_marked_and_nothing_is_copied(restored: str) -> None:
    """A replica that died without a word, and one that led, are no hindrance and forgotten."""
    change(restored, "UPDATE outbox SET uncertain = 0, lease = 'gone/1' WHERE state = 'leased'")
    change(restored, "UPDATE outbox SET uncertain = 0, body = 'no JSON' WHERE state = 'waiting'")
    change(restored, "INSERT INTO replicas VALUES ('gone', 1, 'all', '1', 1, '', 1)")
    change(restored, "INSERT INTO leads VALUES ('chat', 'gone', 4)")
    change(restored, "INSERT INTO slices VALUES ('chat', 'gone', 4)")
    before = ask(restored, "SELECT * FROM payments ORDER BY id")
    waiting = ask(restored, "SELECT COUNT(*) FROM outbox WHERE state = 'waiting'")[0][0]
    leased = ask(restored, "SELECT COUNT(*) FROM outbox WHERE state = 'leased'")[0][0]
    done = run_bot("restore", "--in-place", code=0)
    assert f"may repeat:   {leased} messages that waited to be sent\n" in done.stdout
    assert f"unreadable:   {waiting} messages" in done.stdout
    assert ask(restored, "SELECT * FROM payments ORDER BY id") == before
    found = ask(restored, "SELECT MIN(uncertain), COUNT(lease) FROM outbox WHERE state = 'leased'")
    assert found == [(1, 0)]
    assert ask(restored, "SELECT owner FROM replicas") == []
    assert ask(restored, "SELECT owner, term FROM leads") == [("", 5)]
    assert ask(restored, "SELECT owner, term FROM slices") == [("", 5)]


def test_in_place_a_key_that_opens_no_secret_changes_nothing(
    restored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(restored, "UPDATE outbox SET uncertain = 0")
    monkeypatch.setenv("SECRET_KEY", "another")
    refused = run_bot("restore", "--in-place", code=2)
    assert refused.stderr.startswith("SECRET_KEY: the secrets in the database were sealed with")
    assert ask(restored, "SELECT MAX(uncertain) FROM outbox") == [(0,)]


def test_in_place_is_for_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:///data/bot.db")
    refused = run_bot("restore", "--in-place")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "is for PostgreSQL" in refused.stderr


@pytest.mark.parametrize("command", [(), ("--in-place", "kept.db"), ("--in-place", "--replace")])
def test_a_restore_is_of_a_file_or_in_place(command: tuple[str, ...]) -> None:
    refused = run_bot("restore", *command, code=2)
    assert "give either FROM or --in-place" in refused.stderr


def test_a_hostile_backup_leaves_the_server_as_it_was(restored: str) -> None:
    with closing(sqlite3.connect("kept.db")) as db:
        db.execute("UPDATE listings SET token = 'a' || char(0) WHERE id = 'listings-é-0'")
        db.commit()
    refused = run_bot("restore", "--replace", "kept.db", code=1)
    assert "listings.token holds a text with a NUL" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert ask(restored, "SELECT COUNT(*) FROM listings") == [(ROWS,)]
    schemas = ask(restored, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'public%'")
    assert schemas == [("public",)]


def test_a_backup_of_a_server_is_in_its_audit_log_and_named_by_the_time(restored: str) -> None:
    Path("away").mkdir()
    done = run_bot("backup", "away")
    assert (done.exit_code, done.stderr) == (0, "")
    (made,) = Path("away").iterdir()
    assert made.name.startswith("bot-")
    assert ask(restored, "SELECT subject FROM audit WHERE action = 'backup.made'") == [(made.name,)]
    assert rows(made, "SELECT COUNT(*) FROM payments") == [(ROWS,)]


def test_a_server_without_a_database_makes_no_backup(url: str) -> None:
    refused = run_bot("backup", "kept.db", code=1)
    assert "there is no database yet" in refused.stderr
    assert ask(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []
    assert not Path("kept.db").exists()
