"""Columns named in SQL: a `SELECT *` fails in a running replica once a migration adds a column."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def columns_of(row: type[Any]) -> str:
    """Return the columns of a table that has one for each field of the dataclass `row`."""
    return ", ".join(field.name for field in fields(row))


def of_table(table: str, columns: str) -> str:
    """Return `columns` with the name or alias of their table before each."""
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))
