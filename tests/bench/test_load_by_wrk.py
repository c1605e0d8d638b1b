"""Waits at a constant rate count from when a request was to be sent; no refusal counts as work."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from bench import wrk
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.process
needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="needs wrk")
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
RATE = 200
CLIENTS = 4
SECONDS = 2
STALL = 1.0
ASKED = {"PATH_ASKED": "/"}


class Server:
    """Answers every request, but none for `stall` seconds from request `stall_at` on."""

    def __init__(self, stall_at: int, stall: float, answer: bytes) -> None:
        self._stall_at, self._stall, self._answer = stall_at, stall, answer
        self._count = 0
        self._waiting: list[asyncio.Transport] | None = None

    def connection(self) -> asyncio.Protocol:
        return Connection(self)

    def take(self, transport: asyncio.Transport) -> None:
        self._count += 1
        if self._count == self._stall_at:
            self._waiting = []
            asyncio.get_running_loop().call_later(self._stall, self._go_on)
        if self._waiting is None:
            transport.write(self._answer)
        else:
            self._waiting.append(transport)

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        for transport in waiting:
            transport.write(self._answer)


class Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, _: bytes) -> None:
        self._server.take(self._transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport.close()


@asynccontextmanager
async def serving(
    stall_at: int = 0, stall: float = STALL, answer: bytes = GOOD
) -> AsyncIterator[str]:
    server = Server(stall_at, stall, answer)
    loop = asyncio.get_running_loop()
    async with await loop.create_server(server.connection, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


@needs_wrk
async def test_a_stall_counts_for_all_requests_that_were_due_meanwhile() -> None:
    async with serving(stall_at=50) as url:
        found = await wrk.constant(url, "get.lua", CLIENTS, SECONDS, RATE, ASKED)
    assert found.number == RATE * SECONDS
    # A twentieth of the requests were due in the first tenth of the stall.
    assert found.p99 > 0.9 * STALL


@needs_wrk
async def test_requests_without_an_answer_count_with_the_time_they_have_waited() -> None:
    async with serving(stall_at=100, stall=60.0) as url:
        found = await wrk.constant(url, "get.lua", CLIENTS, SECONDS, RATE, ASKED)
    assert found.number < 100
    assert found.rate < RATE / 2
    assert found.p50 > 0.0
    assert found.p99 > SECONDS / 2


@needs_wrk
async def test_a_closed_loop_sends_as_fast_as_answers_come() -> None:
    async with serving() as url:
        found = await wrk.closed(url, "get.lua", CLIENTS, 1, ASKED)
    assert found.number > CLIENTS
    assert 0.0 < found.p50 <= found.p99 <= found.p999
    assert found.client_seconds > 0.0


@needs_wrk
async def test_refusals_are_not_counted_as_work() -> None:
    async with serving(answer=BUSY) as url:
        with pytest.raises(RuntimeError, match="not every answer was good"):
            await wrk.closed(url, "get.lua", CLIENTS, 1, ASKED)
        with pytest.raises(RuntimeError, match="not every answer was good"):
            await wrk.constant(url, "get.lua", CLIENTS, 1, RATE, ASKED)


def test_without_its_programs_the_bench_names_the_packages(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "from bench import wrk; wrk.install()"],
        cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "apt-get install wrk nghttp2-client" in ended.stderr
    assert "Traceback" not in ended.stderr
