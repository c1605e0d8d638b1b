"""The database: plain SQL behind one of two engines, which DATABASE_URL chooses.

Code everywhere knows `Database` and `Transaction` (see core/database/interface.py); which engine is
behind them shows in their speed and in `engine` alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bot.core.database.interface import Database, Row, Run, Transaction
from bot.core.database.sqlite.engine import SqliteDatabase, in_memory, open_sqlite
from bot.core.database.sqlite.files import existing_file, sqlite_path, url_of
from bot.core.database.urls import check_url, is_postgres, safe_url

__all__ = [
    "Database",
    "Row",
    "Run",
    "SqliteDatabase",
    "Transaction",
    "check_url",
    "existing_file",
    "in_memory",
    "is_postgres",
    "open_database",
    "open_for_command",
    "place_of",
    "safe_url",
    "sqlite_path",
    "url_of",
]


def open_database(url: str, *, writing: bool = False) -> Database:
    """Open the database of `DATABASE_URL` and run its missing migrations.

    With `writing`, a test write finds out at once whether it can be written. Raises ConfigProblem
    where the URL or the database can't be used.
    """
    if not is_postgres(url):
        return open_sqlite(url, writing=writing)
    from bot.core.database.postgres.engine import open_postgres  # noqa: PLC0415 - loads psycopg

    return open_postgres(url, writing=writing)


def place_of(url: str) -> str:
    """Return where a DATABASE_URL leads, for people: the whole path of a file, or a server."""
    return safe_url(url) if is_postgres(url) else str(Path(sqlite_path(url)).absolute())


def open_for_command(url: str, *, writing: bool = False, creates: bool = False) -> Database:
    """Open the database of `DATABASE_URL` for a command, which may run beside the bot.

    One that replicas use is not migrated. Raises BotError where there is none, unless the command
    `creates` it, and the errors of `open_database`.
    """
    if is_postgres(url):
        from bot.core.database.postgres.engine import open_postgres  # noqa: PLC0415 - loads psycopg
        from bot.core.database.postgres.migrating import may_migrate  # noqa: PLC0415 - as above

        return open_postgres(url, writing=writing, migrates=partial(may_migrate, creates=creates))
    if not creates or Path(sqlite_path(url)).exists():
        existing_file(url)
    return open_sqlite(url, writing=writing)
