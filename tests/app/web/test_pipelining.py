"""Requests of a client that reads no answers wait at the client, not in our memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bot.app import connections
from bot.app.http_protocol import READ, BoundedProtocol
from tests.support.raw_http import SECONDS, RawConnection, RunningServer, get, open_web_server, post

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


ANSWER = b"x" * 1000


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path and some padding."""
    while (await receive()).get("more_body"):
        pass
    body = scope["path"].encode() + ANSWER
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def stalled(site: RunningServer) -> BoundedProtocol:
    """Wait until the server neither reads nor writes any more."""
    connection: BoundedProtocol = await site.arrived()
    async with asyncio.timeout(SECONDS):
        while not (connection.flow.read_paused and connection.flow.write_paused):  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.01)
    return connection


def pour(caller: RawConnection, count: int) -> None:
    """Send requests as fast as the server reads, and read nothing."""
    caller.reader._transport.pause_reading()  # type: ignore[attr-defined]  # not public
    caller.writer.write(get("/") * count)


@pytest.mark.long
async def test_reading_pauses_while_a_client_reads_no_answers() -> None:
    async with open_web_server(answering) as site:
        caller = await site.connect()
        pour(caller, 200_000)
        connection = await stalled(site)
        await asyncio.sleep(0.1)
        most = READ + BoundedProtocol.MAX_UNREAD + 2 * len(ANSWER)
        assert connection.size <= most
        assert len(connection.pipeline) <= 1
        assert site.server.server_state.total_requests < 20_000


@pytest.mark.long
async def test_every_request_of_a_long_pipeline_is_answered_in_order() -> None:
    """In whatever pieces the server reads them."""
    async with open_web_server(answering) as site:
        caller = await site.connect()
        calls = [
            get(f"/{n}") if n % 3 else post(f"/{n}", b"a\r\n\r\nb" * (n % 7)) for n in range(3000)
        ]
        sending = asyncio.create_task(caller.send(b"".join(calls)))
        answers = [(await caller.answer()).body for _ in calls]
        await sending
    assert answers == [b"/%d" % n + ANSWER for n in range(3000)]


@pytest.mark.long
async def test_a_long_pipeline_is_answered_after_a_half_close() -> None:
    async with open_web_server(answering) as site:
        caller = await site.connect()
        sending = asyncio.create_task(caller.send(get("/") * 5000))
        for _ in range(100):
            await caller.answer()
        await sending
        caller.writer.write_eof()
        assert (await caller.ended()).count(b"HTTP/1.1 200") == 4900


async def test_the_client_with_the_most_bytes_in_memory_is_closed_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory for all clients is limited, and the others stay connected."""
    monkeypatch.setattr(connections, "MOST_BYTES", 20 * BoundedProtocol.MAX_UNREAD)
    async with open_web_server(answering) as site:
        other = await site.connect("127.0.0.2")
        await other.send(post("/", b"", length=100))
        greedy = [await site.connect() for _ in range(40)]
        for caller in greedy:
            pour(caller, 20_000)
        async with asyncio.timeout(SECONDS):
            while site.connections > 20:  # noqa: ASYNC110 - uvicorn has no event
                await asyncio.sleep(0.01)
        kept = sum(one.size for one in site.server.server_state.connections)  # type: ignore[union-attr]
        assert kept <= connections.MOST_BYTES
        await other.send(b"x" * 100)
        assert (await other.answer()).status == 200


HOSTS = {
    "none": b"GET / HTTP/1.1\r\n\r\n",
    "two": b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "two, in 1.0": b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n",
    "a list": b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n",
}


@pytest.mark.parametrize("call", HOSTS)
async def test_a_request_without_one_valid_host_is_400(call: str) -> None:
    """RFC 9112, section 3.2: a proxy may have used the other one."""
    async with open_web_server(answering) as site:
        answer = await site.ask(HOSTS[call])
    assert answer.code == (400, "invalidRequest")
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("host", ["x", "x:8080", "[::1]:80", "xn--bcher-kva.example", "a_b", ""])
async def test_a_valid_host_is_accepted(host: str) -> None:
    async with open_web_server(answering) as site:
        assert (await site.ask(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())).status == 200
        assert (await site.ask(b"GET / HTTP/1.0\r\n\r\n")).status == 200


async def test_a_nul_in_a_path_is_replaced() -> None:
    async with open_web_server(answering) as site:
        answer = await site.ask(get("/a%00b/%00"))
    assert answer.body.removesuffix(ANSWER).decode() == "/a\ufffdb/\ufffd"
