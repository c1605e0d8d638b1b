"""Requests of a client that reads no answers wait at the client, not in our memory."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.support.raw_http import SECONDS, get, open_web_server, post

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


MIB = 1024 * 1024
PADDING = b"x" * 1000
CONNECTIONS = 8
SIZE = 4_500_000
"""Bytes of requests on each connection."""


class Answering:
    """An application that answers with the path and padding, and counts its requests."""

    def __init__(self, padding: bytes = PADDING) -> None:
        self.padding = padding
        self.answered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        self.answered += 1
        body = scope["path"].encode() + self.padding
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def stalled(self) -> None:
        """Wait until no request is answered any more."""
        async with asyncio.timeout(SECONDS):
            before = 0
            while self.answered != before or not before:
                before = self.answered
                await asyncio.sleep(0.3)


@pytest.mark.long
async def test_a_client_that_reads_no_answers_takes_little_memory() -> None:
    app, loop = Answering(100 * PADDING), asyncio.get_running_loop()
    requests = get("/") * (SIZE // len(get("/")))
    async with open_web_server(app) as site:
        tracemalloc.start()
        callers = [socket.socket() for _ in range(CONNECTIONS)]
        for caller in callers:
            caller.settimeout(0)
            await loop.sock_connect(caller, ("127.0.0.1", site.port))
        sending = [asyncio.create_task(loop.sock_sendall(one, requests)) for one in callers]
        try:
            await app.stalled()
            _, peak = tracemalloc.get_traced_memory()
            assert app.answered < CONNECTIONS * SIZE // len(get("/")) // 10
            other = await site.connect("127.0.0.2")
            await other.send(get("/"))
            assert (await other.answer()).status == 200
        finally:
            tracemalloc.stop()
            for task, caller in zip(sending, callers, strict=True):
                task.cancel()
                caller.close()
    assert peak < 20 * MIB


@pytest.mark.long
async def test_every_request_of_a_long_pipeline_is_answered_in_order() -> None:
    """In whatever pieces the server reads them."""
    async with open_web_server(Answering()) as site:
        caller = await site.connect()
        calls = [
            get(f"/{n}") if n % 3 else post(f"/{n}", b"a\r\n\r\nb" * (n % 7)) for n in range(3000)
        ]
        sending = asyncio.create_task(caller.send(b"".join(calls)))
        answers = [(await caller.answer()).body for _ in calls]
        await sending
    assert answers == [b"/%d" % n + PADDING for n in range(3000)]


HOSTS = {
    "none": b"GET / HTTP/1.1\r\n\r\n",
    "two": b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "two, in 1.0": b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
}


@pytest.mark.parametrize("call", HOSTS)
async def test_a_request_without_one_host_is_400(call: str) -> None:
    """RFC 9112, section 3.2: a proxy may have used the other one."""
    async with open_web_server(Answering()) as site:
        caller = await site.connect()
        await caller.send(HOSTS[call])
        assert (await caller.ended()).startswith(b"HTTP/1.1 400 ")
