"""The rows of a PostgreSQL server, written into a SQLite file: the format of backups."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from bot.core.database.sqlite.engine import in_memory
from bot.core.database.tables import read_tables
from bot.core.database.transfer.digests import Digest, digest
from bot.core.database.transfer.load import stream
from bot.core.errors import BotError

if TYPE_CHECKING:
    from pathlib import Path

    from bot.core.database.tables import Table
    from bot.core.database.transfer.sessions import Connection


def dump(conn: Connection, path: Path, version: int) -> None:
    """Write all rows into the empty file `path`, with the schema of `version`; compare both sides.

    Within the transaction of `conn`, whose snapshot is the moment of the copy. Raises BotError,
    sqlite3.Error where the file can't be written.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        _write_schema(file, version)
        file.execute("PRAGMA journal_mode = OFF")
        file.execute("PRAGMA synchronous = OFF")  # `publish` syncs it
        file.execute("BEGIN")
        for table in read_tables(version):
            if _write(conn, file, table) != digest(_rows(file, table)):
                raise BotError(f"{table.name}: what the file holds differs from what was sent")
        file.execute("COMMIT")
        file.execute("PRAGMA journal_mode = DELETE")


def _write_schema(file: sqlite3.Connection, version: int) -> None:
    with closing(in_memory(version)) as empty:
        empty.backup(file)


def _write(conn: Connection, file: sqlite3.Connection, table: Table) -> Digest:
    found = Digest()
    marks = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name} ({table.names}) VALUES ({marks})"  # noqa: S608 - our own names
    file.executemany(insert, found.count(stream(conn, table)))
    return found


def _rows(file: sqlite3.Connection, table: Table) -> sqlite3.Cursor:
    return file.execute(f"SELECT {table.names} FROM {table.name}")  # noqa: S608 - our own names
