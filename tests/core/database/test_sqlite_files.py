"""Files of SQLite: they belong to their owner alone, and no empty one takes a lost one's place."""

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
from bot.core.errors import ConfigProblem


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


def test_make_private_removes_the_rights_of_others_and_adds_none(tmp_path: Path) -> None:
    path, missing = tmp_path / "bot.db", tmp_path / "bot.db-wal"
    path.touch()
    for given, left in ((0o666, 0o600), (0o440, 0o400), (0o700, 0o700)):
        path.chmod(given)
        exposed = [path] if given != left else []
        assert private_files.find_exposed([path, missing]) == exposed
        assert private_files.make_private([path, missing]) == exposed
        assert private_files.find_exposed([path, missing]) == []
        assert mode(path) == left


def test_missing_folders_are_created_and_a_new_file_has_its_tables(tmp_path: Path) -> None:
    """Copied or moved without its -wal, it has them still."""
    with closing(open_database(f"sqlite:///{tmp_path}/a/b/bot.db")):
        assert (tmp_path / "a/b/bot.db").stat().st_size > 100_000


def test_a_file_that_cannot_be_used_is_a_problem_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, just text" * 100)
    open_database(f"sqlite:///{tmp_path}/whole").close()
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    for path in ("", "/text", "/text/bot.db", "/cut"):
        with pytest.raises(ConfigProblem, match=r"^DATABASE_URL: sqlite:///\S+ can't be used: "):
            open_database(f"sqlite:///{tmp_path}{path}")


def test_no_new_file_is_created_where_a_lost_files_newest_data_lies(tmp_path: Path) -> None:
    """SQLite would delete the -wal of the lost file, and all data in it."""
    url, path = f"sqlite:///{tmp_path}/bot.db", tmp_path / "bot.db"
    insert = "INSERT INTO kept_secrets (name, sealed) VALUES ('kept', 'x')"
    with closing(open_database(url)) as database:
        database.run(lambda tx: tx.execute(insert))
        path.rename(tmp_path / "moved.db")
        with pytest.raises(ConfigProblem, match="put the file back"):
            open_database(url)
        (tmp_path / "moved.db").rename(path)
        with closing(open_database(url)) as again:
            assert again.run(lambda tx: tx.query("SELECT name FROM kept_secrets")) == (
                [{"name": "kept"}]
            )


FORMER = {
    "moved": "{} was moved to a PostgreSQL server, and is {} now: set DATABASE_URL to that",
    "replaced": "{} is missing, but a restore has put {} aside: run restore again, or move",
}


@pytest.mark.parametrize("former", FORMER)
def test_no_new_database_takes_the_place_of_one_with_another_name(
    tmp_path: Path, former: str
) -> None:
    """It would be empty: sellers and payers of the former one would find nothing."""
    path, latest = tmp_path / "bot.db", f"bot-{former}-20261128T050000Z.db"
    for name in (latest, f"bot-{former}-20250101T000000Z.db"):
        (tmp_path / name).write_bytes(b"former data")
    for is_there in (False, True):
        if is_there:
            path.touch()  # an empty file is nobody's
        with pytest.raises(ConfigProblem) as caught:
            open_database(f"sqlite:///{path}")
        words = "DATABASE_URL: " + FORMER[former].format(path, latest)
        assert str(caught.value).startswith(words)
        assert path.exists() == is_there
        assert not path.with_suffix(".key").exists()


def test_former_databases_of_other_names_and_beside_one_with_data_are_no_matter(
    tmp_path: Path,
) -> None:
    for name in ("shop-moved-20261128T050000Z.db", "bot-moved-1.db", "bot-moved-20261128T050000Z"):
        (tmp_path / name).touch()
    url = f"sqlite:///{tmp_path}/bot.db"
    open_database(url).close()
    (tmp_path / "bot-moved-20261128T050000Z.db").touch()
    open_database(url).close()
