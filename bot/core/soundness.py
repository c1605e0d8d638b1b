"""Whether a database file is whole, looked at beside whoever uses it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from urllib.parse import quote

LOOK_SECONDS = 5.0
"""How long a look takes at most; a large file is then looked at in part."""

STEPS = 20_000
"""Instructions of SQLite between two looks at the clock."""

SOUND = "ok"


def damage(path: str, seconds: float = LOOK_SECONDS) -> str | None:
    """Say what SQLite finds broken in a file, None where it finds nothing in that time.

    Raises sqlite3.Error where it can't look.
    """
    until = time.monotonic() + seconds
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
        connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            ((found,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return None
            raise
    return None if found == SOUND else str(found)
