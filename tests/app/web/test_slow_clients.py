"""Connections of clients that are slow, endless or malformed are limited and ended."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from structlog.testing import capture_logs

from bot.app.http_protocol import BoundedProtocol
from tests.support.raw_http import (
    JSON,
    SECONDS,
    RunningServer,
    credentials,
    get,
    is_answering,
    long_field,
    post,
)
from tests.support.service_harness import REQUESTS_PATH, ServiceHarness

KIB = 1024
MAX_HEAD = BoundedProtocol.MAX_HEAD
HELD = 200


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short time limit for headers; all other limits are longer than a test."""
    monkeypatch.setattr(BoundedProtocol, "HEAD_SECONDS", 0.2)


@pytest.mark.usefixtures("brief")
async def test_a_silent_client_is_closed(site: RunningServer) -> None:
    caller = await site.connect()
    assert await caller.ended() == b""


@pytest.mark.usefixtures("brief")
async def test_a_client_that_sends_byte_by_byte_is_closed(site: RunningServer) -> None:
    """Each byte arrives in time, the headers do not."""
    caller = await site.connect()
    await caller.send(b"GET /docs HTTP/1.1\r\nHost: x\r\nX: ")
    with capture_logs() as logs:
        await caller.trickle(b"x")
    assert [(line["log_level"], line["reason"]) for line in logs] == [
        ("debug", "no request in time")
    ]


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("begun", [b"GET", b"GET /docs HTTP/1.1\r\nHost", b"\r\n"])
async def test_later_requests_have_the_time_limit_of_the_first(
    site: RunningServer, begun: bytes
) -> None:
    """uvicorn waits forever once a byte has arrived, even of an empty line."""
    caller = await site.connect()
    await caller.send(get("/docs"))
    assert (await caller.answer()).status == 200
    await caller.send(begun)
    assert await caller.ended() == b""


async def test_headers_in_time_are_accepted_in_any_pieces(site: RunningServer) -> None:
    caller = await site.connect()
    for _ in range(2):
        for byte in get("/docs"):
            await caller.send(bytes([byte]))
        assert (await caller.answer()).status == 200


@pytest.mark.long
@pytest.mark.usefixtures("brief")
async def test_the_time_limit_of_headers_excludes_body_and_answer(site: RunningServer) -> None:
    caller = await site.connect()
    await caller.send(post("/pay/x", b"a", "Content-Type: application/x-www-form-urlencoded")[:-1])
    await asyncio.sleep(0.4)
    await caller.send(b"a")
    assert (await caller.answer()).status == 404


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
    assert site.connections >= HELD // 2


@pytest.mark.long
async def test_many_slow_clients_are_all_closed(
    site: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedProtocol, "HEAD_SECONDS", 3.0)
    slow = [await site.connect() for _ in range(HELD)]
    for caller in slow:
        await caller.send(b"GET /docs HTTP/1.1\r\nHost: x\r\nX: ")
    assert [await caller.ended() for caller in slow] == [b""] * HELD
    assert site.connections == 0


HEADS = {
    "one long field": get("/docs", long_field(MAX_HEAD)),
    "fields that are long together": get("/docs", *[long_field(KIB)] * 33),
    "a long address": get("/" + "x" * MAX_HEAD),
    "a long query": get("/docs?" + "x" * MAX_HEAD),
    "too many fields": get("/docs", *["X: x"] * 100),
}


@pytest.mark.parametrize("head", HEADS)
async def test_headers_beyond_the_limits_are_431_and_end_the_connection(
    site: RunningServer, head: str
) -> None:
    caller = await site.connect()
    with capture_logs() as logs:
        await caller.send(HEADS[head])
        answer = await caller.answer()
    assert answer.code == (431, "headTooLarge")
    assert "32 KiB or 100 fields" in json.loads(answer.body)["message"]
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""
    assert [(line["event"], line["status"]) for line in logs] == [("request refused", 431)]


