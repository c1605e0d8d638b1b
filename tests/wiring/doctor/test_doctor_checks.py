"""What the doctor says of e-mail, of the database and of what was given up."""

from __future__ import annotations

import re
import resource
import socket
import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from bot import config
from bot.chat.messages.queues import make_queues
from bot.core.database import writer
from bot.core.database.database import open_database
from bot.core.outbox import outbox
from bot.service.usecases.delivery_queues import WEBHOOKS
from bot.service.usecases.letter_limits import MAILS
from bot.wiring.doctor import machine, storage
from bot.wiring.doctor.examination import examine
from tests.support.machine_faults import locked
from tests.support.mail_servers import SENDER, office
from tests.support.payment_reports import LETTER_REPORT, WEBHOOK_REPORT
from tests.support.product_process import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from bot.wiring.doctor.finding import Finding

LOGIN = ("shop@example.org", "open/sesame")


async def test_the_doctor_says_how_it_stands_with_the_mail_server(tmp_path: Path) -> None:
    async with office(account=LOGIN) as post:
        url = f"smtp://shop%40example.org:open%2Fsesame@127.0.0.1:{post.port}"
        told = f"127.0.0.1:{post.port} lets us in and takes e-mails of shop@example.org"
        assert await looked_at(tmp_path, url) == (True, told)
        well, told = await looked_at(tmp_path, url.replace("sesame", "says-me"))
    assert (well, told.endswith("; look at the user and the password")) == (False, True)
    well, told = await looked_at(tmp_path, url)
    assert (well, told.partition("; ")[2].startswith("look at its host and port")) == (False, True)
    assert "sesame" not in told
    assert await looked_at(tmp_path, None) == (True, "not set, so e-mail notifications are refused")


@pytest.mark.parametrize(
    ("command", "answer", "remedy"),
    [
        ("MAIL", "550 5.7.1 no", "look at SMTP_FROM, and whether it wants a user and a password"),
        ("MAIL", "530 5.7.0 log in", "it wants a user and a password: write them into SMTP_URL"),
        ("MAIL", "451 4.3.0 later", "ask whoever runs it"),
        ("EHLO", "550 no", "ask whoever runs it"),
    ],
)  # fmt: skip
async def test_the_doctor_says_what_the_server_would_refuse(
    tmp_path: Path, command: str, answer: str, remedy: str
) -> None:
    """Else the first payment would find out, and its letter would be dead."""
    async with office(answers={command: answer}) as post:
        well, told = await looked_at(tmp_path, f"smtp://127.0.0.1:{post.port}")
    assert (well, told.partition("; ")[2]) == (False, remedy)
    assert f"answered {answer[:3]} to " in told


async def test_the_doctor_knows_a_sender_that_its_login_may_not_use(tmp_path: Path) -> None:
    async with office(account=LOGIN, answers={"MAIL": "553 5.7.1 not yours"}) as post:
        url = f"smtp://shop%40example.org:open%2Fsesame@127.0.0.1:{post.port}"
        assert (await looked_at(tmp_path, url))[1].endswith("; look at SMTP_FROM")


async def test_the_doctor_adds_nothing_to_what_says_how_it_is_mended(tmp_path: Path) -> None:
    async with office() as post:
        well, told = await looked_at(tmp_path, f"smtp://a:b@127.0.0.1:{post.port}")
    assert (well, told.endswith("leave user and password out, or choose another port")) == (
        False, True,
    )  # fmt: skip


@pytest.mark.parametrize(("count", "told"), [(1, "1 e-mail waits"), (3, "3 e-mails wait")])
async def test_the_doctor_sees_emails_that_nobody_sends(
    tmp_path: Path, count: int, told: str
) -> None:
    """They were promised while there was a mail server; webhooks and what is done don't count."""
    with closing(open_database(f"sqlite:///{tmp_path}/bot.db")) as database:
        for number in range(count):
            database.run(
                partial(outbox.put, queue=MAILS, lane=f"{number}", body=LETTER_REPORT, now=0)
            )
        database.run(lambda tx: outbox.put(tx, WEBHOOKS, "hook", WEBHOOK_REPORT, 0))
        database.run(lambda tx: outbox.put(tx, MAILS, "x", LETTER_REPORT, 0))
        (taken,) = database.run(lambda tx: outbox.claim(tx, MAILS, 10, 1))
        database.run(lambda tx: outbox.bury(tx, MAILS, taken, 10, "no"))
    expected = f"{told} that nobody sends: set SMTP_URL again"
    assert await looked_at(tmp_path, None) == (False, expected)


