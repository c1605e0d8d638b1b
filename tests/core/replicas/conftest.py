"""Replicas over one database of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.core.database.database import Database
from bot.core.database.opening import open_database
from tests.support.databases import PostgresDatabases


@pytest.fixture
def shared(postgres: PostgresDatabases) -> Iterator[Database]:
    """Open a database that several replicas share."""
    url = postgres.new()
    database = open_database(url)
    yield database
    database.close()
    postgres.drop(url)
