"""A small real receiver of webhooks on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.http_messages import END_OF_HEAD, HttpRequest, read_request

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def empty_answer(status: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", "Content-Length: 0", *headers, "", ""]
    return "\r\n".join(lines).encode()


@dataclass
class Receiver:
    """A receiver that gives the `answers` one after the other, then 200.

    With `silent` it takes requests and says nothing until `release` is set.
    """

    port: int = 0
    silent: bool = False
    answers: list[bytes] = field(default_factory=list)
    received: list[HttpRequest] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def count(self, number: int) -> None:
        """Wait until so many have come."""
        while len(self.received) < number:
            self.arrived.clear()
            await self.arrived.wait()

    async def left(self) -> None:
        """Wait until every connection is closed."""
        await asyncio.gather(*(task for task in self.open.values() if task))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open[writer] = asyncio.current_task()
        try:
            while True:
                await self._one(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open.pop(writer)
            writer.close()

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request as an ASGI application, as `serve` does over a socket."""
        line = f"{scope['method']} {scope['raw_path'].decode()} HTTP/{scope['http_version']}"
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = (await receive())["body"]
        answer = await self._answer(HttpRequest(line, headers, body))
        head, _, body = answer.partition(END_OF_HEAD)
        status, *lines = head.split(b"\r\n")
        names = [tuple(one.split(b": ", 1)) for one in lines]
        start = {"status": int(status.split()[1]), "headers": names}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": body})

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await self._answer(await read_request(reader)))
        await writer.drain()

    async def _answer(self, request: HttpRequest) -> bytes:
        self.received.append(request)
        self.arrived.set()
        if self.silent:
            await self.release.wait()
        return self.answers.pop(0) if self.answers else OK


@asynccontextmanager
async def open_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        receiver.release.set()
        server.close()
        under_way = [task for task in receiver.open.values() if task]
        for writer in receiver.open:
            writer.close()
        await asyncio.gather(*under_way)
