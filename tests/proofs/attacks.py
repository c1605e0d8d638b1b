"""Hostile clients, as processes beside the product: our own, or `wrk` if it is installed.

`python -m tests.proofs.attacks KIND …` is one of our own. It ends after the seconds it is told, or
when its standard input is closed, and prints how many connections were opened and how many the
server closed.
"""

from __future__ import annotations

import asyncio
import resource
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from tests.proofs import processes

LOAD_CLIENTS = 16
GRACE_SECONDS = 10.0

AGAIN_SECONDS = 0.05
"""After which a connection that was closed or refused is opened again."""

SOURCE = "127.6.0.1"
"""Where strangers come from: not from the address of the product's own calls to itself."""

DRIP_SECONDS = 2.0
SLOW_HEAD = "GET / HTTP/1.1\r\nHost: " + "a" * 10_000
OPENING_SECONDS = 0.002
"""Between the first openings of two connections."""


async def attack(
    kind: str, url: str, seconds: float, connections: int, size: int = 0
) -> dict[str, Any]:
    """Run an attack to its end; return what it counted."""
    given = (kind, url, f"{seconds}", f"{connections}", f"{size}")
    async with processes.helper("attacks", *given) as client:
        async with asyncio.timeout(seconds + GRACE_SECONDS):
            counts: dict[str, Any] = await client.line()
    return counts


async def hammer(url: str, seconds: float, script: Path | None = None) -> None:
    """Ask for an address as fast as it answers, on 16 connections; `script` is for wrk alone."""
    wrk = shutil.which("wrk")
    if wrk is None:
        await attack("load", url, seconds, LOAD_CLIENTS)
        return
    options = ["-t1", f"-c{LOAD_CLIENTS}", f"-d{max(1, round(seconds))}s"]
    scripted = ["-s", str(script)] if script else []
    process = await asyncio.create_subprocess_exec(
        wrk, *options, *scripted, url, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@dataclass(slots=True)
class Target:
    """A server, and what has become of the connections to it."""

    host: str
    port: int
    path: str
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def request(self) -> bytes:
        """Build the shortest request."""
        return f"GET {self.path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()

    async def again_and_again(self, hold: Callable[[Deaf], Coroutine[None, None, None]]) -> None:
        """Open a connection, hold it, and open another when the server has closed it."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                _, deaf = await loop.create_connection(
                    Deaf, self.host, self.port, local_addr=(SOURCE, 0)
                )
            except OSError:
                self.counts["refused"] += 1
            else:
                self.counts["opened"] += 1
                holding = asyncio.create_task(hold(deaf))
                await deaf.closed.wait()
                holding.cancel()
                self.counts["closed"] += 1
            await asyncio.sleep(AGAIN_SECONDS)


class Deaf(asyncio.Protocol):
    """A connection that never reads."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.closed.set()


async def pipelines(target: Target, connections: int, size: int) -> None:
    """Send `size` bytes of requests on each connection; never read an answer."""
    requests = target.request * (size // len(target.request))

    async def hold(deaf: Deaf) -> None:
        deaf.transport.pause_reading()
        deaf.transport.write(requests)

    await _many(target, connections, hold)


async def idle(target: Target, connections: int, _size: int) -> None:
    """Hold connections: every other one says nothing, the rest a byte of a head now and then."""
    numbers = iter(range(sys.maxsize))

    async def hold(deaf: Deaf) -> None:
        if next(numbers) % 2:
            return
        for byte in SLOW_HEAD:
            deaf.transport.write(byte.encode())
            await asyncio.sleep(DRIP_SECONDS)

    await _many(target, connections, hold)


async def load(target: Target, connections: int, _size: int) -> None:
    """Ask as fast as the answers come."""

    async def ask() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(target.host, target.port)
                writer.write(target.request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                await reader.read()
                writer.close()
                target.counts["answers"] += 1

    async with asyncio.TaskGroup() as clients:
        for _ in range(connections):
            clients.create_task(ask())


async def _many(
    target: Target, connections: int, hold: Callable[[Deaf], Coroutine[None, None, None]]
) -> None:
    async with asyncio.TaskGroup() as clients:
        for _ in range(connections):
            clients.create_task(target.again_and_again(hold))
            await asyncio.sleep(OPENING_SECONDS)


async def main(kind: str, url: str, seconds: str, connections: str, size: str) -> None:
    """Run an attack for so many seconds."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    parts = urlsplit(url)
    target = Target(parts.hostname or "", parts.port or 0, parts.path)
    attacks = {"pipelines": pipelines, "idle": idle, "load": load}
    attacking = asyncio.create_task(attacks[kind](target, int(connections), int(size)))
    ends = asyncio.create_task((await processes.orders()).read())
    await asyncio.wait({attacking, ends}, timeout=float(seconds), return_when="FIRST_COMPLETED")
    if attacking.done():
        attacking.result()
    processes.answer(target.counts)
    attacking.cancel()
    await asyncio.gather(attacking, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
