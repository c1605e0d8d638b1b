"""A proxy before PostgreSQL that knows its wire protocol: slow, silent, or cut off at a COMMIT.

It serves one TCP port without TLS and forwards to the server's socket. It has a thread and a loop
of its own, so synchronous tests can use it too; its attributes may be set at any time.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from typing import Self

from tests.support.postgres_server import PostgresServer

SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
NO = b"N"
COMMITS = {b"COMMIT", b"END"}
QUERY, PARSE, BIND, COMPLETE = b"Q", b"P", b"B", b"C"
"""Types of messages: https://www.postgresql.org/docs/18/protocol-message-formats.html."""

PATIENCE = 5.0


def never(_number: int) -> bool:
    return False


class WireProxy:
    """Forwards to a server, with the faults that are set.

    `delay` is the latency of each direction in seconds. `refusing` closes new connections at once.
    `eat_commit(n)` decides about the n-th COMMIT that the server has answered: its answer is thrown
    away and the connection cut. `cut_commit(n)` decides about the n-th COMMIT that a client sends:
    it is cut before the server sees it. The client cannot tell one from the other.
    """

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.port = 0
        self.delay = 0.0
        self.refusing = False
        self.eat_commit: Callable[[int], bool] = never
        self.cut_commit: Callable[[int], bool] = never
        self.asked = self.answered = self.cut = self.eaten = 0
        self._open: set[StreamWriter] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(PATIENCE)

    def url(self, database: str) -> str:
        """Return the address of a database of the server, through the proxy."""
        direct = self.server.url(database, tcp=True)
        return direct.replace(f"@127.0.0.1:{self.server.port}/", f"@127.0.0.1:{self.port}/")

    def stall(self) -> None:
        """Hold all bytes back; connections stay open."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self) -> None:
        self._loop.call_soon_threadsafe(self._flowing.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended, self._flowing = asyncio.Event(), asyncio.Event()
        self._flowing.set()
        listening = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        self._started.set()
        await self._ended.wait()
        listening.close()
        _abort(self._open)

    async def _forward(self, reader: StreamReader, writer: StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        link = _Link(self, reader, writer)
        try:
            await link.run()
        except* (OSError, asyncio.IncompleteReadError):
            pass  # one side has ended: so does the other
        finally:
            link.cut()

    async def pass_on(self, writer: StreamWriter, message: bytes) -> None:
        await self._flowing.wait()
        if self.delay:  # latency, not throughput: the next message is read meanwhile
            self._loop.call_later(self.delay, writer.write, message)
        else:
            writer.write(message)
            await writer.drain()

    def opened(self, writers: set[StreamWriter]) -> None:
        self._open |= writers

    def closed(self, writers: set[StreamWriter]) -> None:
        self._open -= writers


class _Link:
    """One connection of a client, and its connection to the server."""

    def __init__(self, proxy: WireProxy, reader: StreamReader, writer: StreamWriter) -> None:
        self.proxy = proxy
        self.reader = reader
        self.writer = writer
        self.ends = {writer}
        self.commits: set[bytes] = set()
        """Names of prepared statements that commit."""

    async def run(self) -> None:
        server = self.proxy.server
        inward, outward = await asyncio.open_unix_connection(server.socket)
        self.ends.add(outward)
        self.proxy.opened(self.ends)
        if await self._greet(outward):
            async with asyncio.TaskGroup() as both:
                both.create_task(self._requests(outward))
                both.create_task(self._answers(inward))

    def cut(self) -> None:
        _abort(self.ends)
        self.proxy.closed(self.ends)

    async def _greet(self, outward: StreamWriter) -> bool:
        """Forward the first packet, which has no type; False if nothing follows it."""
        while True:
            head = await self.reader.readexactly(4)
            body = await self.reader.readexactly(struct.unpack("!I", head)[0] - 4)
            (code,) = struct.unpack("!I", body[:4])
            if code not in {SSL_REQUEST, GSS_REQUEST}:
                await self.proxy.pass_on(outward, head + body)
                return bool(code != CANCEL_REQUEST)
            self.writer.write(NO)

    async def _requests(self, outward: StreamWriter) -> None:
        proxy = self.proxy
        async for kind, message in _messages(self.reader):
            if self._commits(kind, message):
                proxy.asked += 1
                if proxy.cut_commit(proxy.asked):
                    proxy.cut += 1
                    break
            await proxy.pass_on(outward, message)
        self.cut()

    async def _answers(self, inward: StreamReader) -> None:
        proxy = self.proxy
        async for kind, message in _messages(inward):
            if kind == COMPLETE and message[5:-1] == b"COMMIT":
                proxy.answered += 1
                if proxy.eat_commit(proxy.answered):
                    proxy.eaten += 1
                    break
            await proxy.pass_on(self.writer, message)
        self.cut()

    def _commits(self, kind: bytes, message: bytes) -> bool:
        """Tell whether a message commits; remember the names of statements that do."""
        if kind == QUERY:
            return _is_commit(message[5:])
        if kind == PARSE:
            name, sql, _ = message[5:].split(b"\0", 2)
            (self.commits.add if _is_commit(sql) else self.commits.discard)(name)
        return kind == BIND and message[5:].split(b"\0", 2)[1] in self.commits


def _is_commit(sql: bytes) -> bool:
    return sql.strip(b"\0; \n").upper() in COMMITS


async def _messages(reader: StreamReader) -> AsyncIterator[tuple[bytes, bytes]]:
    """Yield the type and the bytes of each message until the end."""
    while head := await reader.read(1):
        size = await reader.readexactly(4)
        yield head, head + size + await reader.readexactly(struct.unpack("!I", size)[0] - 4)


def _abort(writers: set[StreamWriter]) -> None:
    for writer in list(writers):
        writer.transport.abort()
