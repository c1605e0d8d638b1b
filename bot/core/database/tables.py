"""Building blocks of SQL statements: columns, sums and pages.

Columns are always named: a `SELECT *` fails in a running replica once a migration adds a column.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import fields
from typing import Any

from bot.core.database import database

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


def insert_into(table: str, columns: str, **expressions: str) -> str:
    """Return the INSERT of a row: a parameter for each column, or the SQL given for the column."""
    values = ", ".join(expressions.get(name, f":{name}") for name in columns.split(", "))
    return f"INSERT INTO {table} ({columns}) VALUES ({values})"  # noqa: S608 - our own names


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
