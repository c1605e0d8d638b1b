"""A database whose commits wait for the disk, as in the product."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.core.database.database import Database
from bot.core.database.opening import open_database


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    yield database
    database.close()
