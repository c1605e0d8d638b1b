"""`python -m bench.endpoint PORT`: takes webhooks, and says on a GET what came since the last one.

A parser of its own: an HTTP server of Python would be as slow as what it measures.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from datetime import datetime
from typing import cast

import uvloop

from bench.load import END_OF_HEAD, length

TAKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
PAID_AT = re.compile(rb'"completedAt":"([^"]+)"')


class Arrivals:
    """The seconds from each webhook's payment to its arrival."""

    def __init__(self) -> None:
        self._waits: list[float] = []

    def add(self, body: bytes) -> None:
        """Note a webhook; other bodies are the yardstick's."""
        if found := PAID_AT.search(body):
            paid = datetime.fromisoformat(found[1].decode()).timestamp()
            self._waits.append(time.time() - paid)

    def taken(self) -> bytes:
        """Return them as JSON, and begin again."""
        said, self._waits = json.dumps(self._waits).encode(), []
        return said


class Connection(asyncio.Protocol):
    """A connection that is kept."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._come = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is written to."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self._come += data
        while True:
            head, found, rest = self._come.partition(END_OF_HEAD)
            if not found:
                return
            asked = head.startswith(b"GET")
            size = 0 if asked else length(head)
            if len(rest) < size:
                return
            self._come = rest[size:]
            if asked:
                said = self._arrivals.taken()
                self._transport.write(
                    b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(said) + said
                )
            else:
                self._arrivals.add(rest[:size])
                self._transport.write(TAKEN)


async def main(port: int, arrivals: Arrivals) -> None:
    """Listen on loopback."""
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: Connection(arrivals), "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), Arrivals()))
