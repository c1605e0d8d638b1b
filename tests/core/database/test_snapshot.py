"""A database file in commands: damage is found in time, and compaction leaves no deleted byte."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database import migrations, snapshot
from bot.core.database.database import Transaction
from bot.core.database.opening import open_database
from bot.core.database.snapshot import compact, find_damage
from bot.core.errors import BotError
from tests.support.machine_faults import locked

ROWS, DELETED = 600, 150
SIZES = (0, 10, 100, 1000, 6000)
"""Characters of fillers: the largest need overflow pages."""


def secret(number: int) -> str:
    return f"<secret {number}>"


def fill(tx: Transaction) -> list[int]:
    """Store rows in random order, which splits pages; change and delete some of them.

    Returns the numbers of the deleted ones.
    """
    dice = random.Random(0)
    numbers = list(range(ROWS))
    dice.shuffle(numbers)
    tx.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, note TEXT)")
    tx.execute("CREATE INDEX people_name ON people (name)")
    for number in numbers:
        name, note = secret(number), "x" * dice.choice(SIZES) + secret(number)
        tx.execute(
            "INSERT INTO people (id, name, note) VALUES (:number, :name, :note)",
            number=number,
            name=name,
            note=note,
        )
    deleted = dice.sample(numbers, DELETED)
    for number in deleted[::2]:
        tx.execute("UPDATE people SET name = '', note = '' WHERE id = :number", number=number)
    for number in deleted[1::2]:
        tx.execute("DELETE FROM people WHERE id = :number", number=number)
    return deleted


def test_no_deleted_byte_is_left(tmp_path: Path) -> None:
    """Free pages, overflow pages, indexes, the -wal, and copies that page splits left."""
    path = tmp_path / "bot.db"
    with closing(open_database(f"sqlite:///{path}")) as db:
        deleted = db.run(fill)
    assert compact(path)
    whole = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert not [number for number in deleted if secret(number).encode() in whole]
    kept = set(range(ROWS)) - set(deleted)
    assert all(secret(number).encode() in whole for number in kept)


def test_a_process_that_reads_all_along_keeps_the_log_from_being_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "LOG_SECONDS", 0.0)
    monkeypatch.setattr(snapshot, "LOCK_SECONDS", 0.01)
    path = tmp_path / "bot.db"
    with (
        closing(open_database(f"sqlite:///{path}")) as db,
        closing(sqlite3.connect(path, isolation_level=None)) as reader,
    ):
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM migrations").fetchone()
        db.run(lambda tx: tx.execute("DELETE FROM lanes"))
        with pytest.raises(BotError, match="the -wal can't be emptied"):
            compact(path)


def test_spaces_behind_a_statement_are_no_other_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite stores those of an index; the first databases have them."""
    spaced = tuple(f"{statement}\n    " for statement in migrations.MIGRATIONS[0])
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (spaced,))
        open_database(f"sqlite:///{tmp_path}/bot.db").close()
    snapshot.check_schema(tmp_path / "bot.db", tmp_path / "bot.db")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database of a few thousand rows."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE a (b TEXT)")
        database.executemany("INSERT INTO a VALUES (?)", (("x" * 100,) for _ in range(9000)))
        database.commit()
    return path


def test_a_sound_file_is_sound_also_while_another_writes(file: Path) -> None:
    assert find_damage(str(file)) is None
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode=WAL")
    with locked(file):
        assert find_damage(str(file)) is None


def test_a_torn_page_is_found(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8192:12_288] = b"\x00" * 4096
    file.write_bytes(content)
    assert find_damage(str(file))


def test_a_check_ends_when_its_time_is_over(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that was checked until then was sound."""
    monkeypatch.setattr(snapshot, "STEPS", 1)
    assert find_damage(str(file), 0.0) is None


def test_a_file_that_is_no_database_cannot_be_checked(tmp_path: Path) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear Sam, " * 200)
    with pytest.raises(sqlite3.DatabaseError):
        find_damage(str(other))
    with pytest.raises(sqlite3.OperationalError):
        find_damage(str(tmp_path / "nothing"))


@pytest.mark.process
def test_the_running_bot_does_not_import_sqlite_utils() -> None:
    """Commands that inspect a file do; a start would pay for it in time and memory."""
    imports = "import sys, bot.cli.commands, bot.app.application"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; print('sqlite_utils' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
