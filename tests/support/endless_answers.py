"""A server that sends interim answers without end: no limit of a body sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

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
