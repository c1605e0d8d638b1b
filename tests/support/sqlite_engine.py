"""The engine of SQLite behind a `Database`, for tests of its file, its locks and its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.database.sqlite.engine import SqliteDatabase

if TYPE_CHECKING:
    from bot.core.database.database import Database


def sqlite(db: Database) -> SqliteDatabase:
    assert isinstance(db, SqliteDatabase)
    return db
