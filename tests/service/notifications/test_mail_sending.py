"""Letters sent to a real server, and retried as webhooks are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from bot.core.database.database import Row
from bot.core.net.mail import SmtpServer
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.service.notifications import notification_rows
from bot.service.notifications.emails import CONCURRENT_LETTERS, LetterSender, Mailer, to_sellers
from bot.service.notifications.letter_texts import LetterOrigin
from bot.service.notifications.notification import Attempt
from bot.service.notifications.recipients import MAILS, Letter
from tests.support.mail import SENDER, MailServerStub, mail_server
from tests.support.service_harness import (
    DROP,
    NOON,
    URL,
    ServiceHarness,
    open_service,
)
from tests.support.webhook_delivery import attempt, working

ADDRESS = "Ann.Lee@shop.example"


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url, mails=True) as it:
        yield it


@pytest.fixture
async def post() -> AsyncIterator[MailServerStub]:
    async with mail_server() as it:
        yield it


def mails(service: ServiceHarness, server: SmtpServer) -> LetterSender[Letter]:
    origin = LetterOrigin(SENDER, URL)
    return to_sellers(service.db, Mailer(server, timeout=10), service.clock, origin)


async def owe(service: ServiceHarness, *addresses: str) -> None:
    for number, address in enumerate(addresses or (ADDRESS,)):
        made = await service.create(**DROP, notifications={"email": address})
        assert (await service.pay(made["id"], f"{number:032d}")).status_code == 303


def log(service: ServiceHarness, row: Row) -> list[Attempt]:
    return service.db.run(lambda tx: notification_rows.attempts(tx, row["id"]))


async def test_a_payment_is_reported_to_the_named_address(
    service: ServiceHarness, post: MailServerStub
) -> None:
    """Its Message-ID has the notification's id."""
    await owe(service)
    row = await attempt(service, mails(service, post.server()).queue_handler)
    (letter,) = post.letters
    assert letter["To"] == ADDRESS
    assert letter["From"] == SENDER
    assert row["id"] in letter["Message-ID"]
    assert (row["state"], row["attempts"], row["settled_at"]) == ("done", 1, NOON)
    (tried,) = log(service, row)
    assert (tried.at, tried.status, tried.answer) == (NOON, 250, "2.0.0 taken as 7")


async def test_a_temporary_refusal_is_retried(
    service: ServiceHarness, post: MailServerStub
) -> None:
    post.answers["RCPT"] = "451 4.7.1 greylisted"
    await owe(service)
    queue_handler = mails(service, post.server()).queue_handler
    row = await attempt(service, queue_handler)
    told = f"127.0.0.1:{post.port} answered 451 to the recipient"
    assert (row["state"], row["note"]) == ("waiting", told)
    assert NOON + 4000 <= row["due_at"] <= NOON + 6000
    (tried,) = log(service, row)
    assert (tried.status, tried.answer, tried.problem) == (451, "4.7.1 greylisted", told)
    post.answers.clear()
    service.clock.at = row["due_at"]
    assert (await attempt(service, queue_handler))["state"] == "done"
    assert [one.status for one in log(service, row)] == [451, 250]
    assert len(post.letters) == 1


async def test_an_unknown_mailbox_is_given_up_at_once(
    service: ServiceHarness, post: MailServerStub
) -> None:
    post.answers["RCPT"] = "550 5.1.1 no such mailbox"
    await owe(service)
    row = await attempt(service, mails(service, post.server()).queue_handler)
    assert (row["state"], row["attempts"]) == ("dead", 1)
    assert row["note"] == f"127.0.0.1:{post.port} answered 550 to the recipient"


async def test_a_refused_login_is_named_in_note_and_log(service: ServiceHarness) -> None:
    """Only the operator can correct it."""
    await owe(service)
    async with mail_server(account=("shop", "open sesame")) as post:
        queue_handler = mails(service, replace(post.server(), password="sesame")).queue_handler
        with capture_logs() as lines:
            row = await attempt(service, queue_handler)
    words = "5.7.8 Authentication credentials invalid"
    told = f"127.0.0.1:{post.port} answered 535 to the login: {words}"
    assert (row["state"], row["note"], lines[0]["why"]) == ("waiting", told, told)
    (tried,) = log(service, row)
    assert (tried.status, tried.answer) == (535, words)


async def test_a_letter_that_cannot_be_written_is_one_attempt_and_dead(
    service: ServiceHarness,
) -> None:
    """The server gets no connection."""
    await owe(service)
    service.db.run(
        lambda tx: tx.execute(
            "UPDATE outbox SET body = REPLACE(body, :old, :new)",
            old=ADDRESS, new="=?utf-8?q?a?=@shop.example",
        )
    )  # fmt: skip
    async with mail_server() as post:
        with capture_logs() as lines:
            row = await attempt(service, mails(service, post.server()).queue_handler)
    assert (row["state"], row["note"]) == ("dead", "notifications.email is no email address")
    assert len(log(service, row)) == 1
    assert [one["event"] for one in lines] == ["email dead"]
    assert post.asked == []


async def test_the_log_names_the_domain_and_never_the_mailbox(
    service: ServiceHarness, post: MailServerStub
) -> None:
    post.answers["RCPT"] = "451 4.2.1 later"
    await owe(service)
    queue_handler = mails(service, post.server()).queue_handler
    with capture_logs() as lines:
        row = await attempt(service, queue_handler)
        post.answers["RCPT"] = "550 5.1.1 none"
        service.clock.at = row["due_at"]
        await attempt(service, queue_handler)
    assert [(one["event"], one["host"], one["log_level"]) for one in lines] == [
        ("email failed", "shop.example", "warning"),
        ("email dead", "shop.example", "warning"),
    ]
    assert "ann" not in str(lines).lower()


async def test_a_mailbox_gets_one_letter_at_a_time(service: ServiceHarness) -> None:
    """In any spelling of its address; other mailboxes get theirs at the same time."""
    others = [f"{number}@shop.example" for number in range(CONCURRENT_LETTERS + 2)]
    await owe(service, ADDRESS, ADDRESS.lower(), ADDRESS.upper(), *others)

    def claim(room: int) -> list[Message]:
        return service.db.run(lambda tx: outbox.claim(tx, MAILS, service.clock(), room))

    lanes = [message.lane for message in claim(100)]
    assert sorted(lanes) == sorted([ADDRESS.lower(), *others])


async def test_a_mailbox_that_waits_delays_no_other(
    service: ServiceHarness, post: MailServerStub
) -> None:
    """Its own newer letters neither."""
    post.answers["RCPT"] = "451 4.2.1 later"
    await owe(service)
    queue_handler = mails(service, post.server()).queue_handler
    await attempt(service, queue_handler)
    post.answers.clear()
    await owe(service, ADDRESS, "bob@shop.example")
    async with working(service, queue_handler), asyncio.timeout(5):
        while len(post.letters) < 2:
            post.came.clear()
            await post.came.wait()
    assert sorted(letter["To"] for letter in post.letters) == [ADDRESS, "bob@shop.example"]
