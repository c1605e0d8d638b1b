"""The engine of SQLite behind a `Database`, for tests of its file, its locks and its threads."""

from __future__ import annotations

from bot.core.database.database import Database
from bot.core.database.sqlite import SqliteDatabase


def sqlite(db: Database) -> SqliteDatabase:
    assert isinstance(db, SqliteDatabase)
    return db
