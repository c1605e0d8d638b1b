"""Whether a database file is whole, looked at beside whoever uses it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

from bot.core.text import sanitize

if TYPE_CHECKING:
    from pathlib import Path

LOOK_SECONDS = 5.0
"""How long a look takes at most; a large file is then looked at in part."""

STEPS = 20_000
"""Instructions of SQLite between two looks at the clock."""

PATIENCE = 5.0
"""Seconds to wait for a lock that others hold."""

SOUND = "ok"


def find_damage(path: str, seconds: float = LOOK_SECONDS) -> str | None:
    """Say what SQLite finds broken in a file, None where it finds nothing in that time.

    Raises sqlite3.Error where it can't look.
    """
    until = time.monotonic() + seconds
    with closing(connect(path, "mode=ro")) as connection:
        connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            return flaw(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return None
            raise


def flaw(connection: sqlite3.Connection) -> str | None:
    """Say what is first found broken in a database, None where all is well."""
    ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    return None if found == SOUND else sanitize.line(found)


def inconsistency(connection: sqlite3.Connection) -> str | None:
    """Return what is first found wrong in a whole database, in indexes and references too.

    Takes several times as long as `flaw`.
    """
    ((found,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if found != SOUND:
        return sanitize.line(found)
    row = connection.execute("PRAGMA foreign_key_check").fetchone()
    return None if row is None else f"{row[0]} names a row of {row[2]} that is missing"


def connect(path: str | Path, how: str) -> sqlite3.Connection:
    """Open a file that is there, `how` as sqlite.org/uri.html has it; nothing is begun unasked.

    What its schema says is not trusted (sqlite.org/security.html).
    """
    address = f"file:{quote(str(path))}?{how}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection
