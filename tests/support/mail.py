"""Email in tests: letters, the servers that take them, and the service that sends them."""

from __future__ import annotations

import asyncio
import email
import email.policy
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from functools import partial
from typing import Any

import httpx
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from bot.core.database.database import Row
from bot.core.net.mail import SmtpServer
from bot.core.outbox import outbox
from bot.sandbox.web.server import HOST, MailServer
from bot.service.notifications.emails import LetterSender, Mailer, to_payers, to_sellers
from bot.service.notifications.letter_texts import LetterOrigin, LetterTarget, payment_letter
from bot.service.payments.payment_reports import (
    LetterReport,
    ReceiptReport,
    RejectionNotice,
    WebhookReport,
)
from bot.service.requests.request import SellerProfile
from tests.support.service_harness import NEW, REQUESTS_PATH, URL, ServiceHarness, open_service

PAYMENT: dict[str, Any] = {
    "app_id": "app",
    "request_id": "0123456789abcdef01234567",
    "transaction_id": "a1b2c3",
    "amount": 500,
    "currency": "USD",
    "completed_at": 1_790_000_000_123,
}
WEBHOOK_REPORT = WebhookReport(url="https://shop.example/hook", **PAYMENT)
LETTER_REPORT = LetterReport(
    recipient_id="recipient", address="seller@example.org", product="Coffee", **PAYMENT
)
RECEIPT_REPORT = ReceiptReport(address="pat@payer.example", language="en", **PAYMENT)
REJECTION_NOTICE = RejectionNotice(
    app_id="app",
    request_id=PAYMENT["request_id"],
    checkout_id="c0ffee",
    address="pat@payer.example",
    language="en",
    amount=500,
    currency="USD",
    reference="K7M2-Q9TX",
    rejected_at=PAYMENT["completed_at"],
)


PAY = "https://pay.example.org"
SENDER = "Our shop <shop@example.org>"


def seller_letter(seller: SellerProfile | None) -> EmailMessage:
    """Return the letter of a payment to this seller."""
    target = LetterTarget("mail-7", LETTER_REPORT.address, "stop-7")
    composed = payment_letter([LETTER_REPORT], target, LetterOrigin(SENDER, PAY), seller)
    return parse_letter(composed.as_bytes(policy=email.policy.SMTP))


def letter(sender: str = SENDER, url: str = PAY, **changes: Any) -> EmailMessage:
    """Return the letter of a payment as it arrives: written, sent over the wire, read."""
    return parse_letter(composed_letter(sender, url, **changes).as_bytes(policy=email.policy.SMTP))


def composed_letter(
    sender: str = SENDER, url: str = PAY, letter_id: str = "mail-7", **changes: Any
) -> EmailMessage:
    """Compose the letter of a payment as the mail server receives it."""
    report = replace(LETTER_REPORT, **changes)
    target = LetterTarget(letter_id, report.address, "stop-7")
    return payment_letter([report], target, LetterOrigin(sender, url))


def parse_letter(content: bytes) -> EmailMessage:
    """Parse a letter as its reader's program does."""
    message: Any = email.message_from_bytes(content, policy=email.policy.default)
    return message  # type: ignore[no-any-return]


# ruff: noqa: N802 - aiosmtpd's names


@dataclass
class MailServerStub:
    """What a server took, was asked and answers; `answers` are by command, the usual else."""

    port: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    letters: list[EmailMessage] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    logins: list[tuple[str, str, str]] = field(default_factory=list)
    over_tls: list[bool] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    account: tuple[str, str] | None = None

    def server(self, *, tls: bool = False, is_local: bool = True, host: str = HOST) -> SmtpServer:
        """Return the settings that lead here; with `is_local` False as if across the network."""
        user, password = self.account or (None, None)
        return SmtpServer(host, self.port, tls, is_local, user, password)

    def _answer(self, command: str, usual: str = "250 OK") -> str:
        self.asked.append(command)
        return self.answers.get(command, usual)

    async def handle_EHLO(
        self, _server: SMTP, session: Session, _envelope: Envelope, name: str, told: list[str]
    ) -> list[str]:
        session.host_name = name
        refused = self._answer("EHLO", "")
        return [refused] if refused else told

    async def handle_MAIL(
        self, _server: SMTP, session: Session, envelope: Envelope, sender: str, _options: list[str]
    ) -> str:
        envelope.mail_from = sender
        self.over_tls.append(session.ssl is not None)
        return self._answer("MAIL")

    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, to: str, _options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(to)
        return self._answer("RCPT")

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        answer = self._answer("DATA", "250 2.0.0 taken as 7")
        if answer.startswith("250"):
            self.letters.append(parse_letter(envelope.original_content or b""))
            self.came.set()
        return answer

    async def handle_RSET(self, _server: SMTP, *_: Any) -> str:
        return self._answer("RSET")

    async def handle_NOOP(self, _server: SMTP, *_: Any) -> str:
        return self._answer("NOOP")

    async def handle_QUIT(self, _server: SMTP, *_: Any) -> str:
        return self._answer("QUIT", "221 Bye")

    def authenticate(
        self, _server: SMTP, _session: Any, _envelope: Any, way: str, given: LoginPassword
    ) -> AuthResult:
        login = given.login.decode(), given.password.decode()
        self.logins.append((way, *login))
        return AuthResult(success=login == self.account, handled=False)


