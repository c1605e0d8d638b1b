"""Mail servers: a real one whose answers a test chooses, and one that follows a script."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from aiosmtpd.smtp import AuthResult

from bot.core.net.mail import SmtpServer
from bot.sandbox.web.mailbox import HOST, MailServer
from tests.support.letters import parse_letter

if TYPE_CHECKING:
    from aiosmtpd.smtp import SMTP, Envelope, LoginPassword, Session


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
