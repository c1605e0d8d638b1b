"""Connections of clients who are slow, endless or rude: bounded, ended, and in nobody's way."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

import httpx
import pytest
from structlog.testing import capture_logs

from bot.core.net import request_body
from bot.service.app import create_app
from bot.wiring.web.protocol import BoundedProtocol
from tests.support.raw_http import SECONDS, RunningServer, get, open_web_server, post
from tests.support.service_harness import (
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    headers_of,
    make_service,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

JSON = "Content-Type: application/json"
KIB = 1024
MAX_HEAD = BoundedProtocol.MAX_HEAD
HELD = 200


@pytest.fixture
async def site(service: ServiceHarness) -> AsyncIterator[RunningServer]:
    """The service behind the web server of the product."""
    app = create_app(make_service(service.db, service.clock))
    async with open_web_server(app) as it:
        yield it


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads have to be there at once; nothing else is bounded in the time of a test."""
    monkeypatch.setattr(BoundedProtocol, "HEAD_SECONDS", 0.2)


async def sound(site: RunningServer) -> bool:
    return (await site.ask(get("/docs"))).status == 200


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


def field(size: int) -> str:
    return "X: " + "x" * size


HEADS = {
    "one long field": get("/docs", field(MAX_HEAD)),
    "fields that are long together": get("/docs", *[field(KIB)] * 33),
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
    assert (await site.ask(get("/docs", field(MAX_HEAD - 100)))).status == 200
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


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body and tell which headers there were."""
    while (await receive()).get("more_body"):
        pass
    names = json.dumps([name.decode() for name, _ in scope["headers"]]).encode()
    start = {"type": "http.response.start", "status": 200}
    await send(start | {"headers": [(b"content-length", b"%d" % len(names))]})
    await send({"type": "http.response.body", "body": names})


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"


async def test_trailers_are_no_headers(caplog: pytest.LogCaptureFixture) -> None:
    """Of this request or of the next: a proxy has not looked at them."""
    async with open_web_server(echo) as site:
        caller = await site.connect()
        await caller.send(
            CHUNKED + b"0\r\nX-Forwarded-For: 6.6.6.6\r\nApp-Id: x\r\n\r\n" + get("/")
        )
        assert json.loads((await caller.answer()).body) == ["host", "transfer-encoding"]
        assert json.loads((await caller.answer()).body) == ["host"]
    assert not caplog.records


@pytest.mark.parametrize("begun", [b"0\r\nX: ", b"0\r\n", b"1;"])
async def test_what_surrounds_a_body_has_an_end_too(begun: bytes) -> None:
    """Trailers, and what may stand beside a chunk's size."""
    async with open_web_server(echo) as site:
        caller = await site.connect()
        await caller.send(CHUNKED + begun)
        await asyncio.sleep(0.01)
        for _ in range(24):
            await caller.send(b"X: x\r\n" * 400 if begun == b"0\r\n" else b"x" * 2 * KIB)
            await asyncio.sleep(0)
        assert (await caller.answer()).code == (431, "headTooLarge")
        assert await caller.ended() == b""


@pytest.mark.parametrize(
    "said",
    [
        b"GET /" + b"x" * 100_000,
        b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000,
        CHUNKED + b"1;" + b"x" * 100_000,
        CHUNKED + b"0\r\n" + b"X: x\r\n" * 20_000 + b"\r\n",
    ],
    ids=["address", "field", "chunk", "trailers"],
)
async def test_what_comes_in_one_read_is_counted_as_well(said: bytes) -> None:
    async with open_web_server(echo) as site:
        caller = await site.connect()
        (await site.arrived()).data_received(said)
        assert (await caller.answer()).code == (431, "headTooLarge")
        assert await caller.ended() == b""


CHUNKS = ("Host: x", "Transfer-Encoding: chunked")


def proved(service: ServiceHarness) -> list[str]:
    return [JSON, *(f"{name}: {value}" for name, value in headers_of(service.credentials).items())]


@pytest.mark.parametrize("sent", [0, 10, 70_000])
async def test_after_a_body_that_says_it_is_too_large_the_connection_ends(
    site: RunningServer, service: ServiceHarness, sent: int
) -> None:
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b" " * sent, *proved(service), length=100_000))
    answer = await caller.answer()
    assert answer.code == (413, "bodyTooLarge")
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""


async def test_after_chunks_that_are_too_large_the_connection_ends(
    site: RunningServer, service: ServiceHarness
) -> None:
    lines = [f"POST {REQUESTS_PATH} HTTP/1.1", *CHUNKS, *proved(service), "", ""]
    caller = await site.connect()
    await caller.send("\r\n".join(lines).encode() + b"11000\r\n" + b" " * 0x11000 + b"\r\n")
    answer = await caller.answer()
    assert answer.code == (413, "bodyTooLarge")
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""


