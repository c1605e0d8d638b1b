"""Databases of tests, real files: a schema made once, and commits that don't wait for the disk.

No test cuts the power, and nothing less loses what the kernel has.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.core.database.database import Database
from bot.core.database.opening import open_database
from tests.support.sqlite_engine import sqlite


def open_in(folder: Path) -> Database:
    """Open the database in a folder; where there is none, an empty one."""
    path = folder / "bot.db"
    if not path.exists():
        copy_empty(path)
    database = open_database(f"sqlite:///{path}")
    sqlite(database)._writer._conn.execute("PRAGMA synchronous = OFF")
    return database


def copy_empty(path: Path) -> Path:
    path.write_bytes(_empty_file())
    return path


@cache
def _empty_file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bot.db"
        open_database(f"sqlite:///{path}").close()
        return path.read_bytes()
