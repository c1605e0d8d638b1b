"""The proxies that ship: the files of deploy/ before a real service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from tests.support.free_ports import free_port
from tests.support.goods import FILES_PATH, random_bytes
from tests.support.product_process import (
    Process,
    app_headers,
    create_application,
    patient_client,
    start_bot,
)
from tests.support.proxies import PROXIES, Front, program, running_proxy
from tests.support.service_harness import NEW, REQUESTS_PATH, form_token

MIB = 1024 * 1024
LARGEST = 20 * MIB
HEAD_SECONDS = 10.0
RATE = 6
"""Calls that an address without a cookie may make in a minute."""

SETTINGS = {"PUBLIC_URL": "https://pay.example.org", "PAYER_RATE": f"{RATE}/minute"}
UNKNOWN = "/pay/" + "0" * 24

BESIDE = pytest.mark.asyncio(loop_scope="module")
INSTALLED = [
    pytest.param(
        name, marks=pytest.mark.skipif(not program(name), reason=f"no {name}: apt install {name}")
    )
    for name in PROXIES
]


@dataclass(frozen=True)
class Shop:
    """A service with an application's credentials."""

    run: Process
    credentials: dict[str, str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    credentials = app_headers(await create_application(folder))
    async with start_bot(folder, "service", unseen=[credentials["App-Secret"]], **SETTINGS) as run:
        yield Shop(await run.ready(), credentials)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=INSTALLED)
async def front(
    request: pytest.FixtureRequest, shop: Shop, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Front]:
    folder = tmp_path_factory.mktemp(request.param)
    async with running_proxy(request.param, folder, shop.run.port) as it:
        yield it


async def made(seller: httpx.AsyncClient, **fields: object) -> str:
    """Make a request; return its id."""
    answer = await seller.post(REQUESTS_PATH, json=NEW | fields)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def paid(http: httpx.AsyncClient, request_id: str) -> str:
    """Pay as a browser does; return the path of the receipt."""
    page = await http.get(f"/pay/{request_id}")
    token = form_token(page.text)
    answer = await http.post(f"/pay/{request_id}", data={"token": token})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].removeprefix(SETTINGS["PUBLIC_URL"])


@BESIDE
async def test_sellers_and_payers_are_served(front: Front, shop: Shop) -> None:
    async with front.client(**shop.credentials) as seller, front.client(front.source(1)) as http:
        receipt = await paid(http, await made(seller))
        assert (await http.get(receipt)).status_code == 200
        assert (await http.get("/readyz")).status_code == 200


@BESIDE
async def test_the_proxy_compresses_nothing_by_itself(front: Front, shop: Shop) -> None:
    """Compression would tell the length of a form's token."""
    async with (
        front.client(front.source(2), **shop.credentials) as http,
        patient_client(shop.run.url, shop.credentials) as direct,
    ):
        path = f"/pay/{await made(http)}"
        for method, url in (
            ("GET", path), ("POST", path), ("GET", REQUESTS_PATH), ("GET", "/openapi.json")
        ):  # fmt: skip
            answers = [await one.request(method, url) for one in (http, direct)]
            through, straight = (answer.headers.get("content-encoding") for answer in answers)
            assert (url, through) == (url, straight)


@BESIDE
async def test_payers_are_counted_by_their_addresses_whatever_they_forge(front: Front) -> None:
    statuses = []
    for number in range(RATE + 1):
        forged = {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=192.0.2.{number}"}
        async with front.client(front.source(3), **forged) as http:
            statuses.append((await http.get(UNKNOWN)).status_code)
    assert statuses == [404] * RATE + [429]
    async with front.client(front.source(4)) as http:
        assert (await http.get(UNKNOWN)).status_code == 404


@BESIDE
async def test_metrics_are_not_public(front: Front) -> None:
    async with front.client() as http:
        assert (await http.get("/metrics")).status_code == 404


@BESIDE
@pytest.mark.long
async def test_a_slow_head_is_closed(front: Front) -> None:
    """Each byte arrives in time, the head does not."""
    async with front.connect() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
        async with asyncio.timeout(HEAD_SECONDS + 5):
            with suppress(ConnectionError):
                while not reader.at_eof():
                    writer.write(b"x")
                    with suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1024), 0.5)


