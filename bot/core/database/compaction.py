"""A database file rewritten, so that no deleted byte is left in it.

Every connection of the bot deletes securely: SQLite overwrites deleted rows, but not the copies
that page splits left in the free space of pages. VACUUM leaves none of these.
"""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from bot.core.database import snapshot
from bot.core.database.inspection import opened
from bot.core.errors import BotError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database

MAX_SIZE = 128 * 1024 * 1024
"""Bytes of the largest file that is rewritten beside a running bot, whose payers wait meanwhile
and are refused after five seconds (measured: 130 MB in a second, 50 MB on a busy machine)."""

LOG_SECONDS, PAUSE = 30.0, 0.05
"""The longest wait for readers of the -wal, and the time between two attempts."""


def compact(path: Path) -> bool:
    """Rewrite a database file without deleted bytes, and empty its -wal; writers wait meanwhile.

    Returns False, and only empties the -wal, where another process has open a file so large that
    payers would be refused. Raises BotError.
    """
    may_wait = path.stat().st_size <= MAX_SIZE or _is_alone(path)
    try:
        with opened(path, "mode=rw") as db:
            if may_wait:
                db.vacuum()
            _empty_log(db)
    except sqlite3.Error as error:
        raise BotError(f"{path}: can't be rewritten: {error}") from error
    return may_wait


def _is_alone(path: Path) -> bool:
    with snapshot.exclusive(path) as is_alone:
        return is_alone


def _empty_log(db: Database) -> None:
    until = time.monotonic() + LOG_SECONDS
    while next(db.query("PRAGMA wal_checkpoint(TRUNCATE)"))["busy"]:
        if time.monotonic() > until:
            raise BotError(
                "the -wal can't be emptied: another process reads the database all the time"
            )
        time.sleep(PAUSE)
