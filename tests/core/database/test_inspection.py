"""Inspection of a database file: it finds damage, and it ends in time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database import inspection
from bot.core.database.inspection import find_damage
from tests.support.machine_faults import locked


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
    monkeypatch.setattr(inspection, "STEPS", 1)
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
