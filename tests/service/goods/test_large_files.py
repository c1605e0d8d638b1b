"""Large files over the product's own web server: whole, in little memory, and in nobody's way."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from bot.core.net.rates import Rate
from bot.service.goods import files
from bot.service.goods.files import MOST_BYTES
from bot.service.pages.app import create_app
from tests.support.goods import FILES_PATH, buy, random_bytes, uploaded
from tests.support.raw_http import SECONDS, RunningServer, get, open_web_server
from tests.support.service_harness import ServiceHarness, headers_of, make_service

MIB = 1024 * 1024
READERS = 60


@asynccontextmanager
async def served(service: ServiceHarness) -> AsyncIterator[tuple[RunningServer, httpx.AsyncClient]]:
    """Serve the service as the product does, with a client that calls as its application."""
    app = create_app(make_service(service.db, service.clock, payer_rate=Rate(10_000, 60)))
    async with (
        open_web_server(app) as site,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{site.port}",
            headers=headers_of(service.credentials),
            timeout=60,
        ) as client,
    ):
        yield site, client


@pytest.mark.long
async def test_the_largest_file_goes_through_the_web_server(service: ServiceHarness) -> None:
    data = random_bytes(MOST_BYTES)
    async with served(service) as (_, client):
        answer = await client.post(FILES_PATH, params={"name": "a.bin"}, content=data)
        assert answer.status_code == 200, answer.text
        made = await service.create(delivery={"fileId": answer.json()["id"]})
        path = await buy(service, made["id"])
        assert (await client.get(f"{path}/file")).content == data


async def rows(service: ServiceHarness, table: str, number: int) -> None:
    """Wait until a table has so many rows."""
    async with asyncio.timeout(SECONDS):
        while len(await service.rows(table)) != number:  # noqa: ASYNC110 - a database has no event
            await asyncio.sleep(0.01)


async def traced_once_steady() -> int:
    """Wait until memory stops growing; return the traced bytes."""
    async with asyncio.timeout(SECONDS):
        before = 0
        while (now := tracemalloc.get_traced_memory()[0]) > before:
            before = now
            await asyncio.sleep(0.3)
    return before


async def test_an_upload_that_breaks_off_leaves_nothing(service: ServiceHarness) -> None:
    named = headers_of(service.credentials) | {"Host": "x", "Content-Length": str(MIB)}
    headers = "".join(f"{key}: {value}\r\n" for key, value in named.items())
    async with served(service) as (site, _):
        caller = await site.connect()
        head = f"POST {FILES_PATH}?name=a HTTP/1.1\r\n{headers}\r\n"
        await caller.send(head.encode() + bytes(MIB // 2))
        await rows(service, "file_parts", MIB // 2 // files.PART)
        await caller.leave()
        await rows(service, "files", 0)
        assert await service.rows("file_parts") == []


@pytest.mark.long
async def test_an_upload_takes_little_memory(service: ServiceHarness) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MOST_BYTES // (64 * 1024)):
            yield bytes(64 * 1024)

    async with served(service) as (_, client):
        tracemalloc.start()
        try:
            answer = await client.post(FILES_PATH, params={"name": "a.bin"}, content=pieces())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert answer.status_code == 200
    assert peak < 4 * MIB


@pytest.mark.long
async def test_payers_pay_while_a_file_is_uploaded(service: ServiceHarness) -> None:
    """Parts are transactions of their own, and payments go between them."""
    made = (await service.create())["id"]
    async with served(service) as (_, client):
        data = random_bytes(MOST_BYTES)
        upload = asyncio.create_task(client.post(FILES_PATH, params={"name": "a"}, content=data))
        paid = 0
        while not upload.done():
            await buy(service, made, paid)
            paid += 1
        assert upload.result().status_code == 200
    assert paid > 3


@pytest.mark.long
async def test_many_slow_readers_take_little_memory(service: ServiceHarness) -> None:
    file = await uploaded(service, random_bytes(4 * MIB))
    path = await buy(service, (await service.create(delivery={"fileId": file}))["id"])
    async with served(service) as (site, _):
        callers = []
        tracemalloc.start()
        try:
            for _ in range(READERS):
                caller = socket.socket()
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                caller.connect(("127.0.0.1", site.port))
                caller.sendall(get(f"{path}/file"))
                callers.append(caller)
            assert await traced_once_steady() <= READERS * 5 * files.READ_SIZE
        finally:
            tracemalloc.stop()
            for caller in callers:
                caller.close()
