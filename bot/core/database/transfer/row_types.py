"""The check that values of a SQLite file fit into PostgreSQL's columns.

SQLite stores any value in any column, and a file comes from outside. Its own errors would come in
the middle of a COPY, and name no column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bot.core.database.tables import Column, Table

SMALL = range(-(2**31), 2**31)
"""What PostgreSQL's INTEGER holds; SQLite's integers have 64 bits."""


def _is_small(value: object) -> bool:
    return type(value) is int and value in SMALL


def _is_text(value: object) -> bool:
    return type(value) is str and "\0" not in value


FITS: dict[str, Callable[[object], bool]] = {
    "INTEGER": _is_small,
    "BIGINT": lambda value: type(value) is int,
    "TEXT": _is_text,
    "BYTEA": lambda value: type(value) is bytes,
}


def check_rows(table: Table, rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """Yield the rows. Raises Unreadable at the first with a value that its column can't hold."""
    checks = [FITS[column.type] for column in table.columns]
    for row in rows:
        for value, fits in zip(row, checks, strict=True):
            if value is not None and not fits(value):
                raise Unreadable(_describe(table, row, checks))
        yield row


def _describe(table: Table, row: tuple[object, ...], checks: list[Callable[[object], bool]]) -> str:
    """Name the column and the kind of value; never the value, which may be a payer's."""
    fields = zip(table.columns, row, checks, strict=True)
    column, value = next(
        (column, value) for column, value, fits in fields if value is not None and not fits(value)
    )
    return f"{table.name}.{column.name} holds {_kind(column, value)}"


def _kind(column: Column, value: object) -> str:
    if isinstance(value, str) and column.type == "TEXT":
        return "a text with a NUL"
    if isinstance(value, int) and column.type == "INTEGER":
        return "a number beyond 32 bits"
    kinds = {int: "a number", float: "a fraction", str: "a text", bytes: "bytes"}
    return f"{kinds[type(value)]} instead of {column.type}"
