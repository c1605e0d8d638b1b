"""The tables of the schema as data: their columns, and an order in which rows can be inserted."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, fields
from graphlib import TopologicalSorter
from typing import Any

from bot.core.database import sqlite

# Sums of money beyond 64 bits, which a database adds up in two parts.
#
# SQLite would add such integers as floats. Of each amount the billions and the rest are added
# apart: both sums fit, for a billion payments too.


BILLION = 1_000_000_000
BILLIONS, REST = f"amount / {BILLION}", f"amount - amount / {BILLION} * {BILLION}"
"""The parts of a column `amount` in SQL, without %, which some drivers take for a parameter."""


def split_amount(amount: int) -> tuple[int, int]:
    """Return the billions of an amount, and the rest."""
    return divmod(amount, BILLION)


def join_amount(row: Mapping[str, Any]) -> int:
    """Return the sum whose parts are the columns `billions` and `rest`."""
    return int(row["billions"]) * BILLION + int(row["rest"])


# Columns named in SQL: a `SELECT *` fails in a running replica once a migration adds a column.


def columns_of(row: type[Any]) -> str:
    """Return the columns of a table that has one for each field of the dataclass `row`."""
    return ", ".join(field.name for field in fields(row))


def of_table(table: str, columns: str) -> str:
    """Return `columns` with the name or alias of their table before each."""
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


NUMBERS = "migrations"
"""The table of the schema's own version."""

OF_RUNNING_PROCESSES = frozenset({"probe", "replicas", "leads", "slices", "rates", "timelines"})
"""Tables about running processes and their server: no other database has a use for their rows."""

FILLED_BY_A_START = OF_RUNNING_PROCESSES | {NUMBERS, "kept_secrets", "lanes", "apps", "audit"}
"""Tables that hold rows though nobody has used the database yet."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `type` as declared: INTEGER (32 bits), BIGINT, TEXT or BYTEA."""

    name: str
    type: str


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
    """Return the tables with rows to copy of a version of the schema; what they refer to first."""
    with closing(sqlite.in_memory(version)) as conn:
        found = {name: _read_table(conn, name) for name in _names(conn)}
        parents = {name: _parents(conn, name) for name in found}
    order = TopologicalSorter(parents).static_order()
    return tuple(found[name] for name in order if name not in {NUMBERS, *OF_RUNNING_PROCESSES})


def list_tables(version: int) -> frozenset[str]:
    """Return the names of all tables of a version of the schema, but for that of its number."""
    with closing(sqlite.in_memory(version)) as conn:
        return frozenset(_names(conn))


def _names(conn: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    return [str(name) for (name,) in conn.execute(sql)]


def _read_table(conn: sqlite3.Connection, name: str) -> Table:
    rows = conn.execute(f"PRAGMA table_info({name})")
    return Table(name, tuple(Column(str(row[1]), str(row[2])) for row in rows))


def _parents(conn: sqlite3.Connection, name: str) -> set[str]:
    return {str(row[2]) for row in conn.execute(f"PRAGMA foreign_key_list({name})")}