async def test_headers_within_the_limits_are_accepted(site: RunningServer) -> None:
    assert (await site.ask(get("/docs", *["X: x"] * 99))).status == 200
    assert (await site.ask(get("/docs", long_field(MAX_HEAD - 100)))).status == 200
    assert (await site.ask(get("/docs?" + "x" * (MAX_HEAD - 100)))).status == 200


@pytest.mark.parametrize(
    "begun", [b"GET /", b"GET /docs HTTP/1.1\r\nX: ", b"GET /docs HTTP/1.1\r\nX", b"\r\n"]
)
async def test_endless_headers_are_431_before_their_end(site: RunningServer, begun: bytes) -> None:
    """An unfinished field in the buffer of the parser counts too."""
    caller = await site.connect()
    await caller.send(begun)
    more = b"\r\n" * KIB if begun == b"\r\n" else b"x" * 2 * KIB
    for _ in range(24):
        await caller.send(more)
        await asyncio.sleep(0)
    assert (await caller.answer()).code == (431, "headTooLarge")
    assert await caller.ended() == b""


async def test_input_that_is_no_http_is_400_and_ends_the_connection(site: RunningServer) -> None:
    caller = await site.connect()
    await caller.send(b"HELO example.org\r\n\r\n")
    answer = await caller.answer()
    assert answer.code == (400, "invalidRequest")
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""


async def test_pipelined_calls_are_answered_in_order(
    site: RunningServer, service: ServiceHarness
) -> None:
    caller = await site.connect()
    wrong = post(REQUESTS_PATH, b"{" * 2000, *credentials(service))
    await caller.send((get("/docs") + wrong + get("/nowhere")) * 30)
    statuses = [(await caller.answer()).status for _ in range(90)]
    assert statuses == [200, 400, 404] * 30


@pytest.mark.parametrize("bad", [b"\0\0\0\0", get("/docs", long_field(MAX_HEAD))])
async def test_a_call_is_answered_though_the_next_is_unreadable(
    site: RunningServer, bad: bytes
) -> None:
    """Nothing else is written into the answer."""
    caller = await site.connect()
    await caller.send(get("/docs") + bad + get("/docs"))
    answer = await caller.answer()
    assert (answer.status, b"</html>" in answer.body) == (200, True)
    assert await caller.ended() == b""


async def test_a_connection_given_up_during_an_answer_is_no_bug(
    site: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caller = await site.connect()
    chunked = (
        f"POST {REQUESTS_PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    )
    await caller.send(get("/docs") + chunked.encode())
    assert await caller.ended() == b""
    assert [line for line in caplog.records if line.levelname in {"WARNING", "ERROR"}] == []


async def test_an_upgrade_is_ignored(site: RunningServer) -> None:
    """It ends the connection, because the start of the next request is unknown."""
    caller = await site.connect()
    await caller.send(get("/docs", "Connection: Upgrade", "Upgrade: websocket"))
    answer = await caller.answer()
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert await caller.ended() == b""


async def test_slow_clients_do_not_delay_a_stop(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other end of such a connection comes later than `site.stop` waits."""
    site.server.config.timeout_graceful_shutdown = 60
    for bound in ("HEAD_SECONDS", "LINGER_SECONDS"):
        monkeypatch.setattr(BoundedProtocol, bound, 60.0)
    silent, slow, refused = [await site.connect() for _ in range(3)]
    await slow.send(b"GET /docs HTTP/1.1\r\nX: ")
    await refused.send(post(REQUESTS_PATH, b"", *credentials(service), length=10**9))
    assert (await refused.answer()).status == 413
    await site.stop()
    for caller in (silent, slow, refused):
        assert await caller.ended() == b""


async def test_a_client_that_leaves_before_its_answer_is_no_bug(
    site: RunningServer, service: ServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    for call in (
        get("/docs"),
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
    assert [line for line in caplog.records if line.levelname in {"WARNING", "ERROR"}] == []
