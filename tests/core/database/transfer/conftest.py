"""Databases of a PostgreSQL server without a table, and a file to load into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.filled_database import fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.databases import PostgresDatabases


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
