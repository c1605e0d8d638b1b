"""A database whose commits wait for the disk, as in the product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core.database.database import open_database
from tests.support.empty_database import copy_empty

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bot.core.database.database import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{copy_empty(tmp_path / 'bot.db')}")
    yield database
    database.close()
