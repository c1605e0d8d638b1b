"""Backups that a stranger changed: restore refuses them in one line, or takes what can be read."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.app.maintenance.restores import INWARD
from bot.core.database.opening import open_database
from bot.core.outbox import outbox
from bot.service.notifications.notification_queues import OWN_WEBHOOKS, WEBHOOKS
from tests.support.command_line import DATABASE, DATABASE_URL, run_bot
from tests.support.mail import WEBHOOK_REPORT

if TYPE_CHECKING:
    from click.testing import Result


KEPT = Path("kept.db")
STEAL = """
    CREATE TRIGGER steal AFTER INSERT ON payment_requests BEGIN
        UPDATE payment_requests SET receivers = '[{"destination":"mallory","amount":500}]'
          WHERE id = NEW.id;
    END
"""
ENDLESS = (
    "CREATE VIEW {0} AS WITH RECURSIVE n(number) AS"
    " (SELECT 1 UNION ALL SELECT number + 1 FROM n) SELECT number FROM n"
)
REWRITE = "UPDATE sqlite_master SET sql = replace(sql, {0}) WHERE name = '{1}'"
SHARED_PAGE = (
    "UPDATE sqlite_master SET rootpage ="
    " (SELECT rootpage FROM sqlite_master WHERE name = 'apps') WHERE name = 'audit'"
)
ORPHAN = (
    "INSERT INTO checkouts (id, request_id, token, state, user_data, created_at, lapses_at)"
    " VALUES ('c', 'nobody', 't', 'open', '{}', 1, 2)"
)
REPORT = replace(WEBHOOK_REPORT, url=f"{INWARD}token", remaining_units=4)
BODY = json.loads(WEBHOOKS.encode(REPORT)) | {"user_data": {}}


@pytest.fixture(scope="module")
def unchanged_backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an unchanged backup and its key."""
    folder = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("DATABASE_URL", DATABASE_URL)
        run_bot("apps", "create", "shop", code=0)
        run_bot("backup", "kept.db", code=0)
    return folder


@pytest.fixture(autouse=True)
def _kept(unchanged_backup: Path, empty_folder: Path) -> None:
    """Copy that backup to a machine with its own database."""
    del empty_folder
    for name in ("kept.db", "kept.key"):
        shutil.copy(unchanged_backup / name, name)
    shutil.copytree(unchanged_backup / "data", "data")


def change(*statements: str) -> None:
    """Change the backup as a stranger with a shell can."""
    with closing(sqlite3.connect(KEPT)) as db:
        db.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            db.execute(statement)
        db.commit()


def restored() -> Result:
    return run_bot("restore", "--replace", "kept.db")


def refused() -> str:
    """Return the one line of the refusal; check that nothing has changed and nothing is left."""
    before = {path.name: path.read_bytes() for path in DATABASE.parent.iterdir()}
    done = restored()
    assert done.exit_code in (1, 2)
    assert {path.name: path.read_bytes() for path in DATABASE.parent.iterdir()} == before
    (line,) = done.stderr.splitlines()
    return line


def test_an_unchanged_backup_is_restored() -> None:
    """Also after ANALYZE, which any operator may have run."""
    change("ANALYZE")
    assert restored().exit_code == 0


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ([STEAL], "trigger steal on payment_requests is not ours"),
        (["CREATE VIEW extra AS SELECT 1"], "view extra is not ours"),
        (["CREATE TABLE extra (id TEXT)"], "table extra is not ours"),
        (["CREATE VIRTUAL TABLE extra USING fts5(text)"], "table extra is not ours"),
        (["CREATE INDEX extra ON apps (name)"], "index extra on apps is not ours"),
        (["ALTER TABLE apps ADD COLUMN extra TEXT"], "table apps differs"),
        (["DROP TABLE audit"], "table audit is missing"),
        (["DROP INDEX payments_newest"], "index payments_newest is missing"),
        (["DROP TABLE kept_secrets", ENDLESS.format("kept_secrets")], "view kept_secrets"),
        (["DROP TABLE audit", "CREATE TABLE audit (id TEXT)"], "table audit differs"),
        ([REWRITE.format("'NOT NULL', ''", "payments")], "table payments differs"),
        (["DELETE FROM sqlite_master WHERE name = 'payments_newest'"], "payments_newest"),
        (["UPDATE sqlite_master SET sql = 'nonsense' WHERE name = 'audit'"], "malformed"),
        (["UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'audit'"], ""),
        (
            [SHARED_PAGE],
            "is damaged",
        ),
        (["PRAGMA application_id = 7"], "application_id is 7"),
        (["PRAGMA user_version = 7"], "user_version is 7"),
        (["CREATE TABLE sqlite_stat1 AS SELECT 1 AS tbl"], ""),
        (["DELETE FROM migrations"], "is not a database of this program"),
        (["UPDATE migrations SET number = 0 WHERE number = 1"], "migrations are missing"),
        (["INSERT INTO migrations (number) VALUES (-5)"], "migrations are missing"),
        (["INSERT INTO migrations (number) VALUES (9999)"], "made by a newer version"),
        (["DROP TABLE migrations"], "is not a database of this program"),
        (["DROP TABLE migrations", ENDLESS.format("migrations")], "is not a database of this"),
        (["UPDATE apps SET webhook_secret = 'open'"], "SECRET_KEY"),
        (["UPDATE apps SET webhook_secret = 5"], "SECRET_KEY"),
        (["UPDATE kept_secrets SET sealed = x'ff'"], "SECRET_KEY"),
        (
            [ORPHAN],
            "refers to a row of payment_requests that is missing",
        ),
    ],
)
def test_a_backup_with_another_schema_or_inconsistent_rows_is_refused(
    statements: list[str], told: str
) -> None:
    change(*statements)
    assert told in refused()