@BESIDE
@pytest.mark.parametrize(
    "head", ["x" * 64 * 1024, "GET / HTTP/1.1\r\nHost: x\r\nX: " + "x" * 64 * 1024]
)
async def test_a_large_head_is_refused(front: Front, head: str) -> None:
    async with front.connect() as (reader, writer):
        writer.write(head.encode() + b"\r\n\r\n")
        with suppress(ConnectionError):
            assert int((await reader.readline() or b"- 400 ").split()[1]) in {400, 414, 431, 494}


async def posted(front: Front, shop: Shop, path: str, size: int) -> bytes:
    """Send a body of zeros to its end; return the first line of the answer."""
    headers = shop.credentials | {"Host": front.host, "Content-Length": f"{size}"}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    kind = "application/json" if path == REQUESTS_PATH else "application/zip"
    head = [f"POST {path} HTTP/1.1", f"Content-Type: {kind}", *lines, "", ""]
    async with front.connect() as (reader, writer):
        writer.write("\r\n".join(head).encode() + bytes(size))
        with suppress(ConnectionError):
            return await reader.readline()
    return b""


NAMED = f"{FILES_PATH}?name=a.zip"


@BESIDE
@pytest.mark.parametrize(("path", "size"), [(REQUESTS_PATH, 2 * MIB), (NAMED, LARGEST + 1)])
async def test_the_bot_refuses_large_bodies(front: Front, shop: Shop, path: str, size: int) -> None:
    assert (await posted(front, shop, path, size))[9:12] == b"413"


@BESIDE
async def test_the_proxy_refuses_larger_bodies(front: Front, shop: Shop) -> None:
    """It may close the connection of a client that sends on, and the answer is lost."""
    assert (await posted(front, shop, NAMED, 2 * LARGEST))[9:12] in {b"413", b"502", b""}


@BESIDE
@pytest.mark.long
async def test_the_largest_file_goes_both_ways(front: Front, shop: Shop) -> None:
    data = random_bytes(LARGEST)
    async with front.client(**shop.credentials) as seller, front.client(front.source(5)) as http:
        answer = await seller.post(FILES_PATH, params={"name": "a.bin"}, content=data)
        assert answer.status_code == 200, answer.text
        request_id = await made(seller, delivery={"fileId": answer.json()["id"]})
        receipt = await paid(http, request_id)
        assert (await http.get(f"{receipt}/file")).content == data


@pytest.mark.long
@pytest.mark.parametrize("name", [one for one in INSTALLED if one.values != ("nginx",)])
async def test_a_request_waits_while_the_bot_restarts(tmp_path: Path, name: str) -> None:
    port = free_port()
    async with running_proxy(name, tmp_path, port) as front, front.client() as http:
        for _ in range(2):
            asking = asyncio.create_task(http.get(UNKNOWN))
            await asyncio.sleep(0.2)  # it comes while nobody listens
            async with start_bot(tmp_path, "service", PORT=port) as run:
                assert (await asking).status_code == 404
                await run.ready()
                assert await run.stop() == 0


@pytest.mark.long
@pytest.mark.parametrize("name", INSTALLED)
async def test_several_replicas_may_stand_behind_it(tmp_path: Path, name: str) -> None:
    """One of them isn't there, and nobody notices."""
    async with AsyncExitStack() as stack:
        run = await stack.enter_async_context(start_bot(tmp_path, "service"))
        await run.ready()
        front = await stack.enter_async_context(
            running_proxy(name, tmp_path, run.port, free_port())
        )
        http = await stack.enter_async_context(front.client())
        assert [(await http.get(UNKNOWN)).status_code for _ in range(6)] == [404] * 6
