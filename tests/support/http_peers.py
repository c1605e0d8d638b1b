"""HTTP peers that tests hold: messages, failures, scripted servers, receivers."""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Receive, Scope, Send

END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came; the names of `headers` are in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer as it came; the names of `headers` are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> tuple[int, str]:
        return self.status, json.loads(self.body)["code"]


async def read_request(reader: StreamReader) -> HttpRequest:
    """Read one request. Raises IncompleteReadError at the end of the connection."""
    return HttpRequest(*await _read(reader))


async def read_answer(reader: StreamReader) -> HttpAnswer:
    """Read one answer. Raises IncompleteReadError at the end of the connection."""
    line, headers, body = await _read(reader)
    return HttpAnswer(int(line.split(" ")[1]), headers, body)


async def _read(reader: StreamReader) -> tuple[str, dict[str, str], bytes]:
    line, *lines = (await reader.readuntil(END_OF_HEAD)).decode().split("\r\n")[:-2]
    headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
    return line, headers, await reader.readexactly(int(headers.get("content-length", "0")))


def http_response(status: int, body: Any = None, **headers: str) -> bytes:
    """Build an answer: `body` as JSON, bytes unchanged, None for an empty one."""
    content = (
        body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    )
    more = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", *more, "", ""])
    return head.encode() + content


SECONDS = 15.0
CUT = b""
"""An answer that breaks the connection instead."""


@dataclass
class ScriptedServer:
    port: int = 0
    answers: deque[bytes] = field(default_factory=deque)
    calls: list[HttpRequest] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def add_answers(self, *answers: bytes) -> None:
        async with self.news:
            self.answers.extend(answers)
            self.news.notify_all()

    async def asked(self, number: int) -> list[HttpRequest]:
        """Wait until so many calls have come."""
        async with asyncio.timeout(SECONDS), self.news:
            await self.news.wait_for(lambda: len(self.calls) >= number)
        return self.calls

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await read_request(reader)
        async with self.news:
            self.calls.append(request)
            self.news.notify_all()
            await self.news.wait_for(lambda: self.answers)
            answer = self.answers.popleft()
        writer.write(answer)
        await writer.drain()
        return answer != CUT


@asynccontextmanager
async def open_scripted_server(*answers: bytes) -> AsyncIterator[ScriptedServer]:
    peer = ScriptedServer(answers=deque(answers))
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    try:
        yield peer
    finally:
        server.close()
        await peer.add_answers(*[CUT] * 100)


@dataclass(frozen=True, slots=True)
class ServerFailure:
    """How a call fails."""

    answer: bytes | None = None
    """Replaces the true answer; None keeps it."""

    works: bool = False
    """The call is carried out all the same."""

    holds: bool = False
    """Neither the work nor the answer happens before `release`, though the caller may have left."""

    late: bool = False
    """The work is done before it holds."""


LOST = ServerFailure(CUT, works=True)
"""Carried out, and the connection breaks before the answer."""
BROKEN = ServerFailure(CUT)
"""The connection breaks before anything is done."""
SLOW = ServerFailure(works=True, holds=True)
"""At work for as long as the test likes: neither done nor answered before `release`."""
SILENT = ServerFailure(works=True, holds=True, late=True)
"""Carried out at once, answered not before `release`."""
HTML = ServerFailure(
    http_response(200, b"<html><h1>Maintenance</h1></html>", Content_Type="text/html")
)
EMPTY = ServerFailure(http_response(200))
WRONG = ServerFailure(http_response(200, {"ok": True}))
FAILING = ServerFailure(http_response(500, {"message": "Internal server error", "info": None}))


def busy(seconds: int) -> ServerFailure:
    """Answer 429 with a `Retry-After` of so many seconds."""
    body = {"message": "Too many requests", "info": None}
    return ServerFailure(http_response(429, body, Retry_After=str(seconds)))


def redirect(status: int, address: str) -> ServerFailure:
    """Redirect to an address."""
    return ServerFailure(http_response(status, Location=address))


INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n" * 1_000


@dataclass
class EndlessAnswers:
    """The server at `url`, and how many bytes it has sent."""

    url: str = ""
    sent: int = 0


@asynccontextmanager
async def endless_answers(end_of_request: bytes) -> AsyncIterator[EndlessAnswers]:
    found = EndlessAnswers()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(end_of_request)
        with suppress(ConnectionError):
            while True:
                writer.write(INTERIM)
                found.sent += len(INTERIM)
                await writer.drain()

    async with await asyncio.start_server(flood, "127.0.0.1", 0) as server:
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield found


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