def test_another_encoding_is_refused() -> None:
    """It would order texts, and so pages of lists, otherwise."""
    with closing(sqlite3.connect(KEPT)) as db:
        script = "\n".join(db.iterdump())
    KEPT.unlink()
    with closing(sqlite3.connect(KEPT)) as db:
        db.execute("PRAGMA encoding = 'UTF-16le'")
        db.executescript(script)
    assert "encoding is UTF-16le" in refused()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:0],
        lambda data: data[:16],
        lambda data: data[:-4096],
        lambda data: data[: len(data) // 2],
        lambda data: data[::-1],
        lambda data: bytes(len(data)),
    ],
)
def test_a_file_that_is_not_a_complete_database_is_refused(spoil: Callable[[bytes], bytes]) -> None:
    KEPT.write_bytes(spoil(KEPT.read_bytes()))
    assert "kept.db" in refused()


@pytest.mark.parametrize("seed", range(15))
def test_random_bytes_end_in_one_line(seed: int) -> None:
    """Damage that SQLite does not see may pass, other damage is refused. There is no traceback."""
    drawn, data = random.Random(seed), bytearray(KEPT.read_bytes())
    for _ in range(drawn.choice([1, 10, 500])):
        data[drawn.randrange(len(data))] = drawn.randrange(256)
    KEPT.write_bytes(data)
    done = restored()
    assert done.exit_code in (0, 1, 2)
    assert len(done.stderr.splitlines()) == 1


UNREADABLE = [
    "", "no JSON", "[]", "5", "null", "NaN", "{}", "[" * 100_000, '{"amount": NaN}',
    json.dumps(BODY | {"amount": "250"}), json.dumps(BODY | {"amount": 10**30}),
    json.dumps(BODY | {"user_data": 5}), json.dumps(BODY | {"url": None}),
    json.dumps(BODY | {"currency": "nothing"}), json.dumps(BODY | {"remaining_units": "4"}),
    b"\xff",
]  # fmt: skip


@pytest.mark.parametrize("queue", [WEBHOOKS, OWN_WEBHOOKS])
def test_an_unreadable_message_becomes_a_dead_letter_and_the_others_go(queue: Any) -> None:
    """Its queue would stop for ever. The command reports it at once, and the doctor lists it."""
    broken = {f"broken {number:02}": body for number, body in enumerate(UNREADABLE)}
    rewrite = "UPDATE outbox SET body = :body WHERE id = :key"
    with closing(open_database("sqlite:///kept.db")) as db:
        for key in (*broken, "sound"):
            db.run(partial(outbox.put, queue=queue, lane="h", body=REPORT, now=1, key=key))
        for key, body in broken.items():
            db.run(lambda tx, key=key, body=body: tx.execute(rewrite, body=body, key=key))  # type: ignore[misc]  # the loop's own values
    done = restored()
    assert done.exit_code == 0, done.stderr
    assert f"unreadable:   {len(broken)} messages that waited" in done.stdout
    assert "may repeat:   1 messages that waited" in done.stdout
    with closing(sqlite3.connect(DATABASE)) as file:
        found = file.execute("SELECT id, state, uncertain, note FROM outbox ORDER BY id").fetchall()
    note = "its body could not be read"
    dead = [(key, "dead", 0, note) for key in broken]
    assert found == [*dead, ("sound", "waiting", 1, None)]
    with closing(open_database(DATABASE_URL)) as db:
        (claimed,) = db.run(lambda tx: outbox.claim(tx, queue, 10, 9))
    assert claimed.id == "sound"
