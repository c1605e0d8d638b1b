"""The rows of a SQLite file, loaded into the empty tables of a PostgreSQL server."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from bot.core.database import inspection
from bot.core.database.transfer.digests import Digest, digest
from bot.core.database.transfer.row_types import check_rows
from bot.core.errors import BotError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from bot.core.database.tables import Table
    from bot.core.database.transfer.sessions import Connection

CHUNK, CHUNK_OF_BYTES = 1_000, 16
"""Rows that a reader holds at a time; of tables with bytes, such as parts of files, fewer."""

TYPES = {"INTEGER": "int4", "BIGINT": "int8", "TEXT": "text", "BYTEA": "bytea"}


def load(conn: Connection, path: Path, tables: tuple[Table, ...]) -> int:
    """Copy the rows of `tables`, in their order, and compare both sides; return their number.

    Within the transaction of `conn`: what fails leaves nothing. Raises Unreadable for values that
    the server can't hold, sqlite3.Error where the file can't be read.
    """
    with inspection.opened(path, "mode=ro&immutable=1") as file:
        sent = {table: _copy(conn, file.conn, table) for table in tables}
    for table, expected in sent.items():
        if digest(stream(conn, table)) != expected:
            raise BotError(f"{table.name}: what the server stored differs from what it was sent")
        conn.execute(f"ANALYZE {table.name}")
    return sum(one.rows for one in sent.values())


def _copy(conn: Connection, file: sqlite3.Connection, table: Table) -> Digest:
    found = Digest()
    rows = file.execute(f"SELECT {table.names} FROM {table.name}")  # noqa: S608 - our own names
    copy_rows = f"COPY {table.name} ({table.names}) FROM STDIN (FORMAT BINARY)"
    with closing(rows), conn.cursor() as cursor, cursor.copy(copy_rows) as copy:
        copy.set_types([TYPES[column.type] for column in table.columns])
        for row in found.count(check_rows(table, rows)):
            copy.write_row(row)
    return found


def stream(conn: Connection, table: Table) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a server's table in any order; a large table takes no more memory."""
    sql = f"SELECT {table.names} FROM {table.name}"  # noqa: S608 - our own names
    with conn.cursor(binary=True) as cursor:
        has_bytes = any(column.type == "BYTEA" for column in table.columns)
        yield from cursor.stream(sql, size=CHUNK_OF_BYTES if has_bytes else CHUNK)
