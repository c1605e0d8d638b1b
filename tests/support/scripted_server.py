"""A small real HTTP server that gives the answers of a script, then holds every call open."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.http_messages import HttpRequest, read_request

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
