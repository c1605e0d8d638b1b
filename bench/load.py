"""Requests one by one, or so many of them: what `bench.wrk` cannot send.

Plain HTTP/1.1 over sockets: a client library would cost more than the servers that are measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import cast
from urllib.parse import urlsplit

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Load:
    """How a server bore it: answers a second, the seconds each took, the last answer's body."""

    rate: float
    seconds: Sequence[float]
    body: bytes


def post(path: str, media_type: str, body: bytes, headers: str = "") -> bytes:
    """Write a request with a body."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {media_type}\r\n"
        f"Content-Length: {len(body)}\r\n{headers}\r\n"
    )
    return head.encode() + body


def get(path: str, headers: str = "") -> bytes:
    """Write a request without a body."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n{headers}\r\n".encode()


async def drive(
    urls: Sequence[str], requests: Sequence[bytes], clients: int, status: int = 200
) -> Load:
    """Send these requests, `clients` of them at any time; RuntimeError for another status.

    The clients are spread over `urls`, which are a server's address or those of its replicas.
    """
    waiting = iter(requests)
    seconds: list[float] = []
    lines = [await connect(url, status) for url, _ in zip(cycle(urls), range(clients))]
    began = time.perf_counter()
    await asyncio.gather(*(_work(line, waiting, seconds) for line in lines))
    took = time.perf_counter() - began
    for line in lines:
        line.close()
    return Load(len(requests) / took, seconds, lines[0].body)


async def connect(url: str, status: int) -> Line:
    """Open a connection whose answers are to have this status."""
    parts, line = urlsplit(url), Line(status)
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: line, parts.hostname or "", parts.port or 0)
    return line


async def _work(line: Line, waiting: Iterator[bytes], seconds: list[float]) -> None:
    for request in waiting:
        began = time.perf_counter()
        await line.ask(request)
        seconds.append(time.perf_counter() - began)


class Line(asyncio.Protocol):
    """A connection that is kept: one request, one answer, and the next."""

    def __init__(self, status: int) -> None:
        self._wanted = b"HTTP/1.1 %d " % status
        self._come = bytearray()
        self.body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is written to."""
        self._transport = cast("asyncio.Transport", transport)

    async def ask(self, request: bytes) -> None:
        """Send a request and wait for the whole answer."""
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._answered

    def data_received(self, data: bytes) -> None:
        """Collect the answer."""
        self._come += data
        head, found, rest = self._come.partition(END_OF_HEAD)
        if not found or len(rest) < length(bytes(head)):
            return
        self.body = bytes(rest)
        self._come.clear()
        if bytes(head).startswith(self._wanted):
            self._answered.set_result(None)
        else:
            told = f"{bytes(head[:40])!r} … {self.body[:200]!r}"
            self._answered.set_exception(RuntimeError(f"another answer: {told}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Report to the waiting caller that no answer comes."""
        if not self._answered.done():
            self._answered.set_exception(exc or ConnectionError("closed before it answered"))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


def length(head: bytes) -> int:
    """Return how many bytes follow a head."""
    low = head.lower()
    at = low.find(LENGTH)
    if at < 0:
        raise RuntimeError("a message without its length")
    return int(low[at + len(LENGTH) :].split(b"\r", 1)[0])