@asynccontextmanager
async def mail_server(
    *,
    tls: ssl.SSLContext | None = None,
    starttls: ssl.SSLContext | None = None,
    account: tuple[str, str] | None = None,
    without: tuple[str, ...] = (),
    answers: dict[str, str] | None = None,
) -> AsyncIterator[MailServerStub]:
    """Serve mail; `tls` from the start, `account` may log in, `without` these mechanisms."""
    it = MailServerStub(answers=answers or {}, account=account)
    options: dict[str, Any] = {"tls_context": starttls}
    if account:
        options |= {
            "authenticator": it.authenticate,
            "auth_exclude_mechanism": without,
            "auth_require_tls": False,
        }
    server = MailServer(it, tls=tls, **options)
    it.port = server.port
    await server.start()
    try:
        yield it
    finally:
        await server.close()


@asynccontextmanager
async def scripted_smtp_server(*replies: str, silent: bool = False) -> AsyncIterator[SmtpServer]:
    """Serve these lines, one after each line of the client, and then close.

    After 354 it hears a whole letter first; `silent` it stays on the line and says no more.
    """
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        last = ""
        for reply in replies:
            if last:
                await reader.readuntil(b"\r\n.\r\n" if last.startswith("354") else b"\r\n")
            writer.write(reply.encode() + b"\r\n")
            last = reply
        if last:
            await reader.readuntil(b"\r\n.\r\n" if last.startswith("354") else b"\r\n")
        if silent:
            await reader.read()

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        talks.add(task)
        try:
            await talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(met, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield SmtpServer(HOST, port, tls=False, is_local=True)
    finally:
        server.close()
        await asyncio.gather(*talks, return_exceptions=True)


class MailRound:
    """The service, the mail server, and the letters that one sender sends between them."""

    def __init__(
        self,
        service: ServiceHarness,
        office: MailServerStub,
        mails: LetterSender[Any],
    ) -> None:
        self.service = service
        self.office = office
        self.mails = mails
        self._payments = 0

    @property
    def letters(self) -> list[EmailMessage]:
        return self.office.letters

    async def work(self, seconds: float = 0) -> int:
        """Pass time and send all letters that are due; return how many were sent."""
        self.service.clock.advance(seconds)
        before = len(self.letters)
        while claimed := self.service.db.run(
            lambda tx: outbox.claim(tx, self.mails.queue_handler.queue, self.service.clock(), 4)
        ):
            for message in claimed:
                await self.mails.handle(message)
        return len(self.letters) - before


VICTIM = "victim@mail.example"


class LetterHarness(MailRound):
    """A shop whose sellers are strangers, its mail server, and the worker between them."""

    def __init__(self, service: ServiceHarness, office: MailServerStub) -> None:
        mailer = Mailer(office.server(), timeout=5)
        mails = to_sellers(service.db, mailer, service.clock, LetterOrigin(SENDER, URL))
        super().__init__(service, office, mails)

    def distrust(self) -> None:
        """Require that the holders of addresses confirm them."""
        sql, app_id = "UPDATE apps SET confirms = 1 WHERE id = :id", self.service.credentials.app_id
        self.service.db.run(lambda tx: tx.execute(sql, id=app_id))

    async def name(self, address: str, owner: str | None = None, **fields: Any) -> httpx.Response:
        """Make a request that names an address, for a seller."""
        body = {**NEW, "notifications": {"email": address}, **fields}
        headers = {"Owner-Ref": owner} if owner is not None else None
        return await self.service.seller.post(REQUESTS_PATH, json=body, headers=headers)

    async def sell(self, address: str, owner: str | None = None, **fields: Any) -> str:
        """Make a request that names an address; return its id."""
        answer = await self.name(address, owner, **fields)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    async def pay(self, request_id: str, times: int = 1) -> None:
        for _ in range(times):
            self._payments += 1
            paid = await self.service.pay(request_id, f"{self._payments:032d}")
            assert paid.status_code == 303

    async def states(self) -> list[tuple[str, str | None]]:
        """Return state and note of each notification in order."""
        rows = await self.service.db.query(
            "SELECT o.state, o.note FROM deliveries d JOIN outbox o ON o.id = d.id ORDER BY d.id"
        )
        return [(row["state"], row["note"]) for row in rows]


@asynccontextmanager
async def open_letter_harness(
    database_url: str, *, strangers: bool = True
) -> AsyncIterator[LetterHarness]:
    """Open a shop with a mail server; `strangers` are its sellers."""
    async with open_service(database_url, mails=True) as service, mail_server() as server:
        post = LetterHarness(service, server)
        if strangers:
            post.distrust()
        yield post


def plain(letter: EmailMessage) -> str:
    part = letter.get_body(("plain",))
    assert part
    return str(part.get_content())


def link(letter: EmailMessage, kind: str, url: str = URL) -> str:
    """Return the path of a link in a letter, `confirm` or `stop`."""
    found = re.search(rf"{url}(/email/{kind}/\S+)", plain(letter))
    assert found, plain(letter)
    return found[1]


PAYER = "pat.lee@payer.example"
KEY = b"k" * 32
ASKED: dict[str, Any] = {"requestedUserData": ["email"]}

WORDS: dict[str, Any] = {
    "product": {
        "name": "Zanzibar-Name",
        "description": "Zanzibar-Description",
        "longDescription": "Zanzibar-Long",
        "imageUrl": "https://zanzibar.example/product.png",
    },
    "seller": {
        "name": "Zanzibar-Seller",
        "imageUrl": "https://zanzibar.example/seller.png",
        "contact": "zanzibar@zanzibar.example",
        "description": "Zanzibar-Line",
        "accentColor": "orange",
    },
    "receivers": [{"sendAmount": 5, "destination": "zanzibar-wallet", "tags": ["zanzibar-tag"]}],
    "redirectUrl": "https://zanzibar.example/thanks",
    "notifications": {"webhook": {"webhookUrl": "https://zanzibar.example/hook"}},
}
"""Everything that a seller can write, in a word that stands nowhere else."""


class ReceiptHarness(MailRound):
    """The service, the mail server, and the receipts between them."""

    def __init__(self, service: ServiceHarness, office: MailServerStub) -> None:
        mailer, origin = Mailer(office.server(), timeout=5), LetterOrigin(SENDER, URL)
        mails = to_payers(service.db, mailer, service.clock, origin, KEY)
        super().__init__(service, office, mails)

    async def ask(self, **fields: Any) -> str:
        """Make a request that asks for an email address; return its id."""
        return str((await self.service.create(**ASKED, **fields))["id"])

    async def pay(
        self, request_id: str, address: str = PAYER, language: str = "en", **fields: str
    ) -> httpx.Response:
        self._payments += 1
        form = {"token": f"{self._payments:032d}", "email": address, **fields}
        return await self.service.anyone.post(
            f"/pay/{request_id}", data=form, headers={"Accept-Language": language}
        )

    async def claim_all(self) -> list[str]:
        """Settle all receipts that may go now, unsent; return their requests in this order."""
        queue, now, found = self.mails.queue_handler.queue, self.service.clock(), []
        while claimed := self.service.db.run(lambda tx: outbox.claim(tx, queue, now, 50)):
            found += [message.body.request_id for message in claimed]
            for message in claimed:
                self.service.db.run(partial(outbox.done, queue=queue, message=message, now=now))
        return found

    async def rows(self) -> list[Row]:
        """Return each receipt's notification with the state of its message."""
        return await self.service.db.query(
            "SELECT d.*, o.state, o.note, o.body, o.lane FROM deliveries d"
            " JOIN outbox o ON o.id = d.id WHERE d.channel = 'receipt' ORDER BY d.id"
        )

    async def states(self) -> list[tuple[str, str | None]]:
        return [(row["state"], row["note"]) for row in await self.rows()]


@asynccontextmanager
async def open_receipt_harness(database_url: str, **settings: Any) -> AsyncIterator[ReceiptHarness]:
    given: dict[str, Any] = {"mails": True, "payer_key": KEY} | settings
    async with open_service(database_url, **given) as service, mail_server() as server:
        yield ReceiptHarness(service, server)
