"""Databases of a PostgreSQL server without a table, and a file to load into them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import PostgresDatabases
from tests.support.filled_database import fill


@pytest.fixture
def url(postgres: PostgresDatabases) -> Iterator[str]:
    """Return the address of a database without tables."""
    made = postgres.bare()
    yield made
    postgres.drop(made)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Return a SQLite file with rows in every table."""
    return fill(tmp_path)