@pytest.mark.parametrize("count", [1, 10, 12])
async def test_the_doctor_lists_what_was_given_up_and_says_what_to_do(
    tmp_path: Path, count: int
) -> None:
    """When, which chat and why, the newest ten; never a word that anybody wrote."""
    url = f"sqlite:///{tmp_path}/bot.db"
    queue = make_queues(None, None, None).updates
    with closing(open_database(url)) as database:
        for number in range(count):
            database.run(partial(outbox.put, queue=queue, lane="77", body={"text": "w"}, now=0))
            (taken,) = database.run(partial(outbox.claim, queue=queue, now=1, room=1))
            note, at = f"failed three times, {number}\x1b", 1_800_000_000_000 + 1000 * number
            database.run(partial(outbox.bury, queue=queue, message=taken, now=at, note=note))
    (found,) = [finding for finding in await examined(url) if finding.name == "updates"]
    first, *lines = [line.strip() for line in found.text.split("\n")]
    told = "the log says more at these times; who wrote was asked to try again"
    assert (found.well, first) == (False, f"{count} given up: {told}")
    newest = range(count - 1, max(count - 11, -1), -1)
    assert lines == [
        *(f"2027-01-15T08:00:{n:02}+00:00  77  failed three times, {n}�" for n in newest),
        *(["and 2 older"] if count > 10 else []),
    ]


async def test_the_doctor_says_that_another_process_holds_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BUSY_TIMEOUT_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path}/bot.db"
    open_database(url).close()
    with locked(tmp_path / "bot.db"):
        found = (await examined(url))[0]
    told = "another process holds it: end that one, or look again once it is done"
    assert (found.name, found.well) == ("database", False)
    assert found.text == f"DATABASE_URL: {url} can't be used: database is locked; {told}"


async def test_the_doctor_warns_before_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    assert "disk" not in {finding.name for finding in await examined(url)}
    monkeypatch.setattr(machine, "LEAST_FREE", 10**9)
    (found,) = [finding for finding in await examined(url) if finding.name == "disk"]
    assert not found.well
    assert re.fullmatch(rf"only \d+ MB left for {tmp_path}: make room", found.text)


async def examined(url: str) -> list[Finding]:
    return await examine(config.load(database_url=url, port=int(free_port())))


async def looked_at(folder: Path, url: str | None) -> tuple[bool, str]:
    """What the doctor finds with this SMTP_URL."""
    database = f"sqlite:///{folder}/bot.db"
    mail = {"smtp_url": url, "smtp_from": SENDER} if url else {}
    found = await examine(config.load(database_url=database, port=int(free_port()), **mail))
    (finding,) = (finding for finding in found if finding.name == "SMTP_URL")
    return finding.well, finding.text


async def test_the_doctor_knows_a_database_that_is_damaged_inside(tmp_path: Path) -> None:
    """It opens all the same: SQLite sees a torn page only when it comes by."""
    url, path = f"sqlite:///{tmp_path}/bot.db", tmp_path / "bot.db"
    await examined(url)
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'payments_newest'"
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    damaged = bytearray(path.read_bytes())
    damaged[(page - 1) * size : page * size] = b"\x5a" * size
    path.write_bytes(damaged)
    found = (await examined(url))[0]
    assert (found.name, found.well) == ("database", False)
    assert found.text.endswith("take the last backup")


async def test_the_doctor_knows_a_database_of_a_later_version(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    await examined(url)
    with closing(open_database(url)) as database:
        database.run(lambda tx: tx.execute("INSERT INTO migrations (number) VALUES (9999)"))
    found = (await examined(url))[0]
    assert (found.well, found.text.startswith("a later version")) == (False, True)


async def test_the_doctor_says_that_another_key_sealed_the_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/bot.db"
    await examined(url)
    found = await examine(
        config.load(database_url=url, port=int(free_port()), secret_key="another")
    )
    assert (found[0].name, found[0].well) == ("SECRET_KEY", False)
    assert "sealed with another key" in found[0].text


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602, 0o666])
async def test_the_doctor_names_files_that_others_may_read_or_write(
    tmp_path: Path, mode: int
) -> None:
    """Payers' addresses lie in them, and in the files that SQLite keeps beside."""
    url = f"sqlite:///{tmp_path}/bot.db"
    await examined(url)
    (tmp_path / "bot.db").chmod(mode)
    found = (await examined(url))[0]
    files = " ".join(f"{tmp_path}/bot.db{ending}" for ending in ("", "-wal", "-shm"))
    assert found.text == f"others on this machine may read or write it: chmod 600 {files}"


async def test_the_doctor_tells_of_a_log_that_is_never_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "LARGEST_LOG", -1)
    found = (await examined(f"sqlite:///{tmp_path}/bot.db"))[0]
    assert "MB lie in its -wal" in found.text


async def test_the_doctor_tells_of_few_file_handles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LEAST_FILES", 10**9)
    found = {one.name: one for one in await examined(f"sqlite:///{tmp_path}/bot.db")}
    assert "files" in found or resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 0


async def test_a_part_that_never_ends_is_told_and_the_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a payment service that takes the connection and says nothing."""
    monkeypatch.setattr("bot.wiring.doctor.examination.LONGEST", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        peer = {
            "payments_url": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "app_id": "app",
            "app_secret": "secret",
        }
        settings = config.load(database_url=f"sqlite:///{tmp_path}/bot.db", **peer)
        found = {one.name: one for one in await examine(settings)}
    assert not found["PAYMENTS_URL"].well
    assert found["database"].well
