"""The sandbox's servers: an ASGI application (Bot API, chat page, control API) and a mailbox."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from mimetypes import guess_type
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from aiosmtpd.smtp import SMTP, Envelope, Session
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.sandbox.web import api, contents, control
from bot.sandbox.world import world

POLICY = b"content-security-policy"
NOBODY, OURSELVES = b"frame-ancestors 'none'", b"frame-ancestors 'self'"


class AllowOwnFrames:
    """ASGI middleware that lets only this server's own pages frame its pages.

    The chat page shows pay pages in the browser of a simulated phone. Only a server with a chat
    page uses this.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_widened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name, value.replace(NOBODY, OURSELVES) if name == POLICY else value)
                    for name, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_widened)


_STATIC = Path(__file__).with_name("static")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The page frames itself: the payer's phone next to the seller's phone is the same page."""

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MAIL_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""An email contains its styles. It loads nothing, runs no scripts and has an origin of its own."""

_FILES = {path.name: path.read_bytes() for path in _STATIC.iterdir()}
"""Kept in memory: a file being sent would stay open if the client disconnects."""

_PAGE = "chat.html"


def page_routes(world: world.World) -> list[BaseRoute]:
    """Return the routes of the chat page, its files, emails and pictures, below `/chat`."""
    missing = Response("Not found", 404, _HEADERS)

    async def index(_request: Request) -> Response:
        return Response(_FILES[_PAGE], headers=_HEADERS, media_type="text/html")

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES or name == _PAGE:
            return missing
        return Response(_FILES[name], headers=_HEADERS, media_type=guess_type(name)[0])

    async def mail(request: Request) -> Response:
        found = world.mails.find(request.path_params["number"])
        if found is None:
            return missing
        headers = _HEADERS | {"Content-Security-Policy": _MAIL_POLICY}
        return Response(found.html, headers=headers, media_type="text/html")

    async def file(request: Request) -> Response:
        stored = world.files.get(request.path_params["file_id"])
        if stored is None:
            return missing
        headers = dict(_HEADERS)
        if stored.kind != "photo":
            name = quote(str(stored.json["file_name"]), safe="")
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
        return contents.file_answer(await world.files.read(stored), headers)

    return [
        Route("/chat", index, methods=["GET"]),
        Route("/chat/assets/{name:str}", asset, methods=["GET"]),
        Route("/chat/mails/{number:int}", mail, methods=["GET"]),
        Route("/chat/files/{file_id:str}", file, methods=["GET"]),
    ]


def routes(world: world.World) -> list[BaseRoute]:
    """Return every route of the sandbox, to be served alone or beside others."""
    return [*api.routes(world), *control.routes(world), *page_routes(world)]


def create_app(world: world.World) -> Starlette:
    """Serve `world` at `/bot{token}/…`, `/file/bot{token}/…` and `/chat`.

    Its lifespan closes the world; a server that mounts `routes` calls `world.close()` itself.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await world.close()

    return Starlette(routes=routes(world), lifespan=lifespan)


# The mail server of the demo, which accepts every email and forwards none.

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
        self, handler: object, host: str = HOST, tls: ssl.SSLContext | None = None, **options: Any
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
