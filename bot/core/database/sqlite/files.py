"""Where a SQLite database lies: the path in its DATABASE_URL, and what must be there."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from bot.core.errors import BotError, ConfigProblem


def sqlite_path(url: str) -> str:
    """Return the path of `sqlite:///relative` or `sqlite:////absolute`. Raises ConfigProblem."""
    parts = urlsplit(url)
    path = unquote(parts.path[1:])
    if parts.scheme != "sqlite" or parts.netloc or path in {"", ":memory:"}:
        raise ConfigProblem(
            "DATABASE_URL: write sqlite:///data/bot.db or sqlite:////an/absolute/path"
        )
    return path


def existing_file(url: str) -> Path:
    """Return the database file of a DATABASE_URL. Raises BotError where there is none."""
    path = Path(sqlite_path(url))
    refuse_lost_file(str(path))
    if not path.is_file():
        raise BotError(
            f"DATABASE_URL: there is no database at {path}: start the bot once or fix the path"
        )
    return path


def url_of(path: Path) -> str:
    """Return the DATABASE_URL of a file."""
    return f"sqlite:///{quote(str(path))}"


def refuse_lost_file(path: str) -> None:
    """Raise ConfigProblem where a -wal lies without its file: SQLite would delete its data."""
    file, log = Path(path), Path(path + "-wal")
    is_gone = not file.exists() or file.stat().st_size == 0
    if is_gone and log.exists() and log.stat().st_size > 0:
        raise ConfigProblem(
            f"DATABASE_URL: {path} is missing, but {log.name} beside it holds its newest data:"
            " put the file back there"
        )


def identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of the file at `path`: writes to a file without a name are lost."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before each transaction, and Path costs as much again
    except OSError:
        return None
    return found.st_dev, found.st_ino
