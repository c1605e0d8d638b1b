"""Compaction of a database file: no byte of a deleted row is left, wherever SQLite had put it."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database import inspection, snapshot
from bot.core.database.database import Transaction
from bot.core.database.opening import open_database
from bot.core.database.snapshot import compact
from bot.core.errors import BotError

ROWS, DELETED = 600, 150
SIZES = (0, 10, 100, 1000, 6000)
"""Characters of fillers: the largest need overflow pages."""


def secret(number: int) -> str:
    return f"<secret {number}>"


def fill(tx: Transaction, seed: int) -> list[int]:
    """Store rows in random order, which splits pages; change and delete some of them.

    Returns the numbers of the deleted ones.
    """
    dice = random.Random(seed)
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


@pytest.mark.parametrize("seed", range(2))
def test_no_deleted_byte_is_left(tmp_path: Path, seed: int) -> None:
    """Free pages, overflow pages, indexes, the -wal, and copies that page splits left."""
    path = tmp_path / "bot.db"
    with closing(open_database(f"sqlite:///{path}")) as db:
        deleted = db.run(lambda tx: fill(tx, seed))
    assert compact(path)
    whole = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert not [number for number in deleted if secret(number).encode() in whole]
    kept = set(range(ROWS)) - set(deleted)
    assert all(secret(number).encode() in whole for number in kept)


def test_a_process_that_reads_all_along_keeps_the_log_from_being_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "LOG_SECONDS", 0.0)
    monkeypatch.setattr(inspection, "LOCK_SECONDS", 0.01)
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
