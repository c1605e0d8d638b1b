"""Where a SQLite database lies: the path in its DATABASE_URL, and what must be there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote

from bot.core.errors import BotError, ConfigProblem

STAMP = r"\d{8}T\d{6}Z"
"""A time in the name of a file."""

MOVED, REPLACED = "{}-moved-{}{}", "{}-replaced-{}{}"
"""Names of a former database, moved to a server or replaced by a backup: its old name, the time,
its ending."""

IS_MOVED = "was moved to a PostgreSQL server, and is {} now: set DATABASE_URL to that server"
IS_REPLACED = "is missing, but a restore has put {} aside: run restore again"


def sqlite_path(url: str) -> str:
    """Return the path of `sqlite:///relative` or `sqlite:////absolute`. Raises ConfigProblem.

    Any other spelling is refused, since it would name another file than was meant.
    """
    scheme, _, rest = url.partition(":")
    path = unquote(rest[len("///") :])
    is_whole = scheme.lower() == "sqlite" and rest.startswith("///") and "\0" not in path
    is_for_shell = path.startswith(("~", "$"))  # which nothing expands here
    if not is_whole or is_for_shell or path in {"", ":memory:"} or "?" in rest or "#" in rest:
        raise ConfigProblem(
            "DATABASE_URL: write sqlite:///data/bot.db or sqlite:////an/absolute/path, without"
            " parameters; in the path write %23 for #, %3F for ? and %25 for %"
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
    """Raise ConfigProblem where a file is missing that was there.

    A new one would be empty, and SQLite would delete the data in a -wal that lies without its file.
    """
    file, log = Path(path), Path(path + "-wal")
    if file.exists() and file.stat().st_size > 0:
        return
    if log.exists() and log.stat().st_size > 0:
        raise ConfigProblem(
            f"DATABASE_URL: {path} is missing, but {log.name} beside it holds its newest data:"
            " put the file back there"
        )
    for name, fate in ((MOVED, IS_MOVED), (REPLACED, IS_REPLACED)):
        if former := _find_former(file, name):
            raise ConfigProblem(
                f"DATABASE_URL: {path} {fate.format(former)}, or move that file to another folder"
                " to begin with an empty database"
            )


def _find_former(file: Path, name: str) -> str | None:
    """Return the newest former database of this file that has such a name."""
    pattern = re.compile(name.format(re.escape(file.stem), STAMP, re.escape(file.suffix)))
    found = file.parent.iterdir() if file.parent.is_dir() else ()
    return max((one.name for one in found if pattern.fullmatch(one.name)), default=None)


def identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of the file at `path`: writes to a file without a name are lost."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before each transaction, and Path costs as much again
    except OSError:
        return None
    return found.st_dev, found.st_ino
