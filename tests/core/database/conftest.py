"""A database whose commits wait for the disk, as in the product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core.database.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.core.database.database import Database


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    yield database
    database.close()
