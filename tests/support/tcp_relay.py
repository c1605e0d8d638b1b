"""A relay before a server of this machine, with or without TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class TcpRelay:
    """Passes bytes on to a port of this machine; answers only while `answering` is set."""

    target: int
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    served: set[asyncio.Task[Any]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task:
            self.served.add(task)
        inward, outward = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(_pass(reader, outward), self._back(inward, writer))

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(65536)
        self.heard.set()
        await self.answering.wait()
        writer.write(first)
        await _pass(reader, writer)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def open_tcp_relay(
    target: str, port: str, pem: Path | None = None
) -> AsyncIterator[TcpRelay]:
    """Forward `port` to `target`; with a certificate and its key, TLS ends here."""
    context = None
    if pem is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pem)
    relay = TcpRelay(int(target))
    relay.answering.set()
    server = await asyncio.start_server(relay.serve, "127.0.0.1", int(port), ssl=context)
    try:
        yield relay
    finally:
        relay.answering.set()
        server.close()
        await asyncio.gather(*relay.served, return_exceptions=True)
