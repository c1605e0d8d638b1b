"""A small real HTTP server that answers what a test tells it, then holds every call open."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SECONDS = 15.0
CUT = b""
"""Takes the call and breaks the connection."""


def http_response(status: int, body: Any = None, **headers: str) -> bytes:
    """An answer: `body` as JSON, bytes as they are, None for an empty one."""
    content = (
        body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    )
    more = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", *more, "", ""])
    return head.encode() + content


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as it came; `headers` in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedServer:
    port: int = 0
    answers: deque[bytes] = field(default_factory=deque)
    calls: list[Asked] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def say(self, *answers: bytes) -> None:
        async with self.news:
            self.answers.extend(answers)
            self.news.notify_all()

    async def asked(self, number: int) -> list[Asked]:
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
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:-2])
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        async with self.news:
            self.calls.append(Asked(method, path, headers, body))
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
        await peer.say(*[CUT] * 100)
