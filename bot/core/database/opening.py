"""The database: plain SQL behind one of two engines, which DATABASE_URL chooses.

Code everywhere knows `Database` and `Transaction` (see core/database/database.py); which engine is
behind them shows in their speed and in `engine` alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bot.core.database import database, sqlite, urls


def open_database(url: str, *, writing: bool = False) -> database.Database:
    """Open the database of `DATABASE_URL` and run its missing migrations.

    With `writing`, a test write finds out at once whether it can be written. Raises ConfigProblem
    where the URL or the database can't be used.
    """
    if not urls.is_postgres(url):
        return sqlite.open_sqlite(url, writing=writing)
    from bot.core.database.postgres import engine  # noqa: PLC0415 - loads psycopg

    return engine.open_postgres(url, writing=writing)


def place_of(url: str) -> str:
    """Return where a DATABASE_URL leads, for people: the whole path of a file, or a server."""
    return (
        urls.safe_url(url) if urls.is_postgres(url) else str(Path(urls.sqlite_path(url)).absolute())
    )


def open_for_command(
    url: str, *, writing: bool = False, creates: bool = False
) -> database.Database:
    """Open the database of `DATABASE_URL` for a command, which may run beside the bot.

    One that replicas use is not migrated. Raises BotError where there is none, unless the command
    `creates` it, and the errors of `open_database`.
    """
    if urls.is_postgres(url):
        from bot.core.database.postgres import engine, migrating  # noqa: PLC0415 - loads psycopg

        return engine.open_postgres(
            url, writing=writing, migrates=partial(migrating.may_migrate, creates=creates)
        )
    if not creates or Path(urls.sqlite_path(url)).exists():
        urls.existing_file(url)
    return sqlite.open_sqlite(url, writing=writing)
