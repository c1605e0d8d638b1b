"""Open the database of DATABASE_URL with one of the two engines.

The rest of the code uses only `Database` and `Transaction` (core/database/database.py).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bot.core.database import database, sqlite, urls


def open_database(url: str, *, writing: bool = False) -> database.Database:
    """Open the database of `DATABASE_URL` and run its missing migrations.

    With `writing`, a test write checks that it can be written to. Raises ConfigProblem if the URL
    or the database can't be used.
    """
    if not urls.is_postgres(url):
        return sqlite.open_sqlite(url, writing=writing)
    from bot.core.database.postgres import engine  # noqa: PLC0415 - loads psycopg

    return engine.open_postgres(url, writing=writing)


def place_of(url: str) -> str:
    """Describe the target of a DATABASE_URL: the absolute path of a file, or a server."""
    if urls.is_postgres(url):
        return urls.safe_url(url)
    return str(Path(urls.sqlite_path(url)).absolute())


def open_for_command(
    url: str, *, writing: bool = False, creates: bool = False
) -> database.Database:
    """Open the database of `DATABASE_URL` for a command that may run at the same time as the bot.

    A database that replicas use is not migrated. Raises BotError if there is no database, unless
    the command `creates` it, and the errors of `open_database`.
    """
    if urls.is_postgres(url):
        from bot.core.database.postgres import engine  # noqa: PLC0415 - loads psycopg

        return engine.open_postgres(
            url, writing=writing, migrates=partial(engine.may_migrate, creates=creates)
        )
    if not creates or Path(urls.sqlite_path(url)).exists():
        urls.existing_file(url)
    return sqlite.open_sqlite(url, writing=writing)
