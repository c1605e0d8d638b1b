"""Clients that read their answer slowly are waited for, others are cut off."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from bot.app.http_protocol import BoundedProtocol
from tests.support.raw_http import SECONDS, get, open_web_server

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class Endless:
    """An application that answers while the client reads, and reports its end."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.gone = False

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        listener = asyncio.create_task(self._listen(receive))
        body: dict[str, Any] = {"type": "http.response.body", "body": b"x" * 65_536}
        while not self.gone:
            await send(body | {"more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body"})
        listener.cancel()
        self.over.set()

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone = True


def deaf(port: int, call: bytes) -> socket.socket:
    """A caller with the smallest receive buffer of the system."""
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    caller.connect(("127.0.0.1", port))
    caller.sendall(call)
    return caller


async def test_a_client_that_reads_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "WRITE_SECONDS", 0.2)
    app = Endless()
    with capture_logs() as logs:
        async with open_web_server(app) as site:
            with deaf(site.port, get("/")):
                async with asyncio.timeout(SECONDS):
                    await app.over.wait()
                assert site.connections == 0
    assert [line["reason"] for line in logs] == ["answer not read in time"]


LONG = b"x" * 20_000_000


async def at_once(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer with more than any system buffers; close the connection for `/close`."""
    headers = [(b"content-length", b"%d" % len(LONG))]
    if scope["path"] == "/close":
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": LONG})


@pytest.mark.parametrize("ending", ["close", "half", "idle"])
async def test_a_client_that_does_not_read_the_end_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Though the application has ended long before, and the rest is small for a transport."""
    monkeypatch.setattr(BoundedProtocol, "WRITE_SECONDS", 0.2)
    async with open_web_server(at_once) as site:
        site.server.config.timeout_keep_alive = 0 if ending == "idle" else 60
        with deaf(site.port, get("/close" if ending == "close" else "/")[:-2]) as caller:
            connection = await site.arrived()
            connection._socket.set_write_buffer_limits(high=2 * len(LONG))
            caller.sendall(b"\r\n")
            if ending == "half":
                caller.shutdown(socket.SHUT_WR)
            await site.gone()


@pytest.mark.long
async def test_a_slow_reader_gets_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is that some of it is read, not that all of it is.

    The system tells of what is read by the megabyte, on a line as fast as this one.
    """
    monkeypatch.setattr(BoundedProtocol, "WRITE_SECONDS", 2.0)
    async with open_web_server(at_once) as site:
        caller = await site.connect()
        await caller.send(get("/close"))
        got = 0
        async with asyncio.timeout(4 * SECONDS):
            while part := await caller.reader.read(65_536):
                got += len(part)
                await asyncio.sleep(0.015)
    assert got > len(LONG)
