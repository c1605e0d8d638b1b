"""Clients that are slow, malformed or gone harm nobody else, and are no bugs in the log."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

import httpx
import pytest

from bot.app.web_server import MAX_HEAD
from tests.support.raw_http import (
    JSON,
    SECONDS,
    RunningServer,
    credentials,
    get,
    is_answering,
    long_field,
    open_web_server,
    post,
)
from tests.support.service_harness import NEW, REQUESTS_PATH, ServiceHarness

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


HELD = 200


def troubles(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines that an operator would take for a bug."""
    return [
        line.getMessage()
        for line in caplog.records
        if line.levelname in {"WARNING", "ERROR"} or line.exc_info
    ]


async def test_headers_are_accepted_in_any_pieces(site: RunningServer) -> None:
    caller = await site.connect()
    for _ in range(2):
        for byte in get("/docs"):
            await caller.send(bytes([byte]))
        assert (await caller.answer()).status == 200


async def test_a_payer_is_served_beside_many_slow_clients(
    site: RunningServer, service: ServiceHarness
) -> None:
    made = await service.create()
    slow = [await site.connect() for _ in range(HELD)]
    for number, caller in enumerate(slow):
        begun = b"GET /docs HTTP/1.1\r\nHost: x\r\nX: " if number % 2 else b""
        await caller.send(begun or post(REQUESTS_PATH, b"{", JSON, length=60_000))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{site.port}") as http:
        page, paid = await asyncio.gather(
            http.get(f"/pay/{made['id']}", timeout=SECONDS),
            http.get(f"/v3/paymentRequests/public/{made['id']}", timeout=SECONDS),
        )
    assert (page.status_code, paid.status_code) == (200, 200)


@pytest.mark.parametrize("begun", [b"GET /", b"GET /docs HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\nX"])
async def test_endless_headers_are_400_before_their_end(site: RunningServer, begun: bytes) -> None:
    caller = await site.connect()
    await caller.send(begun + b"x" * MAX_HEAD)
    assert (await caller.ended()).startswith(b"HTTP/1.1 400 ")


async def test_headers_within_the_limit_are_accepted(site: RunningServer) -> None:
    assert (await site.ask(get("/docs", *["X: x"] * 99))).status == 200
    assert (await site.ask(get("/docs", long_field(MAX_HEAD - 100)))).status == 200
    assert (await site.ask(get("/docs?" + "x" * (MAX_HEAD - 100)))).status == 200


async def test_input_that_is_no_http_is_400_and_ends_the_connection(site: RunningServer) -> None:
    caller = await site.connect()
    await caller.send(b"HELO example.org\r\n\r\n")
    assert (await caller.ended()).startswith(b"HTTP/1.1 400 ")


async def test_pipelined_calls_are_answered_in_order(
    site: RunningServer, service: ServiceHarness
) -> None:
    caller = await site.connect()
    wrong = post(REQUESTS_PATH, b"{" * 2000, *credentials(service))
    await caller.send((get("/docs") + wrong + get("/nowhere")) * 30)
    statuses = [(await caller.answer()).status for _ in range(90)]
    assert statuses == [200, 400, 404] * 30


async def test_a_call_is_answered_though_the_next_is_unreadable(site: RunningServer) -> None:
    """Nothing else is written into the answer."""
    caller = await site.connect()
    await caller.send(get("/docs") + b"\0\0\0\0\r\n\r\n" + get("/docs"))
    answer = await caller.answer()
    assert (answer.status, b"</html>" in answer.body) == (200, True)
    assert (await caller.ended()).startswith(b"HTTP/1.1 400 ")


def chunked(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", *headers, "", ""]
    return "\r\n".join(lines).encode() + b"1\r\nx\r\n"


BROKEN = {
    "a chunk of a call that needs no body": chunked("/nowhere") + b"zz\r\n",
    "a chunk of a call without credentials": chunked(REQUESTS_PATH, JSON) + b"zz\r\n",
    "a chunk after a whole call": get("/docs") + chunked(REQUESTS_PATH) + b"zz\r\n",
    "a chunk of a form": chunked("/pay/x") + b"zz\r\n",
    "two lengths": post("/", b"ab", "Content-Length: 1"),
    "a target with a control character": b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
    "the start of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["at once", "in two parts"])
@pytest.mark.parametrize("call", BROKEN)
async def test_broken_calls_are_no_bug(
    site: RunningServer, caplog: pytest.LogCaptureFixture, call: str, pause: float
) -> None:
    """Whether an answer has begun by then or not."""
    caller = await site.connect()
    if pause:
        await caller.send(BROKEN[call][:-4])
        await asyncio.sleep(pause)
        await caller.send(BROKEN[call][-4:])
    else:
        await caller.send(BROKEN[call])
    await asyncio.sleep(0.05)
    await caller.leave()
    assert await is_answering(site)
    assert troubles(caplog) == []


async def test_an_upgrade_is_ignored(site: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    caller = await site.connect()
    await caller.send(get("/docs", "Connection: Upgrade", "Upgrade: websocket"))
    assert (await caller.answer()).status == 200
    await caller.send(get("/docs"))
    assert (await caller.answer()).status == 200
    assert troubles(caplog) == []


async def test_idle_clients_do_not_delay_a_stop(
    site: RunningServer, service: ServiceHarness
) -> None:
    """Any other end of such a connection comes later than `site.stop` waits."""
    site.server.config.timeout_graceful_shutdown = 60
    silent, slow, refused = [await site.connect() for _ in range(3)]
    await slow.send(b"GET /docs HTTP/1.1\r\nX: ")
    await refused.send(post(REQUESTS_PATH, b"", *credentials(service), length=10**9))
    assert (await refused.answer()).status == 413
    await site.stop()
    for caller in (silent, slow, refused):
        assert await caller.ended() == b""


LONG = b"x" * 20_000_000


async def at_once(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer with more than any system buffers."""
    headers = [(b"content-length", b"%d" % len(LONG))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": LONG})


@pytest.mark.long
async def test_clients_that_read_no_answer_do_not_hold_up_a_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_web_server(at_once) as site:
        with socket.socket() as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.connect(("127.0.0.1", site.port))
            caller.sendall(get("/"))
            async with asyncio.timeout(SECONDS):
                while not site.connections:  # noqa: ASYNC110 - uvicorn has no event
                    await asyncio.sleep(0.01)
            await site.stop()
    assert troubles(caplog) == []


async def test_a_client_that_leaves_before_its_answer_is_no_bug(
    site: RunningServer, service: ServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    for call in (
        get("/docs"),
        post(REQUESTS_PATH, json.dumps(NEW).encode(), *credentials(service)),
        post(REQUESTS_PATH, b"{", *credentials(service), length=100),
        post(REQUESTS_PATH, b"", *credentials(service), length=10**9),
        b"GET",
        b"\0",
    ):
        for leaves in (True, False):
            caller = await site.connect()
            await caller.send(call)
            if leaves:
                await caller.leave()
            else:
                caller.writer.write_eof()
    assert await is_answering(site)
    assert troubles(caplog) == []
