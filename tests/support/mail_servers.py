"""Mail servers as tests meet them: a real one that is told what to answer, and rude ones."""

# ruff: noqa: N802 - aiosmtpd's names

from __future__ import annotations

import asyncio
import email
import email.policy
import ipaddress
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.core.mail.smtp import SmtpServer
from bot.sandbox.web.mailbox import HOST, MailServer
from bot.service.notify.letter_texts import LetterOrigin, LetterTarget, payment_letter
from tests.support.payment_reports import LETTER_REPORT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from email.message import EmailMessage
    from pathlib import Path

    from aiosmtpd.smtp import SMTP, Envelope, LoginPassword, Session

PAY = "https://pay.example.org"
SENDER = "Our shop <shop@example.org>"


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

    def server(self, *, tls: bool = False, near: bool = True, host: str = HOST) -> SmtpServer:
        """The settings that lead here; `near` False treats it as one across the network."""
        user, password = self.account or (None, None)
        return SmtpServer(host, self.port, tls, near, user, password)

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


def letter(sender: str = SENDER, url: str = PAY, **changes: Any) -> EmailMessage:
    """The letter of a payment as it arrives: written, sent over the wire, read."""
    return parse_letter(composed_letter(sender, url, **changes).as_bytes(policy=email.policy.SMTP))


def composed_letter(
    sender: str = SENDER, url: str = PAY, letter_id: str = "mail-7", **changes: Any
) -> EmailMessage:
    """The letter of a payment as it is handed to the mail server."""
    report = replace(LETTER_REPORT, **changes)
    target = LetterTarget(letter_id, report.address, "stop-7")
    return payment_letter([report], target, LetterOrigin(sender, url))


def parse_letter(content: bytes) -> EmailMessage:
    """A letter as its reader's program sees it."""
    message: Any = email.message_from_bytes(content, policy=email.policy.default)
    return message  # type: ignore[no-any-return]


@asynccontextmanager
async def mail_server(
    *,
    tls: ssl.SSLContext | None = None,
    starttls: ssl.SSLContext | None = None,
    account: tuple[str, str] | None = None,
    without: tuple[str, ...] = (),
    answers: dict[str, str] | None = None,
) -> AsyncIterator[MailServerStub]:
    """A real mail server; `tls` from the start, `account` may hand mail in, `without` ways to."""
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
    """A server that says these lines, one a line that it hears, and then hangs up.

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
        yield SmtpServer(HOST, port, tls=False, near=True)
    finally:
        server.close()
        await asyncio.gather(*talks, return_exceptions=True)


@dataclass(frozen=True)
class TlsContexts:
    """TLS of a server of this machine, and a client that trusts it."""

    server: ssl.SSLContext
    client: ssl.SSLContext


def make_tls(folder: Path) -> TlsContexts:
    """A self-signed certificate for 127.0.0.1, both ends of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.test")])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "mail.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return TlsContexts(server, ssl.create_default_context(cafile=path))
