"""`backup`: a copy of one moment while others use the database, complete or not there at all."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.database import private_files, snapshot, sqlite_writer
from bot.core.database.database import Database
from tests.support.command_line import run_bot
from tests.support.databases import SQLITE, sqlite
from tests.support.free_ports import free_port
from tests.support.machine_faults import drop_under_load, locked
from tests.support.product_process import rows, run_command
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.usefixtures("empty_folder")

KILOBYTE = 1024


@pytest.fixture
def _used(empty_folder: Path) -> None:
    del empty_folder
    run_bot("apps", "create", "shop", code=0)


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}


@pytest.mark.usefixtures("_used")
def test_a_backup_is_the_database_and_the_key_that_opens_it() -> None:
    made = run_bot("backup", "kept.db")
    assert (made.exit_code, made.stderr) == (0, "")
    assert names() == {"data", "kept.db", "kept.key"}
    assert Path("kept.key").read_text() == Path("data/bot.key").read_text()
    for table in ("apps", "kept_secrets", "migrations"):
        sql = f"SELECT * FROM {table}"
        assert rows(Path("kept.db"), sql) == rows(Path("data/bot.db"), sql)


@pytest.mark.usefixtures("_used")
def test_only_its_owner_may_read_a_backup() -> None:
    """It holds payers' data, and beside it lies the key to all secrets."""
    before = os.umask(0)
    try:
        run_bot("backup", "kept.db")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(Path(name).stat().st_mode) for name in ("kept.db", "kept.key")]
    assert modes == [0o600, 0o600]


