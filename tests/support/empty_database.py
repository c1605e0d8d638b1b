"""An empty database, made once: making its schema waits for the disk many times."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bot.core.database.database import open_database

if TYPE_CHECKING:
    from bot.core.database.database import Database


def open_in(folder: Path) -> Database:
    """Open the database in a folder; where there is none, a copy: a real SQLite file."""
    path = folder / "bot.db"
    if not path.exists():
        copy_empty(path)
    return open_database(f"sqlite:///{path}")


def copy_empty(path: Path) -> Path:
    path.write_bytes(_empty_file())
    return path


@cache
def _empty_file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bot.db"
        open_database(f"sqlite:///{path}").close()
        return path.read_bytes()
