"""A database that may only be read, of either engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from bot.core.database.database import Database
from tests.support.databases import SQLITE
from tests.support.sqlite_engine import sqlite

if TYPE_CHECKING:
    from bot.core.database.postgres.engine import PostgresDatabase


WRITABLE = "-c default_transaction_read_only=off"
NAME = "SELECT current_database()"
OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def make_read_only(db: Database) -> None:
    _set(db, "on")


def make_writable(db: Database) -> None:
    _set(db, "off")


def _set(db: Database, value: str) -> None:
    if db.engine == SQLITE:
        writer = sqlite(db)._writer
        writer._thread.submit(lambda: writer._conn.execute(f"PRAGMA query_only={value}")).result()
    else:
        _set_on_server(db, value)  # type: ignore[arg-type]  # told by its engine


def _set_on_server(db: PostgresDatabase, value: str) -> None:
    """Do what a provider does when the disk is nearly full: connections begin anew."""
    with psycopg.connect(db.url, options=WRITABLE, autocommit=True) as server:
        ((name,),) = server.execute(NAME).fetchall()
        server.execute(
            f'ALTER DATABASE "{name}" SET default_transaction_read_only = {value}'.encode()
        )
        server.execute(OTHERS)
