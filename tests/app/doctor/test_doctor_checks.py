"""The doctor checks email, the database and the dead letters."""

from __future__ import annotations

import os
import re
import resource
import socket
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from bot import config
from bot.app.doctor import database_checks, examination
from bot.app.doctor.examination import examine
from bot.app.doctor.findings import Finding
from bot.chat.model.queues import make_queues
from bot.core.database import sqlite_writer
from bot.core.database.opening import open_database
from bot.core.outbox import outbox
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.notifications.recipients import MAILS
from tests.support.command_line import start_once
from tests.support.free_ports import free_port
from tests.support.machine_faults import locked
from tests.support.mail import LETTER_REPORT, SENDER, WEBHOOK_REPORT, mail_server

LOGIN = ("shop@example.org", "open/sesame")


async def test_the_doctor_logs_in_to_the_mail_server(tmp_path: Path) -> None:
    async with mail_server(account=LOGIN) as post:
        url = f"smtp://shop%40example.org:open%2Fsesame@127.0.0.1:{post.port}"
        told = f"127.0.0.1:{post.port} accepts our login and emails from shop@example.org"
        assert await checked_mail(tmp_path, url) == (True, told)
        is_ok, text = await checked_mail(tmp_path, url.replace("sesame", "says-me"))
    assert (is_ok, text.endswith("; check the user and the password")) == (False, True)
    is_ok, text = await checked_mail(tmp_path, url)
    assert (is_ok, text.partition("; ")[2].startswith("check its host and port")) == (False, True)
    assert "sesame" not in text
    assert await checked_mail(tmp_path, None) == (
        True,
        "not set, so email notifications are refused",
    )


@pytest.mark.parametrize(
    ("command", "answer", "remedy"),
    [
        ("MAIL", "550 5.7.1 no", "check SMTP_FROM, and whether it needs a user and a password"),
        ("MAIL", "530 5.7.0 log in", "it needs a user and a password: add them to SMTP_URL"),
        ("MAIL", "451 4.3.0 later", "ask its operator"),
        ("EHLO", "550 no", "ask its operator"),
    ],
)  # fmt: skip
async def test_the_doctor_finds_what_the_mail_server_would_refuse(
    tmp_path: Path, command: str, answer: str, remedy: str
) -> None:
    """Otherwise the letter of the first payment would be the first to fail."""
    async with mail_server(answers={command: answer}) as post:
        is_ok, text = await checked_mail(tmp_path, f"smtp://127.0.0.1:{post.port}")
    assert (is_ok, text.partition("; ")[2]) == (False, remedy)
    assert f"answered {answer[:3]} to " in text


async def test_the_doctor_finds_a_sender_that_the_login_may_not_use(tmp_path: Path) -> None:
    async with mail_server(account=LOGIN, answers={"MAIL": "553 5.7.1 not yours"}) as post:
        url = f"smtp://shop%40example.org:open%2Fsesame@127.0.0.1:{post.port}"
        assert (await checked_mail(tmp_path, url))[1].endswith("; check SMTP_FROM")


async def test_an_error_that_names_its_own_fix_gets_no_other(tmp_path: Path) -> None:
    async with mail_server() as post:
        is_ok, text = await checked_mail(tmp_path, f"smtp://a:b@127.0.0.1:{post.port}")
    assert (is_ok, text.endswith("leave user and password out, or choose another port")) == (
        False, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 email is waiting"), (3, "3 emails are waiting")]
)
async def test_emails_that_can_no_longer_be_sent_are_reported(
    tmp_path: Path, count: int, told: str
) -> None:
    """They were accepted while there was a mail server; webhooks and dead emails don't count."""
    with closing(open_database(f"sqlite:///{tmp_path}/bot.db")) as database:
        for number in range(count):
            database.run(
                partial(outbox.put, queue=MAILS, lane=f"{number}", body=LETTER_REPORT, now=0)
            )
        database.run(lambda tx: outbox.put(tx, WEBHOOKS, "hook", WEBHOOK_REPORT, 0))
        database.run(lambda tx: outbox.put(tx, MAILS, "x", LETTER_REPORT, 0))
        (taken,) = database.run(lambda tx: outbox.claim(tx, MAILS, 10, 1))
        database.run(lambda tx: outbox.dead_letter(tx, MAILS, taken, 10, "no"))
    expected = f"{told} and can't be sent: set SMTP_URL again"
    assert await checked_mail(tmp_path, None) == (False, expected)


@pytest.mark.parametrize("count", [1, 10, 12])
async def test_the_doctor_lists_dead_letters_and_says_what_to_do(
    tmp_path: Path, count: int
) -> None:
    """The time, the chat and the reason of the newest ten; nothing that people typed."""
    url = f"sqlite:///{tmp_path}/bot.db"
    queue = make_queues(None, None, None).updates
    with closing(open_database(url)) as database:
        for number in range(count):
            database.run(partial(outbox.put, queue=queue, lane="77", body={"text": "w"}, now=0))
            (taken,) = database.run(partial(outbox.claim, queue=queue, now=1, room=1))
            note, at = f"failed three times, {number}\x1b", 1_800_000_000_000 + 1000 * number
            database.run(partial(outbox.dead_letter, queue=queue, message=taken, now=at, note=note))
    (found,) = [finding for finding in await examined(url) if finding.name == "updates"]
    first, *lines = [line.strip() for line in found.text.split("\n")]
    told = "see the log at these times; their senders were asked to try again"
    assert (found.ok, first) == (False, f"{count} dead letters: {told}")
    newest = range(count - 1, max(count - 11, -1), -1)
    assert lines == [
        *(f"2027-01-15T08:00:{n:02}+00:00  77  failed three times, {n}�" for n in newest),
        *(["and 2 older"] if count > 10 else []),
    ]


