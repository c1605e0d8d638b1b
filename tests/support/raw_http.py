"""The product's web server on a free port, and connections to it byte by byte."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bot.app import web_server
from bot.app.web_server import WebServer
from bot.core.ops import readiness
from tests.support.http_peers import HttpAnswer, read_answer
from tests.support.service_harness import ServiceHarness, headers_of

SECONDS = 8.0
"""Seconds that an immediate answer may take on a busy machine."""

JSON = "Content-Type: application/json"
NOBODY = ("192.0.2.1",)
"""An address of a proxy that no test uses."""


@dataclass
class RunningServer:
    """A server at work; `callers` are the connections to it, which are closed with it."""

    port: int
    server: WebServer
    ended: asyncio.Task[None]
    callers: list[RawConnection] = field(default_factory=list)

    async def connect(self, host: str = "127.0.0.1") -> RawConnection:
        """Open a connection to it, as somebody of this address."""
        both = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0))
        self.callers.append(RawConnection(*both))
        return self.callers[-1]

    async def ask(self, request: bytes, host: str = "127.0.0.1") -> HttpAnswer:
        """Send a request on its own connection; return the first answer."""
        caller = await self.connect(host)
        await caller.send(request)
        return await caller.answer()

    async def stop(self) -> None:
        self.server.should_exit = True
        async with asyncio.timeout(SECONDS):
            await self.ended

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)


@dataclass
class RawConnection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> HttpAnswer:
        async with asyncio.timeout(SECONDS):
            return await read_answer(self.reader)

    async def ended(self) -> bytes:
        """Wait until the server has closed; what it said before."""
        async with asyncio.timeout(SECONDS):
            return await self.reader.read()

    async def trickle(self, data: bytes, seconds: float = 0.01) -> None:
        """Send the same bytes again and again until the server closes."""
        async with asyncio.timeout(SECONDS):
            try:
                while True:
                    await self.send(data)
                    await asyncio.sleep(seconds)
            except ConnectionError:
                pass

    async def leave(self) -> None:
        self.writer.transport.abort()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def open_web_server(
    app: Any, proxies: tuple[str, ...] = NOBODY
) -> AsyncIterator[RunningServer]:
    """Serve an ASGI app as the product does, `proxies` being FORWARDED_ALLOW_IPS."""
    turns = readiness.EndCancelled(web_server.FairTurns(app))
    server = WebServer(turns, proxies, 2.0)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        # uvloop sets it by itself. Without it the second part of an answer waits for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ended = asyncio.create_task(server.serve([listener]))
        site = RunningServer(listener.getsockname()[1], server, ended)
        try:
            yield site
        finally:
            await asyncio.gather(*(caller.leave() for caller in site.callers))
            await site.stop()


async def endless_body() -> AsyncIterator[bytes]:
    """Yield a body that begins and never ends."""
    yield b"{"
    await asyncio.Event().wait()


def get(path: str, *headers: str) -> bytes:
    """Write a call without a body."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def post(path: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Write a call with a body; `length` is a wrong length to declare."""
    told = f"Content-Length: {len(body) if length is None else length}"
    head = [f"POST {path} HTTP/1.1", "Host: x", told, *headers, "", ""]
    return "\r\n".join(head).encode() + body


def credentials(service: ServiceHarness) -> list[str]:
    """Return the head's lines of a JSON call with the application's credentials."""
    return [JSON, *(f"{name}: {value}" for name, value in headers_of(service.credentials).items())]


def long_field(size: int) -> str:
    return "X: " + "x" * size


async def is_answering(server: RunningServer) -> bool:
    return (await server.ask(get("/docs"))).status == 200
