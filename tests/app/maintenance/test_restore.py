"""`restore`: a backup replaces a database; at every moment the old or the new one is there."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.app.maintenance.restores import INWARD
from bot.chat.model.payloads import TextMessage
from bot.core.database import migrations
from bot.core.database.opening import open_database
from bot.core.database.vault import Vault
from bot.core.outbox import leases, outbox
from bot.core.outbox.queue_policy import ALERT
from bot.service.notifications.notification import Channel
from bot.service.notifications.notification_queues import queue_of
from tests.support.chat_harness import DROP, REQUEST_ID, ChatHarness, service_answer
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
from tests.support.mail import WEBHOOK_REPORT
from tests.support.product_process import rows
from tests.support.service_harness import NOON, Clock
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.usefixtures("empty_folder")

SEALED = re.compile(r"gAAAA[\w-]+=*")
"""How everything begins that the key has sealed (Fernet's version and the time's first bytes)."""

DYING = """
import os, shutil, sys
from bot.cli.commands import main
STEPS = {"os.link", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"}
def dying(left):
    def hook(event, args):
        nonlocal left
        left -= event in STEPS
        if left < 0:
            os._exit(9)
    return hook
for step in range(100):
    shutil.copytree("data", f"died/{step}/data")
    child = os.fork()
    if not child:
        os.chdir(f"died/{step}")
        sys.addaudithook(dying(step))
        main(["restore", "--replace", "../../kept.db"])
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 9:
        sys.exit(code)
"""
"""Restores, each in a folder of its own, that die before their first, second, ... step on files."""


@pytest.fixture
def _kept(empty_folder: Path) -> None:
    del empty_folder
    back_up_older_state()


@pytest.mark.usefixtures("_kept")
def test_on_a_new_machine_the_backup_is_the_database() -> None:
    shutil.rmtree("data")
    run_bot("restore", "kept.db", code=0)
    assert sorted(contents_of_data()) == ["bot.db", "bot.key"]
    assert names_of_applications(DATABASE) == ["shop"]
    modes = [stat.S_IMODE(path.stat().st_mode) for path in Path("data").iterdir()]
    assert modes == [0o600, 0o600]
    assert run_bot("apps", "list").stderr == ""
    assert sorted(path.name for path in Path().iterdir()) == ["data", "kept.db", "kept.key"]


@pytest.mark.usefixtures("_kept")
def test_a_database_with_data_is_replaced_with_the_option_alone() -> None:
    before = contents_of_data()
    refused = run_bot("restore", "kept.db", code=1)
    assert refused.stderr == (
        "data/bot.db: holds data: restore --replace moves it aside, under another name\n"
    )
    assert contents_of_data() == before


@pytest.mark.usefixtures("_kept")
def test_an_unused_database_is_replaced() -> None:
    shutil.rmtree("data")
    start_once()
    done = run_bot("restore", "kept.db")
    assert (done.exit_code, names_of_applications(DATABASE), replaced_databases()) == (
        0,
        ["shop"],
        [],
    )


@pytest.mark.usefixtures("_kept")
def test_a_replaced_database_is_kept_complete_under_another_name() -> None:
    """It has its newest data, which a crash left in the -wal, and its key."""
    crashed_before()
    DATABASE.chmod(0o644)
    done = run_bot("restore", "--replace", "kept.db", code=0)
    (old,) = replaced_databases()
    assert f"set aside:    {old}\n" in done.stdout
    assert names_of_applications(DATABASE) == ["shop"]
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert names_of_applications(old) == ["later", "shop", "unsaved"]
    assert old.with_suffix(".key").read_bytes() == DATABASE.with_suffix(".key").read_bytes()
    assert {path.suffix for path in Path("data").iterdir()} == {".db", ".key"}


def crashed_before() -> None:
    """Leave the database as a crash does: its newest transaction is in the -wal alone."""
    with closing(sqlite3.connect(DATABASE, isolation_level=None)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("UPDATE apps SET name = 'unsaved' WHERE name = 'nobody'")
        db.execute(
            "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
            " SELECT 'x', 'unsaved', secret_hash, webhook_secret, 1 FROM apps LIMIT 1"
        )
        for ending in ("", "-wal"):
            shutil.copy(f"{DATABASE}{ending}", f"{DATABASE}{ending}.copy")
    for ending in ("", "-wal"):
        Path(f"{DATABASE}{ending}.copy").rename(f"{DATABASE}{ending}")


@pytest.mark.usefixtures("_kept")
def test_a_database_in_use_is_not_touched() -> None:
    """Also where its user is idle at that moment."""
    with closing(open_database(DATABASE_URL)):
        refused = run_bot("restore", "--replace", "kept.db", code=1)
    assert refused.stderr == (
        "data/bot.db: is in use: stop the bot, restore, then start it again\n"
    )
    assert (names_of_applications(DATABASE), replaced_databases()) == (["later", "shop"], [])


def overwrite_middle(path: Path) -> None:
    """Overwrite the middle of a file, where its tables are."""
    whole = bytearray(path.read_bytes())
    middle = range(len(whole) // 3, len(whole) // 2)
    whole[middle.start : middle.stop] = b"\xff" * len(middle)
    path.write_bytes(bytes(whole))


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE notes (text TEXT)")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO migrations (number) VALUES (999)")
        db.commit()


def sealed_otherwise(path: Path) -> None:
    path.with_suffix(".key").write_text("another key")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE kept_secrets SET sealed = ?", [Vault("a third").seal("x")])
        db.commit()


@pytest.mark.usefixtures("_kept")
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_text("no database at all"), "not a database"),
        (lambda path: path.write_bytes(b""), "is not a database of this program"),
        (lambda path: path.unlink(), "there is no such file"),
        (overwrite_middle, "kept.db"),
        (foreign, "is not a database of this program"),
        (newer, "update the program first"),
        (sealed_otherwise, "SECRET_KEY: the secrets in kept.db were sealed with another key"),
    ],
    ids=["text", "empty", "missing", "damaged", "foreign", "newer", "key"],
)
def test_a_bad_backup_changes_nothing(spoil: Any, told: str) -> None:
    spoil(Path("kept.db"))
    before = contents_of_data()
    refused = run_bot("restore", "--replace", "kept.db")
    assert refused.exit_code in {1, 2}
    assert told in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert contents_of_data() == before


@pytest.mark.usefixtures("_kept")
def test_the_database_is_not_a_backup_of_itself() -> None:
    refused = run_bot("restore", "--replace", str(DATABASE))
    assert "is the database itself" in refused.stderr
    assert names_of_applications(DATABASE) == ["later", "shop"]


@pytest.mark.process
@pytest.mark.usefixtures("_kept")
def test_a_restore_killed_at_any_moment_leaves_the_old_or_the_new_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is complete and its key opens it. A second restore finishes."""
    crashed_before()
    done = subprocess.run(
        [sys.executable, "-c", DYING],
        env={"PYTHONPATH": str(ROOT), "DATABASE_URL": DATABASE_URL},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folders = sorted(Path("died").resolve().iterdir(), key=lambda folder: int(folder.name))
    assert len(folders) > 15
    seen = []
    for folder in folders:
        monkeypatch.chdir(folder)
        run_bot("apps", "list", code=0)
        seen.append(names_of_applications(DATABASE) == ["shop"])
        if not seen[-1]:
            assert names_of_applications(DATABASE) == ["later", "shop", "unsaved"]
            run_bot("restore", "--replace", "../../kept.db", code=0)
            assert names_of_applications(DATABASE) == ["shop"]
            assert not [path for path in Path("data").iterdir() if path.name[0] == "."]
    assert (seen[0], seen[-1]) == (False, True)


@pytest.mark.usefixtures("_kept")
def test_a_damaged_database_is_moved_aside_with_its_wal() -> None:
    """Its -wal beside another file would spoil that file."""
    DATABASE.write_bytes(b"\xff" * 4096)
    Path(f"{DATABASE}-wal").write_bytes(b"w" * 4096)
    run_bot("restore", "--replace", "kept.db", code=0)
    (old,) = replaced_databases()
    assert (old.read_bytes(), Path(f"{old}-wal").read_bytes()) == (b"\xff" * 4096, b"w" * 4096)
    assert names_of_applications(DATABASE) == ["shop"]
    assert not Path(f"{DATABASE}-wal").exists()


@pytest.mark.usefixtures("_kept")
@pytest.mark.parametrize("how", ["other key file", "SECRET_KEY"])
def test_secrets_are_sealed_with_the_key_of_this_machine(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key never moves together with the database. A crash between both would part them."""
    was, key = Vault(Path("kept.key").read_text()), "the key of this machine"
    shutil.rmtree("data")
    if how == "SECRET_KEY":
        monkeypatch.setenv("SECRET_KEY", key)
    else:
        Path("data").mkdir()
        DATABASE.with_suffix(".key").write_text(key)
    run_bot("restore", "kept.db", code=0)
    kept = [was.open(it) for it in sealed_texts(Path("kept.db"))]
    assert kept
    assert sorted(Vault(key).open(it) for it in sealed_texts(DATABASE)) == sorted(kept)
    run_bot("apps", "list", code=0)


def sealed_texts(path: Path) -> list[str]:
    """Return every sealed text of every table, whatever its column."""
    with closing(sqlite3.connect(path)) as db:
        return SEALED.findall("\n".join(db.iterdump()))


def test_a_backup_of_an_earlier_version_is_migrated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(open_database("sqlite:///old.db")) as db:
        db.run(
            lambda tx: tx.execute(
                "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
                " VALUES ('a', 'shop', 'h', 's', 1)"
            )
        )
    former = migrations.MIGRATIONS
    added = ("ALTER TABLE apps ADD COLUMN color TEXT",)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*former, added))
    run_bot("restore", "old.db", code=0)
    assert names_of_applications(DATABASE) == ["shop"]
    newest = rows(DATABASE, "SELECT MAX(number) FROM migrations")
    assert newest == [(len(former) + 1,)]
    assert rows(Path("old.db"), "SELECT MAX(number) FROM migrations") == [(len(former),)]


@pytest.fixture
def chat() -> Iterator[ChatHarness]:
    """A seller with a drop, on the database that is backed up."""
    with closing(open_database(DATABASE_URL)) as db:
        yield ChatHarness(db, Clock())


def put_back() -> None:
    run_bot("backup", "kept.db", code=0)
    run_bot("restore", "--replace", "kept.db", code=0)


def test_queued_messages_are_uncertain_and_have_no_worker(chat: ChatHarness) -> None:
    """They may have been sent after the backup. The worker of that process is gone."""
    queue = chat.queues.messages
    chat.db.run(lambda tx: outbox.put(tx, queue, "7", TextMessage("1", "en"), NOON))
    chat.db.run(lambda tx: outbox.claim(tx, queue, NOON, 1, "gone"))
    chat.db.run(lambda tx: outbox.put(tx, queue, "7", TextMessage("2", "en"), NOON, priority=ALERT))
    chat.db.run(lambda tx: outbox.put(tx, chat.queues.updates, "7", {}, NOON, key="done"))
    chat.db.run(lambda tx: tx.execute("UPDATE outbox SET state = 'done' WHERE id = 'done'"))
    chat.db.close()
    put_back()
    found = rows(DATABASE, "SELECT state, uncertain, lease FROM outbox ORDER BY state")
    assert found == [("done", 0, None), ("leased", 1, None), ("waiting", 1, None)]
    with closing(open_database(DATABASE_URL)) as db:
        assert db.run(lambda tx: leases.recover(tx, queue, NOON)) == 1
        claimed = db.run(lambda tx: outbox.claim(tx, queue, NOON, 2, "new"))
    assert [(it.body.text, it.uncertain) for it in claimed] == [("1", True)]


def test_a_payment_with_a_waiting_webhook_has_one_uncertain_alert(
    chat: ChatHarness,
) -> None:
    """The webhook may have come after the backup, and its alert have been sent."""
    sam = chat.add_person()
    link = chat.add_link(sam, DROP, service_answer(total_units=5, remaining_units=5))
    report = replace(
        WEBHOOK_REPORT, request_id=REQUEST_ID, transaction_id=f"{1:024x}", amount=250,
        user_data={"email": "p@b.example"}, remaining_units=4, completed_at=NOON,
    )  # fmt: skip
    for key, address in (("own", f"{INWARD}{link.token}"), ("other", "https://h.example/w")):
        sent = replace(report, url=address)
        queue = queue_of(Channel.WEBHOOK, address)
        chat.db.run(partial(outbox.put, queue=queue, lane="lane", body=sent, now=NOON, key=key))
    chat.db.close()
    put_back()
    told = rows(DATABASE, "SELECT transaction_id, amount, body FROM received_payments")
    assert [(key, amount, json.loads(payer)) for key, amount, payer in told] == [
        (f"{1:024x}", 250, {"email": "p@b.example"})
    ]
    alerts = rows(DATABASE, "SELECT uncertain, body FROM outbox WHERE queue = 'messages'")
    ((doubt, alert),) = alerts
    assert doubt == 1
    assert json.loads(alert)["payments"][0]["remaining_units"] == 4
    assert rows(DATABASE, "SELECT id FROM outbox WHERE queue = 'own_webhooks'") == [("own",)]


@pytest.mark.usefixtures("_kept")
def test_a_restore_is_in_the_audit_log() -> None:
    run_bot("restore", "--replace", "kept.db")
    found = rows(DATABASE, "SELECT action FROM audit WHERE action LIKE 'backup.%'")
    assert found == [("backup.restored",)]
