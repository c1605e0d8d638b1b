"""Building blocks of SQL statements: tables, columns and sums.

Columns are always named: a `SELECT *` fails in a running replica once a migration adds a column.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from graphlib import TopologicalSorter
from typing import Any

from bot.core.database import database, sqlite

BILLION = 1_000_000_000
BILLIONS, REST = f"amount / {BILLION}", f"amount - amount / {BILLION} * {BILLION}"
"""The parts of a column `amount` in SQL. It avoids %, which some drivers mistake for a parameter.

A sum of money may exceed 64 bits, and SQLite would add such integers as floats. The billions and
the rest of each amount are added separately: both sums fit, even of a billion payments.
"""


def split_amount(amount: int) -> tuple[int, int]:
    """Return the billions of an amount, and the rest."""
    return divmod(amount, BILLION)


def join_amount(row: Mapping[str, Any]) -> int:
    """Return the sum whose parts are the columns `billions` and `rest`."""
    return int(row["billions"]) * BILLION + int(row["rest"])


def columns_of(row: type[Any]) -> str:
    """Return the names of the fields of the dataclass `row`, as statements list columns."""
    return ", ".join(field.name for field in fields(row))


def of_table(table: str, columns: str) -> str:
    """Return `columns` with the name or alias of their table in front of each."""
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


# The tables of the schema as data: their columns, and an order in which rows can be inserted.


NUMBERS = "migrations"
"""The table of the schema's own version."""

OF_RUNNING_PROCESSES = frozenset({"probe", "replicas", "leads", "slices", "rates", "timelines"})
"""Tables about running processes and their server, whose rows are useless in another database."""

FILLED_BY_A_START = OF_RUNNING_PROCESSES | {NUMBERS, "kept_secrets", "lanes", "apps", "audit"}
"""Tables that have rows even before anybody has used the database."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str
    """As declared: INTEGER (32 bits), BIGINT, TEXT or BYTEA."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its columns, in the order of their declaration."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> str:
        """Return the names of all columns, as statements list them."""
        return ", ".join(column.name for column in self.columns)


def read_tables(version: int) -> tuple[Table, ...]:
    """Return the tables to copy in a version of the schema; referenced tables come first."""
    found, parents = {}, {}
    with closing(sqlite.in_memory(version)) as conn:
        for name in _names(conn):
            columns = conn.execute(f"PRAGMA table_info({name})")
            found[name] = Table(name, tuple(Column(str(row[1]), str(row[2])) for row in columns))
            references = conn.execute(f"PRAGMA foreign_key_list({name})")
            parents[name] = {str(row[2]) for row in references}
    order = TopologicalSorter(parents).static_order()
    return tuple(found[name] for name in order if name not in {NUMBERS, *OF_RUNNING_PROCESSES})


def list_tables(version: int) -> frozenset[str]:
    """Return the names of all tables of a version of the schema."""
    with closing(sqlite.in_memory(version)) as conn:
        return frozenset(_names(conn))


def _names(conn: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    return [str(name) for (name,) in conn.execute(sql)]


PAGE = 500
"""Rows of a page: the most that are in memory at once."""


async def read_pages(
    db: database.Database, select: str, keys: Mapping[str, object], **given: object
) -> AsyncIterator[list[database.Row]]:
    """Yield the rows of a SELECT with a WHERE, in the order of the columns `keys`, page by page.

    Each page starts after the last row of the previous page. `keys` has a value for each column
    that is smaller than all of its values.
    """
    columns, names = ", ".join(keys), [key.rpartition(".")[2] for key in keys]
    after = ", ".join(f":last_{name}" for name in names)
    sql = f"{select} AND ({columns}) > ({after}) ORDER BY {columns} LIMIT {PAGE}"
    last = dict(zip(names, keys.values(), strict=True))
    while rows := await db.query(sql, **given, **{f"last_{name}": last[name] for name in names}):
        yield rows
        last = rows[-1]
