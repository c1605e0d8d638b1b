"""The demo's mail server: it takes what is sent, shows it to the page, and sends nothing on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from email.message import EmailMessage
from typing import Any

import aiosmtplib
import pytest
import uvloop

from bot import config
from bot.app.application import DEMO_SENDER, prepare_demo
from bot.core.errors import MailRefused
from bot.core.net.mail import parse_server
from bot.sandbox.web.server import MOST_BYTES, Mailbox
from bot.sandbox.world.model import KEPT, Mails
from bot.sandbox.world.world import World
from bot.service.notifications.emails import Mailer
from tests.support.mail import SENDER, composed_letter
from tests.support.sandbox_server import START, Clock


@pytest.fixture
def world() -> World:
    return World(now=Clock())


@pytest.fixture
async def mailbox(world: World) -> AsyncIterator[Mailbox]:
    it = Mailbox(world)
    it.open()
    yield it
    await it.close()


def letter(**changes: Any) -> EmailMessage:
    return composed_letter(letter_id="mail-1", **changes)


async def handed_in(mailbox: Mailbox, content: bytes) -> tuple[int, str]:
    """What the server answers to anything at all."""
    server = parse_server(mailbox.url)
    async with aiosmtplib.SMTP(hostname=server.host, port=server.port, start_tls=False) as client:
        await client.ehlo()
        await client.mail("a@example.org")
        await client.rcpt("b@example.org")
        answer = await client.data(content)
    return answer.code, answer.message


async def test_an_email_is_kept_as_its_reader_sees_it(world: World, mailbox: Mailbox) -> None:
    since = world.feed.seq
    answer = await Mailer(parse_server(mailbox.url)).send(letter(product="Kaffee ☕"))
    assert answer == (250, "2.0.0 Kept for the chat page; nothing is sent on")
    shown = world.mails.json()
    (mail,) = shown["mails"]
    assert (shown["address"], shown["count"]) == (mailbox.url, 1)
    assert mail.pop("text").startswith("$5.00 received\n\nFor: Kaffee ☕\n")
    assert mail == {
        "id": 1,
        "date": int(START),
        "from": SENDER,
        "to": ["seller@example.org"],
        "subject": "$5.00 for Kaffee ☕",
        "has_html": True,
    }
    kept = world.mails.find(1)
    assert kept
    assert "<h1" in kept.html
    events = world.feed.since(since) or []
    assert [(event["type"], event["chat_id"], event["mail"]) for event in events] == [
        ("mail", 0, 1)
    ]


async def test_only_the_newest_are_kept(world: World, mailbox: Mailbox) -> None:
    for number in range(KEPT + 2):
        world.deliver(f"Subject: {number}\r\n\r\nx".encode(), ("a@example.org",))
    shown = world.mails.json()
    assert (shown["count"], len(shown["mails"])) == (KEPT + 2, KEPT)
    assert [shown["mails"][place]["subject"] for place in (0, -1)] == [str(KEPT + 1), "2"]
    assert world.mails.find(2) is None
    assert mailbox.url == world.mails.address


@pytest.mark.long
async def test_what_is_no_email_is_refused_and_what_is_hardly_one_is_shown(
    world: World, mailbox: Mailbox
) -> None:
    unknown = b"Content-Type: text/plain; charset=klingon\r\n\r\nqapla'\r\n"
    huge = b"Subject: x\r\n\r\n" + b"\r\n" * MOST_BYTES
    for content, code in ((unknown, 554), (huge, 552)):
        with pytest.raises(aiosmtplib.SMTPDataError) as caught:
            await handed_in(mailbox, content)
        assert caught.value.code == code
    assert (await handed_in(mailbox, b"\r\n\xff\xfe\x00 no headers\r\n"))[0] == 250
    assert [mail["subject"] for mail in world.mails.json()["mails"]] == [""]


async def test_an_email_without_html_has_none(world: World) -> None:
    world.deliver(b"From: a@example.org\r\nSubject: Hi\r\n\r\n<b>x</b>\r\n", ("b@example.org",))
    mail = world.mails.find(1)
    assert mail
    assert (mail.text, mail.html, mail.json()["has_html"]) == ("<b>x</b>\n", "", False)


async def test_before_a_server_listens_there_is_no_address() -> None:
    assert Mails().json() == {"address": None, "count": 0, "mails": []}


async def test_closing_hangs_up_on_who_is_still_there(world: World) -> None:
    """So that a stop of the demo waits for nobody."""
    mailbox = Mailbox(world)
    mailbox.open()
    server = parse_server(mailbox.url)
    reader, writer = await asyncio.open_connection(server.host, server.port)
    assert (await reader.readline()).startswith(b"220 ")
    async with asyncio.timeout(5):
        await mailbox.close()
        assert await reader.read() == b""
    writer.close()
    with pytest.raises(MailRefused):
        await Mailer(server).send(letter())


async def test_closed_before_it_has_begun_it_ends_as_well(world: World) -> None:
    mailbox = Mailbox(world)
    mailbox.open()
    await mailbox.close()
    assert world.mails.count == 0


def test_the_loop_of_the_demo_can_do_it_too() -> None:
    """The demo runs on uvloop, whose transports are its own."""

    async def play() -> int:
        world = World()
        mailbox = Mailbox(world)
        mailbox.open()
        server = parse_server(mailbox.url)
        _, writer = await asyncio.open_connection(server.host, server.port)
        await Mailer(server).send(letter())
        await mailbox.close()
        writer.close()
        return world.mails.count

    assert uvloop.run(play()) == 1


async def test_the_demo_has_a_mail_server_unless_the_operator_names_one() -> None:
    own, _, close = prepare_demo(config.load(port=8099))
    assert own.smtp_url is not None
    server = parse_server(own.smtp_url.get_secret_value())
    assert (server.is_local, own.smtp_from) == (True, DEMO_SENDER)
    await Mailer(server).check()
    await close()
    with pytest.raises(MailRefused):
        await Mailer(server).check()
    named = {"smtp_url": "smtp://mail.example.org", "smtp_from": "shop@example.org"}
    settings = config.load(port=8099, **named)
    theirs, _, close = prepare_demo(settings)
    await close()
    assert (theirs.smtp_url, theirs.smtp_from) == (settings.smtp_url, "shop@example.org")
