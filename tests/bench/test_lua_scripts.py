"""The scripts send what the product and the yardsticks are measured with."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from bench import h2load, wrk

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not all(map(shutil.which, wrk.PACKAGES)), reason="needs wrk and h2load"),
]
SEE_OTHER = b"HTTP/1.1 303 See Other\r\nContent-Length: 0\r\n\r\n"
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"


class Seen(asyncio.Protocol):
    """A connection that notes heads and bodies; each request comes in one piece."""

    def __init__(self, requests: list[tuple[str, str]], answer: bytes) -> None:
        self._requests, self._answer = requests, answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        head, _, body = data.decode().partition("\r\n\r\n")
        self._requests.append((head, body))
        self._transport.write(self._answer)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport.close()


@asynccontextmanager
async def recording(answer: bytes = SEE_OTHER) -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    requests: list[tuple[str, str]] = []
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: Seen(requests, answer), "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests


async def test_each_payment_has_a_token_of_its_own_and_the_fields() -> None:
    async with recording() as (url, requests):
        await wrk.closed(url, "pay.lua", 4, 1, {"PATHS": "/pay/a /pay/b", "FIELDS": "&name=Mia"})
    bodies = [body for _, body in requests]
    assert len(bodies) == len(set(bodies))
    assert all(body.startswith("token=") and body.endswith("&name=Mia") for body in bodies)
    assert {head.split()[1] for head, _ in requests} == {"/pay/a", "/pay/b"}


async def test_so_many_payments_as_are_listed_in_a_file_are_made(tmp_path: Path) -> None:
    paths = [f"/pay/{number}" for number in range(100)]
    (listed := tmp_path / "paths").write_text("\n".join(paths))
    async with recording() as (url, requests):
        found = await wrk.numbered(url, "pay.lua", 4, len(paths), {"PATHS_FILE": str(listed)})
    assert found.number == len(paths)
    assert sorted(head.split()[1] for head, _ in requests) == sorted(paths)


@pytest.mark.parametrize("rate", [None, 100])
async def test_an_application_creates(rate: int | None) -> None:
    settings = {"PATH_ASKED": "/all", "BODY": '{"a": 1}', "APP_ID": "me", "APP_SECRET": "hush"}
    async with recording() as (url, requests):
        if rate:
            found = await wrk.constant(url, "post.lua", 2, 1, rate, settings)
            assert len(requests) == found.number == rate
        else:
            await wrk.closed(url, "post.lua", 2, 1, settings)
    head, body = requests[0]
    assert head.startswith("POST /all HTTP/1.1\r\n")
    assert {"App-Id: me", "App-Secret: hush"} < set(head.split("\r\n"))
    assert body == '{"a": 1}'


async def test_several_pages_are_asked_for_in_turns() -> None:
    async with recording() as (url, requests):
        await wrk.closed(url, "get.lua", 1, 1, {"PATH_ASKED": "/a /b", "APP_ID": "me"})
    asked = [head.split()[1] for head, _ in requests]
    assert {asked[0], asked[1]} == {"/a", "/b"}
    assert asked[:10] == asked[:2] * 5
    assert "App-Id: me" in requests[0][0].split("\r\n")


@pytest.mark.parametrize("rate", [None, 100])
async def test_clients_are_spread_over_replicas(rate: int | None) -> None:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(recording()) for _ in range(2)]
        settings = {"PATH_ASKED": "/", "SERVERS": " ".join(url for url, _ in servers)}
        if rate:
            await wrk.constant(servers[0][0], "get.lua", 2, 1, rate, settings)
        else:
            await wrk.closed(servers[0][0], "get.lua", 2, 1, settings)
    counts = [len(requests) for _, requests in servers]
    assert counts == [rate // 2, rate // 2] if rate else min(counts) > 0


async def test_h2load_sends_the_same() -> None:
    settings = {"PATH_ASKED": "/all", "BODY": '{"a": 1}', "APP_ID": "me", "APP_SECRET": "hush"}
    async with recording() as (url, requests):
        found = await h2load.closed(url, 2, 1, settings)
    head, body = requests[0]
    assert head.startswith("POST /all HTTP/1.1\r\n")
    assert {"app-id: me", "app-secret: hush"} < set(head.lower().split("\r\n"))
    assert body == '{"a": 1}'
    assert 0 < found.number <= len(requests)
    assert 0.0 < found.p50 <= found.p99 <= found.p999
    assert found.client_seconds > 0.0


async def test_h2load_does_not_count_refusals_as_work() -> None:
    async with recording(GONE) as (url, _):
        with pytest.raises(RuntimeError, match="not every answer was good"):
            await h2load.closed(url, 1, 1, {"PATH_ASKED": "/"})