async def test_who_sends_it_all_before_reading_still_reads_the_refusal(
    site: RunningServer, service: ServiceHarness
) -> None:
    """As most libraries do. Closed at once, the connection would be reset, the answer lost."""
    call = post(REQUESTS_PATH, b" " * 20_000_000, *proved(service))

    def ask() -> bytes:
        with socket.create_connection(("127.0.0.1", site.port)) as caller:
            caller.sendall(call)
            return caller.recv(100)

    assert (await asyncio.to_thread(ask)).startswith(b"HTTP/1.1 413 ")


async def test_who_goes_on_sending_is_cut_off(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedProtocol, "LINGER_SECONDS", 0.2)
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b"", *proved(service), length=10**9))
    assert (await caller.answer()).status == 413
    await caller.trickle(b" ")
    assert site.connections == 0


async def test_after_a_body_that_stalls_the_connection_ends(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.1)
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b"{", *proved(service), length=100))
    answer = await caller.answer()
    assert answer.code == (400, "invalidBody")
    assert json.loads(answer.body)["message"] == "The body did not arrive in time."
    assert answer.headers["connection"] == "close"
    assert await caller.ended() == b""


async def test_a_body_that_trickles_is_bounded_as_a_whole(
    site: RunningServer, service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(BoundedProtocol, "LINGER_SECONDS", 0.1)
    caller = await site.connect()
    await caller.send(post(REQUESTS_PATH, b"", *proved(service), length=60_000))
    await caller.trickle(b" ")
    assert (await service.rows("payment_requests"), site.connections) == ([], 0)


async def test_a_refusal_of_a_whole_request_keeps_the_connection(
    site: RunningServer, service: ServiceHarness
) -> None:
    """Who sends all of it may go on, whatever the answer was."""
    caller = await site.connect()
    for body, headers, status in (
        (b"{}", [JSON], 401),
        (b"{", proved(service), 400),
        (b"x" * 100, ["Content-Type: text/plain"], 401),
        (json.dumps(NEW).encode(), proved(service), 200),
    ):
        await caller.send(post(REQUESTS_PATH, body, *headers))
        answer = await caller.answer()
        assert (answer.status, answer.headers.get("connection")) == (status, None)


async def test_calls_in_one_breath_are_answered_in_order(
    site: RunningServer, service: ServiceHarness
) -> None:
    caller = await site.connect()
    wrong = post(REQUESTS_PATH, b"{" * 2000, *proved(service))
    await caller.send((get("/docs") + wrong + get("/nowhere")) * 30)
    statuses = [(await caller.answer()).status for _ in range(90)]
    assert statuses == [200, 400, 404] * 30


@pytest.mark.parametrize("bad", [b"\0\0\0\0", get("/docs", field(MAX_HEAD))])
async def test_a_call_gets_its_answer_though_the_next_can_not_be_read(
    site: RunningServer, bad: bytes
) -> None:
    """And nothing is written into it."""
    caller = await site.connect()
    await caller.send(get("/docs") + bad + get("/docs"))
    answer = await caller.answer()
    assert (answer.status, b"</html>" in answer.body) == (200, True)
    assert await caller.ended() == b""


async def test_a_body_that_can_not_be_read_is_400_and_no_bug(
    site: RunningServer, service: ServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [f"POST {REQUESTS_PATH} HTTP/1.1", *CHUNKS, *proved(service), "", ""]
    caller = await site.connect()
    await caller.send("\r\n".join(lines).encode() + b"2\r\n{}\r\nzz\r\n")
    assert (await caller.answer()).code == (400, "invalidRequest")
    assert await caller.ended() == b""
    assert await sound(site)
    assert [line for line in caplog.records if line.levelname in {"WARNING", "ERROR"}] == []


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
    await refused.send(post(REQUESTS_PATH, b"", *proved(service), length=10**9))
    assert (await refused.answer()).status == 413
    await site.stop()
    for caller in (silent, slow, refused):
        assert await caller.ended() == b""


async def test_who_asks_and_leaves_is_no_bug(
    site: RunningServer, service: ServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    for call in (
        get("/docs"),
        post(REQUESTS_PATH, b"{", *proved(service), length=100),
        post(REQUESTS_PATH, b"", *proved(service), length=10**9),
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
    assert await sound(site)
    assert [line for line in caplog.records if line.levelname in {"WARNING", "ERROR"}] == []
