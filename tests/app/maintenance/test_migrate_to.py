"""`migrate-to`: an installation moves from its file to a server, whole or not at all."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bot.core.database.opening import open_database
from bot.core.database.postgres.copying import digest
from bot.core.database.vault import Vault
from tests.support.command_line import run_bot
from tests.support.filled_database import KEY, TABLES, fill
from tests.support.product_process import rows
from tests.support.source_tree import ROOT

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("empty_folder")]

DATABASE = Path("data/bot.db")
OWN = "the key of the cluster"
CHANGED = {"kept_secrets", "apps", "payout_accounts", "audit"}
"""Tables with sealed texts, and the log, which has the move itself."""


@pytest.fixture(autouse=True)
def _installed(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation in which every table has rows, with its key beside it."""
    (empty_folder / "data").mkdir()
    fill(empty_folder / "data")
    DATABASE.with_suffix(".key").write_text(KEY)
    monkeypatch.setenv("SECRET_KEY", OWN)


def stored(path: Path) -> dict[str, object]:
    return {
        table.name: digest(rows(path, f"SELECT {table.names} FROM {table.name}"))
        for table in TABLES
        if table.name not in CHANGED
    }


def tables_of(url: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()


def test_an_installation_moves_and_comes_back_by_a_backup(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of leases alone the owners are gone; secrets are sealed with SECRET_KEY."""
    with closing(sqlite3.connect(DATABASE)) as db:
        db.execute("UPDATE outbox SET lease = NULL WHERE state = 'leased'")
        db.commit()
    before = stored(DATABASE)
    done = run_bot("migrate-to", bare, code=0)
    (former,) = Path("data").glob("bot-moved-*.db")
    assert f"set aside:    {former}\n" in done.stdout
    assert not DATABASE.exists()
    assert former.with_suffix(".key").read_text() == KEY
    assert stored(former) == before
    for command in (("service",), ("apps", "create", "shop"), ("audit",)):
        refused = run_bot(*command)
        words = (
            f"DATABASE_URL: {DATABASE} was moved to a PostgreSQL server, and is {former.name} now"
        )
        assert (refused.exit_code, refused.stdout, DATABASE.exists()) == (2, "", False)
        assert refused.stderr.startswith(words)

    monkeypatch.setenv("DATABASE_URL", bare)
    made = run_bot("backup", "kept.db", code=0)
    assert "none: SECRET_KEY is needed to restore it" in made.stdout
    assert stored(Path("kept.db")) == before
    sealed = rows(Path("kept.db"), "SELECT sealed FROM kept_secrets ORDER BY name")
    kept = rows(former, "SELECT sealed FROM kept_secrets ORDER BY name")
    assert [Vault(OWN).open(text) for (text,) in sealed] == [
        Vault(KEY).open(text) for (text,) in kept
    ]
    actions = rows(Path("kept.db"), "SELECT action FROM audit WHERE subject = 'database'")
    assert actions == [("database.moved",)]

    monkeypatch.delenv("DATABASE_URL")
    run_bot("restore", "kept.db", code=0)
    open_database(f"sqlite:///{DATABASE}").close()
    unmarked = set(before) - {"outbox", "lanes"}
    again = stored(DATABASE)
    assert {name: again[name] for name in unmarked} == {name: before[name] for name in unmarked}


def test_what_waits_is_not_doubtful_and_leases_have_no_owner(bare: str) -> None:
    """No time is lost, so nothing may have been sent since."""
    run_bot("migrate-to", bare, code=0)
    with psycopg.connect(bare) as conn:
        uncertain = conn.execute("SELECT COUNT(*) FROM outbox WHERE uncertain = 1").fetchone()
        leases = conn.execute("SELECT COUNT(lease) FROM outbox WHERE state = 'leased'").fetchone()
    (former,) = Path("data").glob("bot-moved-*.db")
    assert uncertain == rows(former, "SELECT COUNT(*) FROM outbox WHERE uncertain = 1")[0]
    assert leases == (0,)


def test_without_secret_key_it_says_what_to_set(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY")
    refused = run_bot("migrate-to", bare, code=2)
    assert refused.stderr == (
        "SECRET_KEY: PostgreSQL needs it, since no key file lies beside a server: set it to the"
        " content of data/bot.key or to a long random text of your own\n"
    )
    assert tables_of(bare) == []


def test_a_bot_that_runs_is_not_moved(bare: str) -> None:
    with closing(open_database("sqlite:///data/bot.db")):
        refused = run_bot("migrate-to", bare)
    assert (refused.exit_code, refused.stderr) == (
        1,
        "data/bot.db: is in use: stop the bot first\n",
    )
    assert tables_of(bare) == []


def test_a_server_with_data_is_not_written_to(bare: str) -> None:
    shutil.copytree("data", "copy")
    run_bot("migrate-to", bare, code=0)
    shutil.rmtree("data")
    shutil.copytree("copy", "data")
    before = stored(DATABASE)
    refused = run_bot("migrate-to", bare, code=1)
    assert "holds data" in refused.stderr
    assert stored(DATABASE) == before


def test_rows_that_the_server_cannot_hold_leave_both_as_they_were(bare: str) -> None:
    with closing(sqlite3.connect(DATABASE)) as db:
        db.execute("UPDATE posts SET own = 4294967296")
        db.commit()
    before = stored(DATABASE)
    refused = run_bot("migrate-to", bare, code=1)
    assert "posts.own holds a number beyond 32 bits" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert (stored(DATABASE), tables_of(bare)) == (before, [])


def test_an_unknown_parameter_of_the_address_is_named(bare: str) -> None:
    done = run_bot("migrate-to", f"{bare}{'&' if '?' in bare else '?'}nonsense=1", code=2)
    (line,) = done.stderr.splitlines()
    assert "nonsense" in line


def test_no_password_is_printed(bare: str) -> None:
    """Neither where the move succeeds nor where the server can't be reached."""
    secret = bare.replace("bot@", "bot:hunter2@")
    away = secret.replace("host=", "host=/nowhere")
    for address, code in ((away, 2), (secret, 0)):
        done = run_bot("migrate-to", address)
        assert done.exit_code == code, done.stderr
        assert "hunter2" not in done.stdout + done.stderr


DYING = """
import os, sys, psycopg
from bot.cli.commands import main
from bot.core.database.postgres import copying
step, url = int(sys.argv[1]), sys.argv[2]
copied, left = copying._copy, step
def dying(*given):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    return copied(*given)
copying._copy = dying
main(["migrate-to", url])
"""


@pytest.mark.process
@pytest.mark.parametrize("step", [0, len(TABLES) - 1])
def test_a_move_killed_half_way_leaves_the_file_and_an_empty_server(bare: str, step: int) -> None:
    """And the next one finishes."""
    before = stored(DATABASE)
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(step), bare],
        env={"PYTHONPATH": str(ROOT), "DATABASE_URL": "sqlite:///data/bot.db", "SECRET_KEY": OWN},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 9, done.stderr
    assert (stored(DATABASE), tables_of(bare)) == (before, [])
    run_bot("migrate-to", bare, code=0)
