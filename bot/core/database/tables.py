"""The tables of the schema as data: their columns, and an order in which rows can be inserted."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from bot.core.database.sqlite.engine import in_memory

if TYPE_CHECKING:
    import sqlite3

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
    with closing(in_memory(version)) as conn:
        found = {name: _read_table(conn, name) for name in _names(conn)}
        parents = {name: _parents(conn, name) for name in found}
    order = TopologicalSorter(parents).static_order()
    return tuple(found[name] for name in order if name not in {NUMBERS, *OF_RUNNING_PROCESSES})


def list_tables(version: int) -> frozenset[str]:
    """Return the names of all tables of a version of the schema, but for that of its number."""
    with closing(in_memory(version)) as conn:
        return frozenset(_names(conn))


def _names(conn: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    return [str(name) for (name,) in conn.execute(sql)]


def _read_table(conn: sqlite3.Connection, name: str) -> Table:
    rows = conn.execute(f"PRAGMA table_info({name})")
    return Table(name, tuple(Column(str(row[1]), str(row[2])) for row in rows))


def _parents(conn: sqlite3.Connection, name: str) -> set[str]:
    return {str(row[2]) for row in conn.execute(f"PRAGMA foreign_key_list({name})")}