async def test_a_database_locked_by_another_process_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "BUSY_TIMEOUT_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path}/bot.db"
    open_database(url).close()
    with locked(tmp_path / "bot.db"):
        found = (await examined(url))[0]
    told = "another process has locked it: stop that process, or try again once it is done"
    assert (found.name, found.ok) == ("database", False)
    assert found.text == f"DATABASE_URL: {url} can't be used: database is locked; {told}"


async def test_a_disk_that_is_nearly_full_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    assert "disk" not in {finding.name for finding in await examined(url)}
    monkeypatch.setattr(examination, "LEAST_FREE", 10**9)
    (found,) = [finding for finding in await examined(url) if finding.name == "disk"]
    assert not found.ok
    assert re.fullmatch(rf"only \d+ MB are free for {tmp_path}: free up space", found.text)


async def examined(url: str) -> list[Finding]:
    return await examine(config.load(database_url=url, port=int(free_port())))


async def checked_mail(folder: Path, url: str | None) -> tuple[bool, str]:
    """The finding about this SMTP_URL: whether it is ok, and its text."""
    database = f"sqlite:///{folder}/bot.db"
    mail = {"smtp_url": url, "smtp_from": SENDER} if url else {}
    found = await examine(config.load(database_url=database, port=int(free_port()), **mail))
    (finding,) = (finding for finding in found if finding.name == "SMTP_URL")
    return finding.ok, finding.text


async def test_a_database_that_is_damaged_inside_is_reported(tmp_path: Path) -> None:
    """It opens all the same: SQLite notices a torn page only when it reads it."""
    url, path = f"sqlite:///{tmp_path}/bot.db", tmp_path / "bot.db"
    start_once(url)
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'payments_newest'"
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    damaged = bytearray(path.read_bytes())
    damaged[(page - 1) * size : page * size] = b"\x5a" * size
    path.write_bytes(damaged)
    found = (await examined(url))[0]
    assert (found.name, found.ok) == ("database", False)
    assert found.text.endswith("restore the last backup")


async def test_a_missing_database_is_reported_and_not_created(tmp_path: Path) -> None:
    """The path may be mistyped: an empty database there would pass every check."""
    found = (await examined(f"sqlite:///{tmp_path}/data/bot.db"))[0]
    told = f"there is no database at {tmp_path}/data/bot.db: start the bot once or fix the path"
    assert (found.name, found.ok, found.text) == ("database", False, f"DATABASE_URL: {told}")
    assert not os.listdir(tmp_path)  # noqa: PTH208 - no wait for a folder of the test


async def test_a_database_that_was_moved_to_a_server_is_reported(tmp_path: Path) -> None:
    """DATABASE_URL is the old one: the payments come to the server."""
    (tmp_path / "bot-moved-20261128T050000Z.db").touch()
    found = (await examined(f"sqlite:///{tmp_path}/bot.db"))[0]
    assert (found.name, found.ok) == ("database", False)
    moved = f"DATABASE_URL: {tmp_path}/bot.db was moved to a PostgreSQL server"
    assert found.text.startswith(moved)


async def test_a_database_of_a_later_version_is_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    start_once(url)
    with closing(open_database(url)) as database:
        database.run(lambda tx: tx.execute("INSERT INTO migrations (number) VALUES (9999)"))
    found = (await examined(url))[0]
    assert (found.ok, found.text.startswith("a later version")) == (False, True)


async def test_a_database_sealed_with_another_key_is_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    start_once(url)
    found = await examine(
        config.load(database_url=url, port=int(free_port()), secret_key="another")
    )
    assert (found[0].name, found[0].ok) == ("SECRET_KEY", False)
    assert "sealed with another key" in found[0].text


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602, 0o666])
async def test_files_that_other_users_can_read_or_change_are_named(
    tmp_path: Path, mode: int
) -> None:
    """They hold payers' addresses, and so do the files that SQLite keeps beside them.

    The command works whatever the folder's name.
    """
    folder = tmp_path / "my shop"
    url = f"sqlite:///{folder}/bot.db"
    start_once(url)
    (folder / "bot.db").chmod(mode)
    found = (await examined(url))[0]
    files = " ".join(f"'{folder}/bot.db{ending}'" for ending in ("", "-wal", "-shm"))
    assert found.text == f"other users of this machine can read or change it: chmod 600 {files}"


async def test_a_wal_file_that_is_never_emptied_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    start_once(url)
    monkeypatch.setattr(database_checks, "LARGEST_LOG", -1)
    found = (await examined(url))[0]
    assert "its -wal file has grown to" in found.text


async def test_a_low_limit_of_file_handles_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "LEAST_FILES", 10**9)
    found = {one.name: one for one in await examined(f"sqlite:///{tmp_path}/bot.db")}
    assert "files" in found or resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 0


@pytest.mark.long
async def test_a_check_that_never_ends_is_reported_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a payment service accepts the connection and never answers."""
    monkeypatch.setattr(examination, "LONGEST", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        peer = {
            "payments_url": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "app_id": "app",
            "app_secret": "secret",
        }
        url = f"sqlite:///{tmp_path}/bot.db"
        start_once(url)
        settings = config.load(database_url=url, **peer)
        found = {one.name: one for one in await examine(settings)}
    assert not found["PAYMENTS_URL"].ok
    assert found["database"].ok
