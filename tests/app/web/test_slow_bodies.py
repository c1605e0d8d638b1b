"""Bodies that are slow, endless or too large are refused before their end."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

import pytest

from bot.core.net import request_body
from tests.support.raw_http import (
    JSON,
    RunningServer,
    credentials,
    get,
    is_answering,
    open_web_server,
    post,
)
from tests.support.service_harness import NEW, REQUESTS_PATH, ServiceHarness

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body and answer with the headers."""
    while (await receive()).get("more_body"):
        pass
    names = json.dumps([name.decode() for name, _ in scope["headers"]]).encode()
    start = {"type": "http.response.start", "status": 200}
    await send(start | {"headers": [(b"content-length", b"%d" % len(names))]})
    await send({"type": "http.response.body", "body": names})


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"


async def test_trailers_are_no_headers(caplog: pytest.LogCaptureFixture) -> None:
    """Neither of this request nor of the next: proxies do not check them."""
    async with open_web_server(echo) as site:
        caller = await site.connect()
        await caller.send(
            CHUNKED + b"0\r\nX-Forwarded-For: 6.6.6.6\r\nApp-Id: x\r\n\r\n" + get("/")
        )
        assert json.loads((await caller.answer()).body) == ["host", "transfer-encoding"]
        assert json.loads((await caller.answer()).body) == ["host"]
    assert not caplog.records


CHUNKS = ("Host: x", "Transfer-Encoding: chunked")


@pytest.mark.parametrize("sent", [0, 10, 70_000])
async def test_a_body_declared_too_large_is_refused_at_once(
    site: RunningServer, service: ServiceHarness, sent: int
) -> None:
    """The rest of it is dropped, and the next request is answered."""
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b" " * sent, *credentials(service), length=100_000))
    assert (await caller.answer()).code == (413, "bodyTooLarge")
    await caller.send(b" " * (100_000 - sent) + get("/docs"))
    assert (await caller.answer()).status == 200


async def test_chunks_that_are_too_large_are_refused(
    site: RunningServer, service: ServiceHarness
) -> None:
    lines = [f"POST {REQUESTS_PATH} HTTP/1.1", *CHUNKS, *credentials(service), "", ""]
    caller = await site.connect()
    await caller.send("\r\n".join(lines).encode() + b"11000\r\n" + b" " * 0x11000 + b"\r\n")
    assert (await caller.answer()).code == (413, "bodyTooLarge")


async def test_a_client_that_sends_everything_first_still_reads_the_refusal(
    site: RunningServer, service: ServiceHarness
) -> None:
    """Most libraries do so. An immediate close would reset the connection and lose the answer."""
    call = post(REQUESTS_PATH, b" " * 20_000_000, *credentials(service))

    def ask() -> bytes:
        with socket.create_connection(("127.0.0.1", site.port)) as caller:
            caller.sendall(call)
            return caller.recv(100)

    assert (await asyncio.to_thread(ask)).startswith(b"HTTP/1.1 413 ")


async def test_a_body_that_stalls_is_refused(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.1)
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b"{", *credentials(service), length=100))
    answer = await caller.answer()
    assert answer.code == (400, "invalidBody")
    assert json.loads(answer.body)["message"] == "The body did not arrive in time."


@pytest.mark.long
async def test_a_slow_body_is_limited_as_a_whole(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes in time, the body does not."""
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.2)
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b"", *credentials(service), length=60_000))
    sending = asyncio.create_task(caller.trickle(b" "))
    assert (await caller.answer()).code == (400, "invalidBody")
    sending.cancel()
    assert await service.rows("payment_requests") == []


async def test_a_refusal_of_a_whole_request_keeps_the_connection(
    site: RunningServer, service: ServiceHarness
) -> None:
    """A client that has sent its whole request may send another, whatever the answer was."""
    caller = await site.connect()
    for body, headers, status in (
        (b"{}", [JSON], 401),
        (b"{", credentials(service), 400),
        (b"x" * 100, ["Content-Type: text/plain"], 401),
        (json.dumps(NEW).encode(), credentials(service), 200),
    ):
        await caller.send(post(REQUESTS_PATH, body, *headers))
        answer = await caller.answer()
        assert (answer.status, answer.headers.get("connection")) == (status, None)


async def test_an_unreadable_body_is_400_and_no_bug(
    site: RunningServer, service: ServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [f"POST {REQUESTS_PATH} HTTP/1.1", *CHUNKS, *credentials(service), "", ""]
    caller = await site.connect()
    await caller.send("\r\n".join(lines).encode() + b"2\r\n{}\r\nzz\r\n")
    assert (await caller.ended()).startswith(b"HTTP/1.1 400 ")
    assert await is_answering(site)
    assert [line for line in caplog.records if line.levelname in {"WARNING", "ERROR"}] == []
