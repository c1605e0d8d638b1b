"""An endpoint that takes webhooks, answers each at once, and knows when they came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from bench.load import END_OF_HEAD, length

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Hook:
    """The endpoint at `url`; one call is waited for at a time."""

    def __init__(self) -> None:
        self.url = ""
        self._came = asyncio.Event()
        self._at = 0.0

    @classmethod
    @asynccontextmanager
    async def listening(cls) -> AsyncIterator[Hook]:
        """Listen on loopback for as long as the block lasts."""
        hook = cls()
        server = await asyncio.start_server(hook._answer, "127.0.0.1", 0)
        async with server:
            hook.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            yield hook

    async def after(self, doing: Awaitable[None]) -> float:
        """Return the seconds from the end of `doing` to the call it causes, at least 0."""
        self._came.clear()
        await doing
        ended = time.perf_counter()
        await self._came.wait()
        return max(0.0, self._at - ended)

    async def since(self, doing: Awaitable[None]) -> float:
        """Return the seconds from the beginning of `doing`, which is the call, to its arrival."""
        self._came.clear()
        began = time.perf_counter()
        await doing
        return self._at - began

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(END_OF_HEAD)
                await reader.readexactly(length(head))
                self._at = time.perf_counter()
                self._came.set()
                writer.write(ANSWER)
        except asyncio.IncompleteReadError:
            writer.close()
