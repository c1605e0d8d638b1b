"""Connections of clients who are slow, endless or rude: bounded, ended, and in nobody's way."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from structlog.testing import capture_logs

from bot.wiring.web.protocol import BoundedProtocol
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
from tests.support.service_harness import (
    REQUESTS_PATH,
    ServiceHarness,
)

KIB = 1024
MAX_HEAD = BoundedProtocol.MAX_HEAD
HELD = 200


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads have to be there at once; nothing else is bounded in the time of a test."""
    monkeypatch.setattr(BoundedProtocol, "HEAD_SECONDS", 0.2)


@pytest.mark.usefixtures("brief")
async def test_who_says_nothing_is_not_waited_for(site: RunningServer) -> None:
    caller = await site.connect()
    assert await caller.ended() == b""


@pytest.mark.usefixtures("brief")
async def test_who_says_it_byte_by_byte_is_not_waited_for(site: RunningServer) -> None:
    """Each byte comes in time, the head does not."""
    caller = await site.connect()
    await caller.send(b"GET /docs HTTP/1.1\r\nHost: x\r\nX: ")
    with capture_logs() as logs:
        await caller.trickle(b"x")
    assert [(line["log_level"], line["reason"]) for line in logs] == [
        ("debug", "no request in time")
    ]


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("begun", [b"GET", b"GET /docs HTTP/1.1\r\nHost", b"\r\n"])
async def test_a_further_head_has_no_longer_than_the_first(
    site: RunningServer, begun: bytes
) -> None:
    """uvicorn itself waits for ever once a byte has come, an empty line before it included."""
    caller = await site.connect()
    await caller.send(get("/docs"))
    assert (await caller.answer()).status == 200
    await caller.send(begun)
    assert await caller.ended() == b""


async def test_a_head_in_time_is_heard_whatever_the_pieces(site: RunningServer) -> None:
    caller = await site.connect()
    for _ in range(2):
        for byte in get("/docs"):
            await caller.send(bytes([byte]))
        assert (await caller.answer()).status == 200


@pytest.mark.usefixtures("brief")
async def test_the_time_for_a_head_is_not_for_body_and_answer(site: RunningServer) -> None:
    caller = await site.connect()
    await caller.send(post("/pay/x", b"a", "Content-Type: application/x-www-form-urlencoded")[:-1])
    await asyncio.sleep(0.4)
    await caller.send(b"a")
    assert (await caller.answer()).status == 404


async def test_a_payer_is_served_while_many_trickle(
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


async def test_many_who_trickle_are_all_closed(
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
async def test_a_head_beyond_the_bounds_is_431_and_the_end(site: RunningServer, head: str) -> None:
    caller = await site.connect()
    with capture_logs() as logs:
        await caller.send(HEADS[head])
        answer = await caller.answer()
    assert answer.code == (431, "headTooLarge")
    assert "32 KiB or 100 fields" in json.loads(answer.body)["message"]
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""
    assert [(line["event"], line["status"]) for line in logs] == [("request refused", 431)]


async def test_a_head_within_the_bounds_is_heard(site: RunningServer) -> None:
    assert (await site.ask(get("/docs", *["X: x"] * 99))).status == 200
    assert (await site.ask(get("/docs", long_field(MAX_HEAD - 100)))).status == 200
    assert (await site.ask(get("/docs?" + "x" * (MAX_HEAD - 100)))).status == 200


@pytest.mark.parametrize(
    "begun", [b"GET /", b"GET /docs HTTP/1.1\r\nX: ", b"GET /docs HTTP/1.1\r\nX", b"\r\n"]
)
async def test_a_head_without_end_is_431_before_its_end(site: RunningServer, begun: bytes) -> None:
    """What the parser keeps to itself, a field that has not ended, is counted too."""
    caller = await site.connect()
    await caller.send(begun)
    more = b"\r\n" * KIB if begun == b"\r\n" else b"x" * 2 * KIB
    for _ in range(24):
        await caller.send(more)
        await asyncio.sleep(0)
    assert (await caller.answer()).code == (431, "headTooLarge")
    assert await caller.ended() == b""


async def test_what_is_no_http_is_400_in_our_form_and_the_end(site: RunningServer) -> None:
    caller = await site.connect()
    await caller.send(b"HELO example.org\r\n\r\n")
    answer = await caller.answer()
    assert answer.code == (400, "invalidRequest")
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""


async def test_calls_in_one_breath_are_answered_in_order(
    site: RunningServer, service: ServiceHarness
) -> None:
    caller = await site.connect()
    wrong = post(REQUESTS_PATH, b"{" * 2000, *credentials(service))
    await caller.send((get("/docs") + wrong + get("/nowhere")) * 30)
    statuses = [(await caller.answer()).status for _ in range(90)]
    assert statuses == [200, 400, 404] * 30


@pytest.mark.parametrize("bad", [b"\0\0\0\0", get("/docs", long_field(MAX_HEAD))])
async def test_a_call_gets_its_answer_though_the_next_can_not_be_read(
    site: RunningServer, bad: bytes
) -> None:
    """And nothing is written into it."""
    caller = await site.connect()
    await caller.send(get("/docs") + bad + get("/docs"))
    answer = await caller.answer()
    assert (answer.status, b"</html>" in answer.body) == (200, True)
    assert await caller.ended() == b""


async def test_who_is_given_up_while_another_answer_is_under_way_is_no_bug(
    site: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caller = await site.connect()
    chunked = (
        f"POST {REQUESTS_PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    )
    await caller.send(get("/docs") + chunked.encode())
    assert await caller.ended() == b""
    assert [line for line in caplog.records if line.levelname in {"WARNING", "ERROR"}] == []


async def test_an_upgrade_that_nobody_offers_is_ignored(site: RunningServer) -> None:
    """And ends the connection: where the next request would begin is not known."""
    caller = await site.connect()
    await caller.send(get("/docs", "Connection: Upgrade", "Upgrade: websocket"))
    answer = await caller.answer()
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert await caller.ended() == b""


async def test_nobody_slow_holds_up_a_stop(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else would end such a connection comes later than `site.stop` waits."""
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


async def test_who_asks_and_leaves_is_no_bug(
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
