"""Databases of a PostgreSQL server that hold nothing yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.databases import PostgresDatabases


@pytest.fixture
def bare(postgres: PostgresDatabases) -> Iterator[str]:
    """Return the address of a database without tables."""
    made = postgres.bare()
    yield made
    postgres.drop(made)
