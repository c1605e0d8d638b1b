"""Files with payers' data belong to their owner alone, from the first moment."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.core.database import private_files
from bot.core.database.opening import open_database


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    """An operator whose umask hides nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_database_is_never_open_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is private before SQLite opens it, and so are the files beside it."""
    path, seen, connect = tmp_path / "data" / "bot.db", set(), sqlite3.connect

    def watched(*args: Any, **options: Any) -> Any:
        seen.add(mode(path))
        return connect(*args, **options)

    monkeypatch.setattr(sqlite3, "connect", watched)
    with closing(open_database(f"sqlite:///{path}")):
        found = {one.name: mode(one) for one in path.parent.iterdir()}
    assert seen == {0o600}
    assert found == dict.fromkeys(["bot.db", "bot.db-wal", "bot.db-shm"], 0o600)
    assert mode(path.parent) == 0o700


def test_the_target_of_a_link_is_private_too(tmp_path: Path) -> None:
    (tmp_path / "bot.db").symlink_to(tmp_path / "elsewhere.db")
    with closing(open_database(f"sqlite:///{tmp_path}/bot.db")):
        assert mode(tmp_path / "elsewhere.db") == 0o600


def test_an_existing_database_keeps_its_bytes_and_its_mode(tmp_path: Path) -> None:
    """Only a start makes it private: commands beside a running bot change nothing."""
    url, path = f"sqlite:///{tmp_path}/bot.db", tmp_path / "bot.db"
    open_database(url).close()
    path.chmod(0o644)
    before = path.read_bytes()
    open_database(url).close()
    assert (path.read_bytes(), mode(path)) == (before, 0o644)


@pytest.mark.parametrize(("given", "left"), [(0o666, 0o600), (0o440, 0o400), (0o700, 0o700)])
def test_make_private_removes_the_rights_of_others_and_adds_none(
    tmp_path: Path, given: int, left: int
) -> None:
    path, missing = tmp_path / "bot.db", tmp_path / "bot.db-wal"
    path.touch()
    path.chmod(given)
    exposed = [path] if given != left else []
    assert private_files.find_exposed([path, missing]) == exposed
    assert private_files.make_private([path, missing]) == exposed
    assert private_files.find_exposed([path, missing]) == []
    assert mode(path) == left
