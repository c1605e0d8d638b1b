"""`restore` on real disks: other files beside the database, no hard links."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database import private_files
from bot.core.database.opening import open_database
from bot.core.database.vault import Vault
from bot.core.errors import BotError
from bot.service.requests import applications
from tests.support.command_line import (
    DATABASE,
    DATABASE_URL,
    back_up_older_state,
    contents_of_data,
    names_of_applications,
    replaced_databases,
    run_bot,
    start_once,
)
from tests.support.service_harness import NOON

OTHERS = (".bot.notes.txt", ".bot.db.12345678.txt", ".bot.env", ".bot-replaced-x.key.12345678")
LEFT = (
    ".bot.db.abc_1234", ".bot.db.abc_1234-wal", ".bot.key.abcdefgh",
    ".bot-replaced-20260101T000000Z.key.abcdefgh",
)  # fmt: skip


pytestmark = pytest.mark.usefixtures("_kept")


@pytest.fixture
def _kept(empty_folder: Path) -> None:
    del empty_folder
    back_up_older_state()


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_restore_deletes_leftovers_of_restores_and_no_other_file() -> None:
    for name in (*OTHERS, *LEFT):
        Path("data", name).touch()
    Path("data/.bot.db.a_folder").mkdir()
    run_bot("restore", "--replace", "kept.db", code=0)
    hidden = {path.name for path in Path("data").iterdir() if path.name.startswith(".")}
    assert hidden == {*OTHERS, ".bot.db.a_folder"}


def test_brackets_in_a_file_name_are_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """`[bt]` in the name of a file matches no other file."""
    monkeypatch.setenv("DATABASE_URL", "sqlite:///data/[bt].db")
    DATABASE.rename("data/[bt].db")
    DATABASE.with_suffix(".key").rename("data/[bt].key")
    second = Path("data/b-replaced-20260101T000000Z.db")
    os.link("data/[bt].db", second)
    for name in (".b.db.abcdefgh", ".[bt].db.abcdefgh"):
        Path("data", name).touch()
    run_bot("restore", "--replace", "kept.db", code=0)
    assert names_of_applications(Path("data/[bt].db")) == ["shop"]
    assert second.exists()
    assert [path.name for path in Path("data").glob(".*")] == [".b.db.abcdefgh"]


def started() -> None:
    """Do as the first start does: record the bot's own application, and nothing else."""
    shutil.rmtree("data")
    start_once()
    with closing(open_database(DATABASE_URL)) as db:
        key = Vault(DATABASE.with_suffix(".key").read_text())
        db.run(lambda tx: applications.ensure_embedded_app(tx, key, NOON))


def test_a_database_that_was_only_started_holds_no_data() -> None:
    started()
    done = run_bot("restore", "kept.db")
    assert (done.exit_code, names_of_applications(DATABASE), replaced_databases()) == (
        0,
        ["shop"],
        [],
    ), done.stderr


def test_another_application_than_the_bots_own_is_data() -> None:
    started()
    run_bot("apps", "create", "second")
    refused = run_bot("restore", "kept.db")
    assert (refused.exit_code, names_of_applications(DATABASE)) == (1, ["bot", "second"])


def test_without_hard_links_the_old_database_is_moved_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "link", refuse)
    run_bot("restore", "--replace", "kept.db", code=0)
    (old,) = replaced_databases()
    assert (names_of_applications(old), names_of_applications(DATABASE)) == (
        ["later", "shop"],
        ["shop"],
    )


def failing_at(number: int) -> Callable[..., Path]:
    """Return a rename that the disk refuses at the `number`th call."""
    rename, calls = Path.rename, 0

    def rename_or_not(path: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == number:
            refuse()
        return rename(path, target)

    return rename_or_not


@pytest.mark.parametrize("linking", [True, False])
@pytest.mark.parametrize("failing", ["first rename", "replace"])
def test_a_failed_replacement_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, *, linking: bool, failing: str
) -> None:
    """Also the -wal of a damaged database stays: it alone has the newest data."""
    Path(f"{DATABASE}-wal").write_bytes(b"newest")
    made = Path("data/made")
    made.write_bytes(b"made")
    before = contents_of_data()
    with monkeypatch.context() as disk:
        if not linking:
            disk.setattr(os, "link", refuse)
        if failing == "replace":
            disk.setattr(Path, "replace", refuse)
        else:
            disk.setattr(Path, "rename", failing_at(1))
        with pytest.raises(BotError):
            private_files.replace(made, DATABASE, Path("data/aside.db"))
    assert contents_of_data() == before
