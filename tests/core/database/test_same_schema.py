"""Both engines have one schema: the same tables, columns and keys; text is ordered by its bytes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database.database import Database
from bot.core.database.opening import open_database
from tests.support.databases import POSTGRESQL, SQLITE, TABLES
from tests.support.empty_database import copy_empty

pytestmark = pytest.mark.only(POSTGRESQL, "it compares with SQLite")

COLUMNS = {
    SQLITE: "SELECT name, \"notnull\" OR pk > 0 AS needed FROM pragma_table_info('{}')",
    POSTGRESQL: "SELECT column_name AS name, is_nullable = 'NO' AS needed"
    " FROM information_schema.columns WHERE table_name = '{}'",
}
KEYS = {
    SQLITE: "SELECT name FROM pragma_table_info('{}') WHERE pk > 0 ORDER BY pk",
    POSTGRESQL: "SELECT a.attname AS name FROM pg_index AS i"
    " CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place)"
    " JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number"
    " WHERE i.indisprimary AND i.indrelid = '{}'::regclass ORDER BY k.place",
}
REFERENCES = {
    SQLITE: 'SELECT "table" AS name FROM pragma_foreign_key_list(\'{}\') GROUP BY id, "table"',
    POSTGRESQL: "SELECT confrelid::regclass::text AS name FROM pg_constraint"
    " WHERE contype = 'f' AND conrelid = '{}'::regclass",
}
Schema = dict[str, tuple[dict[str, bool], list[str], list[str]]]


async def schema(db: Database) -> Schema:
    """Return the columns (and whether each must have a value), the key and the references."""
    found: Schema = {}
    for name in [row["name"] for row in await db.query(TABLES[db.engine])]:
        columns = await db.query(COLUMNS[db.engine].format(name))
        keys = await db.query(KEYS[db.engine].format(name))
        references = await db.query(REFERENCES[db.engine].format(name))
        found[name] = (
            {row["name"]: bool(row["needed"]) for row in columns},
            [row["name"] for row in keys],
            sorted(row["name"] for row in references),
        )
    return found


async def test_tables_columns_and_keys_are_the_same(db: Database, tmp_path: Path) -> None:
    with closing(open_database(f"sqlite:///{copy_empty(tmp_path / 'other.db')}")) as other:
        expected = {k: v for k, v in (await schema(other)).items() if not k.startswith("sqlite_")}
    found = await schema(db)
    assert expected.keys() == found.keys()
    assert [name for name in expected if expected[name] != found[name]] == []


async def test_text_is_ordered_by_its_bytes_whatever_the_servers_locale(db: Database) -> None:
    found = await db.query(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type = 'text'"
        " AND collation_name IS DISTINCT FROM 'C'"
    )
    assert found == []
