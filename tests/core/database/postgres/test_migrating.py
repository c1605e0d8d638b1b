"""The schema on PostgreSQL: made once, and its text sorts as bytes do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from bot.core.database.postgres.engine import PostgresDatabase, open_postgres
from bot.core.database.postgres.migrating import adapted
from tests.support.postgres_server import PostgresServer

OTHERWISE_SORTED = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'
"""
REPLICAS = 4


@pytest.mark.long
def test_text_of_every_column_sorts_as_bytes(db: PostgresDatabase) -> None:
    """A provider's database sorts by a language, and SQLite by bytes: pages follow that order."""
    assert db.run(lambda tx: tx.query(OTHERWISE_SORTED)) == []


def test_a_column_named_like_a_type_stays() -> None:
    assert adapted("CREATE TABLE t (a TEXT, text_id BIGINT, b TEXT NOT NULL)") == (
        'CREATE TABLE t (a TEXT COLLATE "C", text_id BIGINT, b TEXT COLLATE "C" NOT NULL)'
    )


def test_replicas_that_start_at_once_migrate_once(server: PostgresServer) -> None:
    url = server.clone("fresh")
    with ThreadPoolExecutor(REPLICAS) as starts:
        opened = list(starts.map(open_postgres, [url] * REPLICAS))
    assert [database.migrate() for database in opened] == [False] * REPLICAS
    for database in opened:
        database.close()
    server.drop("fresh")
