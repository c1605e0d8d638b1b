"""Values go in and come out as with SQLite, and statements mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.core.database.database import Database, Row, Transaction
from bot.core.database.postgres.connection import SqlError, translate
from bot.core.database.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from bot.core.database.postgres.engine import PostgresDatabase


class Colour(StrEnum):
    RED = "red"


SAME: list[tuple[str, dict[str, Any]]] = [
    ("SELECT :x AS x", {"x": "ü€😀 '\"\\%"}),
    ("SELECT :x AS x", {"x": Colour.RED}),
    ("SELECT :x + 0 AS x", {"x": 2**62}),
    ("SELECT :x + 0 AS x", {"x": -1}),
    ("SELECT :x + 0 AS x", {"x": True}),
    ("SELECT :x AS x", {"x": b"\0\xff'"}),
    ("SELECT :x AS x", {"x": None}),
    ("SELECT :x AS x", {"x": 0.1}),
    ("SELECT :x = :x AS x, :x = :y AS y", {"x": 5, "y": 6, "not used": 7}),
    ("SELECT SUM(x) AS x FROM (SELECT :x AS x UNION ALL SELECT :y) AS two", {"x": 5, "y": 6}),
    ("SELECT COUNT(*) AS x FROM kept_secrets", {}),
    ("SELECT ':x' AS a, \"name\" || '::' AS b FROM (SELECT :x AS name) AS one", {"x": "n"}),
    ("SELECT name FROM kept_secrets WHERE name LIKE '%' || :x", {"x": "s"}),
    ("SELECT CAST(:x AS TEXT) IS NULL AS x", {"x": None}),
    ("SELECT 7 / 2 AS x, -7 / 2 AS y, 7 % 2 AS z", {}),
    (
        "SELECT x FROM (SELECT 'b' AS x UNION ALL SELECT 'B' UNION ALL SELECT 'a') AS t ORDER BY x",
        {},
    ),
]


@pytest.fixture
def sqlite_db(tmp_path: Path) -> Iterator[Database]:
    database = SqliteDatabase(str(tmp_path / "bot.db"))
    database.migrate()
    yield database
    database.close()


def test_both_engines_return_the_same(db: PostgresDatabase, sqlite_db: Database) -> None:
    def ask(database: Database, sql: str, params: dict[str, Any]) -> list[Row]:
        return database.run(lambda tx: tx.query(sql, **params))

    assert [ask(db, *one) for one in SAME] == [ask(sqlite_db, *one) for one in SAME]


def test_a_colon_in_text_names_and_comments_is_no_parameter() -> None:
    sql = "SELECT ':a', \":b\", x::text, :c -- :d\n, :e, :c /* :f */"
    text = "SELECT ':a', \":b\", x::text, $1 -- :d\n, $2, $1 /* :f */"
    assert translate(sql) == (text, ("c", "e"))


def test_a_missing_parameter_is_an_error(db: PostgresDatabase) -> None:
    with pytest.raises(KeyError, match="x"):
        db.run(lambda tx: tx.query("SELECT :x AS x", y=1))


def test_a_type_that_no_column_has_is_an_error(db: PostgresDatabase) -> None:
    values: list[object] = [[], {}, Decimal("0.5"), date(2026, 1, 1)]
    for value in values:
        with pytest.raises(SqlError, match=f"cannot adapt type .{type(value).__name__}."):
            db.run(lambda tx: tx.query("SELECT :x AS x", x=value))  # noqa: B023 - run at once


def test_a_whole_number_has_one_type_whatever_its_size(db: PostgresDatabase) -> None:
    """Else each size would be a prepared statement of its own."""
    kind = "SELECT pg_typeof(:x)::text AS kind"

    def ask(tx: Transaction) -> list[Row]:
        return [row for number in (1, 2**40, True) for row in tx.query(kind, x=number)]

    assert db.run(ask) == [{"kind": "bigint"}] * 3