@pytest.mark.usefixtures("_used")
def test_a_backup_is_one_file_that_opens_on_a_read_only_disk() -> None:
    run_bot("backup", "kept.db")
    with closing(sqlite3.connect("file:kept.db?mode=ro", uri=True)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert names() == {"data", "kept.db", "kept.key"}


@pytest.mark.usefixtures("_used")
def test_in_a_folder_the_time_names_a_backup() -> None:
    Path("away").mkdir()
    told = json.loads(run_bot("backup", "away", "--json").stdout)
    assert re.fullmatch(r"away/bot-\d{8}T\d{6}Z\.db", told["file"])
    assert told["key"] == told["file"].replace(".db", ".key")
    assert (told["requests"], told["payments"], told["newestPayment"]) == (0, 0, None)
    assert told["bytes"] == Path(told["file"]).stat().st_size


@pytest.mark.usefixtures("_used")
@pytest.mark.parametrize("taken", ["kept.db", "kept.key"])
def test_a_backup_replaces_no_file(taken: str) -> None:
    Path(taken).write_text("precious")
    refused = run_bot("backup", "kept.db", code=1)
    told = "already exists, and no backup replaces another: rename TO"
    assert refused.stderr == f"{taken}: {told}\n"
    assert names() == {"data", taken}
    assert Path(taken).read_text() == "precious"


@pytest.mark.usefixtures("_used")
def test_with_secret_key_there_is_no_key_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_KEY", Path("data/bot.key").read_text())
    made = run_bot("backup", "kept.db")
    assert "SECRET_KEY is needed" in made.stdout
    assert names() == {"data", "kept.db"}


@pytest.mark.usefixtures("_used")
def test_a_missing_folder_is_reported_in_one_line() -> None:
    refused = run_bot("backup", "nowhere/kept.db", code=1)
    assert refused.stderr == "nowhere: can't be written to: No such file or directory\n"


@pytest.mark.process
@pytest.mark.usefixtures("_used")
def test_a_full_disk_leaves_no_partial_file() -> None:
    """Files of this process may have 64 KiB, a third of the size of a backup."""

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * KILOBYTE, 64 * KILOBYTE))

    run = subprocess.run(
        [sys.executable, "-m", "bot", "backup", "kept.db"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=little,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1, run.stderr
    assert "kept.db" in run.stderr
    assert names() == {"data"}


@pytest.mark.usefixtures("_used")
def test_a_damaged_database_makes_no_backup() -> None:
    """A copy that can't be relied on is worse than none."""
    with closing(sqlite3.connect("data/bot.db")) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET rootpage = 2 WHERE name = 'payments_checkout'")
        db.commit()
    refused = run_bot("backup", "kept.db", code=1)
    assert "data/bot.db" in refused.stderr
    assert names() == {"data"}


@pytest.mark.only(SQLITE, "a file")
def test_a_backup_waits_for_no_writer_and_has_committed_data_alone(db: Database) -> None:
    """A transaction stays open all the while: its changes are not in the backup."""
    path = Path(sqlite(db).path)
    insert = "INSERT INTO kept_secrets (name, sealed) VALUES (?, 'x')"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute(insert, ["before"])
        writer.execute("BEGIN IMMEDIATE")
        writer.execute(insert, ["meanwhile"])
        with private_files.temporary_file(path) as made:
            snapshot.copy_database(path, made, live=True)
            assert rows(made, "SELECT name FROM kept_secrets") == [("before",)]
        writer.execute("COMMIT")


@pytest.mark.process
async def test_payments_go_on_while_backups_are_made(tmp_path: Path) -> None:
    """Five backups in a row under load: each has all payments acknowledged before it began."""
    async with drop_under_load(tmp_path) as (_, run, shop):
        done = asyncio.Event()

        async def payer(first: int) -> None:
            for number in range(first, 900, 4):
                if done.is_set():
                    return
                await shop.pay(number)

        payers = [asyncio.create_task(payer(1 + number)) for number in range(4)]
        for number in range(5):
            known = set(shop.receipts.values())
            code, out, err = await run_command(
                tmp_path, "backup", f"{tmp_path}/kept-{number}.db", PORT=free_port()
            )
            assert (code, err) == (0, []), out
            paid = rows(tmp_path / f"kept-{number}.db", "SELECT id FROM payments")
            assert known <= {key for (key,) in paid}
        done.set()
        await asyncio.gather(*payers)
        assert not [line for line in run.err if "database not usable" in line]


@pytest.mark.usefixtures("_used")
def test_a_backup_is_in_the_audit_log() -> None:
    run_bot("backup", "kept.db")
    ((subject, details),) = rows(
        Path("data/bot.db"), "SELECT subject, details FROM audit WHERE action = 'backup.made'"
    )
    assert subject == "kept.db"
    assert json.loads(details)["payments"] == 0


@pytest.mark.usefixtures("_used")
def test_a_backup_without_its_entry_in_the_audit_log_is_made_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process writes for longer than the command waits. A nightly backup is there still."""
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 0.1)
    with locked(Path("data/bot.db")):
        made = run_bot("backup", "kept.db", "--json", code=0)
    assert made.stderr.startswith("The backup is complete, but the audit log has no entry for it: ")
    assert json.loads(made.stdout)["file"] == "kept.db"
    assert names() == {"data", "kept.db", "kept.key"}


@pytest.mark.usefixtures("_used")
def test_a_backup_that_restore_would_refuse_is_reported_at_once() -> None:
    """A table was added to the live database: better known now than after the disaster."""
    with closing(sqlite3.connect("data/bot.db")) as db:
        db.execute("CREATE TABLE notes (text TEXT)")
    done = run_bot("backup", "kept.db")
    assert (done.exit_code, Path("kept.db").exists()) == (0, True)
    (told,) = done.stderr.splitlines()
    assert told.endswith("changed by another program: table notes is not ours")


@pytest.mark.usefixtures("_used")
def test_a_later_backup_deletes_the_leftovers_of_a_killed_one() -> None:
    """Hidden copies would fill the disk. A backup that runs meanwhile is left alone."""
    old, young, other = (
        Path(f".kept.{name}") for name in ("db.abcdefgh", "key.ijklmnop", "db.qrstuvwx")
    )
    for path in (old, young, other):
        path.touch()
    other = other.rename(".other.db.qrstuvwx")
    for path in (old, other):
        os.utime(path, (1, 1))
    run_bot("backup", "kept.db", code=0)
    assert [path.exists() for path in (old, young, other)] == [False, True, True]
