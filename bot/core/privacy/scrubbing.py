"""The bytes of a SQLite file: what was deleted from it taken out of them too, and looked for."""

from __future__ import annotations

import json
import mmap
import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from bot.core.database import private_files, snapshot
from bot.core.errors import BotError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

QUICK = 128 * 1024 * 1024
"""Bytes that are written anew while payers wait, who are refused after five seconds (measured: 130
MB in a second on an idle machine, 50 MB under load)."""

PATIENCE, PAUSE = 30.0, 0.05
"""Seconds that readers have to let go of what was, and between two looks."""


def compact(path: Path) -> bool:
    """Write the file anew without what was deleted from it, and empty its -wal.

    Whoever writes meanwhile waits as long as that takes. False, and only the -wal was emptied,
    where a running process has a file so large that payers would be refused. Raises BotError.
    """
    may_wait = path.stat().st_size <= QUICK or _is_alone(path)
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as db:
            if may_wait:
                db.execute("VACUUM")
            _empty_log(db)
    except sqlite3.Error as error:
        raise BotError(f"{path}: could not be written anew: {error}") from error
    return may_wait


def _is_alone(path: Path) -> bool:
    with snapshot.exclusive(path) as is_alone:
        return is_alone


def traces(path: Path, values: Collection[str]) -> list[str]:
    """Give those of the values that are still somewhere in the bytes of the file or beside it.

    As they are, in lower case, and as JSON escapes them. Only while this process has no connection
    to the file: reading it lets go of SQLite's locks.
    """
    found = set()
    for one in private_files.database_files(path):
        with suppress(FileNotFoundError), one.open("rb") as file:
            if not file.seek(0, 2):
                continue
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
                found |= {value for value in values if _is_in(whole, value)}
    return sorted(found)


def _is_in(whole: mmap.mmap, value: str) -> bool:
    return any(whole.find(form) >= 0 for form in _forms(value))


def _forms(value: str) -> set[bytes]:
    """Give a value as it may be written."""
    texts = {value, value.lower()}
    texts |= {json.dumps(text)[1:-1] for text in texts}
    return {text.encode("utf-8", "surrogatepass") for text in texts}


def _empty_log(db: sqlite3.Connection) -> None:
    """Bring the -wal into the file and cut it off; readers let go within their query."""
    until = time.monotonic() + PATIENCE
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > until:
            raise BotError("the -wal could not be emptied, for somebody reads all the time")
        time.sleep(PAUSE)


def holders(path: Path, value: str) -> list[str]:
    """Give the columns that hold a value now, as `table.column`. Raises BotError."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return [
                f"{table}.{column}"
                for (table,) in tables
                for _, column, *_ in db.execute(f'PRAGMA table_info("{table}")').fetchall()
                if db.execute(
                    f'SELECT 1 FROM "{table}" WHERE "{column}" LIKE :like LIMIT 1',  # noqa: S608 - its own tables' names
                    {"like": f"%{value}%"},
                ).fetchone()
            ]
    except sqlite3.Error as error:
        raise BotError(f"{path}: can't be looked into: {error}") from error
