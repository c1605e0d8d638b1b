"""A mail server on this machine for the demo: it accepts every email and forwards none."""

import asyncio
import logging
import socket
import ssl
from typing import Any, cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from bot.sandbox.world import world

HOST = "127.0.0.1"
MOST_BYTES = 256 * 1024


class _Connection(SMTP):
    """A client connection that its server tracks until it ends."""

    def __init__(self, handler: object, others: "set[_Connection]", **options: Any) -> None:
        super().__init__(handler, hostname="localhost", **options)
        self._others = others

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._others.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._others.discard(self)
        super().connection_lost(error)

    async def end(self) -> None:
        """Close the connection and wait for its handler."""
        if self.transport is not None:
            cast("asyncio.WriteTransport", self.transport).abort()
        if self._handler_coroutine is not None:
            self._handler_coroutine.cancel()
            await asyncio.gather(self._handler_coroutine, return_exceptions=True)


class MailServer:
    """aiosmtpd on a free port of `host`, optionally with implicit TLS and with aiosmtpd's options.

    The port is bound immediately; clients that connect before `start` are answered after it.
    """

    def __init__(
        self,
        handler: object,
        host: str = HOST,
        tls: ssl.SSLContext | None = None,
        **options: Any,
    ) -> None:
        self._handler = handler
        self._tls = tls
        self._options = options
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family)
        self.port = int(self._socket.getsockname()[1])

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self._handler, self._connections, loop=loop, **self._options),
            sock=self._socket,
            ssl=self._tls,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        self._socket.close()
        await asyncio.gather(*(each.end() for each in tuple(self._connections)))


class Mailbox:
    """The world's mail server, whose emails the chat page shows.

    It belongs to the event loop in which it is opened.
    """

    def __init__(self, world: world.World) -> None:
        logging.getLogger("mail.log").setLevel(logging.WARNING)  # else every line of every email
        self._world = world
        self._server = MailServer(self, data_size_limit=MOST_BYTES)
        self.url = world.mails.address = f"smtp://{HOST}:{self._server.port}"
        self._starting: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to answer soon."""
        self._starting = asyncio.get_running_loop().create_task(self._server.start())

    async def close(self) -> None:
        if self._starting is not None:
            await self._starting
        await self._server.close()

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """Keep an email; return the SMTP answer."""
        content = envelope.original_content or b""
        try:
            self._world.deliver(content, tuple(envelope.rcpt_tos))
        except (LookupError, ValueError):
            return "554 5.6.0 This email can't be read"
        return "250 2.0.0 Kept for the chat page; nothing is sent on"
