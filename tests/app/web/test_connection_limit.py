"""The limit of connections: the address with the most makes room."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bot.app import connections
from bot.core.net.http_client import app_client
from tests.support.raw_http import (
    SECONDS,
    RunningServer,
    get,
    open_web_server,
    post,
)

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


ROOM = 40
PAYERS = 100


class Shop:
    """An application whose answers to `/slow` wait for `open`."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        if scope["path"] == "/slow":
            await self.open.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for few connections."""
    monkeypatch.setattr(connections, "MOST", ROOM)


async def served(site: RunningServer, host: str) -> bool:
    caller = await site.connect(host)
    await caller.send(get("/"))
    status = (await caller.answer()).status
    await caller.leave()
    return status == 200


BEGUN = {
    "nothing": b"",
    "a head": b"GET / HTTP/1.1\r\nHost: x\r\nX: ",
    "a body": post("/", b"a", length=100),
    "an answer": get("/"),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("begun", BEGUN)
async def test_an_address_with_all_connections_makes_room_for_others(begun: str) -> None:
    """Its connections are silent, or have sent half a header or body, or have read an answer."""
    async with open_web_server(Shop()) as site:
        for _ in range(3 * ROOM):
            await (await site.connect()).send(BEGUN[begun])
        assert [await served(site, f"127.0.1.{n + 1}") for n in range(PAYERS)] == [True] * PAYERS
        assert site.connections <= ROOM + 1


@pytest.mark.usefixtures("small")
async def test_a_crowd_behind_one_address_is_served() -> None:
    """A venue's browsers open more connections than there is room for."""
    async with open_web_server(Shop()) as site:
        for _ in range(2):
            callers = [await site.connect() for _ in range(3 * ROOM)]
            for caller in callers[-ROOM // 2 :]:
                await caller.send(get("/"))
                assert (await caller.answer()).status == 200


@pytest.mark.usefixtures("small")
async def test_the_longest_idle_closes_first_and_one_being_answered_stays() -> None:
    shop = Shop()
    async with open_web_server(shop) as site:
        asking, oldest, busy = [await site.connect() for _ in range(3)]
        await asking.send(get("/slow"))
        await busy.send(get("/"))
        await busy.answer()
        few = await site.connect("127.0.0.2")
        for _ in range(ROOM - 4):
            await site.connect()
        async with asyncio.timeout(SECONDS):
            while site.connections < ROOM:  # noqa: ASYNC110 - uvicorn has no event
                await asyncio.sleep(0.01)
        await busy.send(get("/"))
        await busy.answer()
        assert await served(site, "127.0.0.3")
        assert await oldest.ended() == b""
        for caller in (busy, few):
            await caller.send(get("/"))
            assert (await caller.answer()).status == 200
        shop.open.set()
        assert (await asking.answer()).status == 200


@pytest.mark.usefixtures("small")
async def test_payers_behind_a_proxy_count_and_not_the_proxy() -> None:
    """Requests through a proxy belong to their payers, who have one each."""
    shop = Shop()
    async with open_web_server(shop, ("127.0.0.1",)) as site:
        paying = [await site.connect() for _ in range(ROOM // 2)]
        for number, caller in enumerate(paying):
            whose = f"X-Forwarded-For: 192.0.2.{number}"
            await caller.send(post("/slow", b"", whose, length=1))
        for _ in range(3 * ROOM):
            await site.connect("127.0.0.2")
        for caller in paying:
            await caller.send(b"x")
        shop.open.set()
        assert [(await caller.answer()).status for caller in paying] == [200] * len(paying)


@pytest.mark.usefixtures("small")
async def test_our_own_calls_never_queue_behind_strangers() -> None:
    """Neither behind their connections, which fill the kernel's queue, nor behind their turns."""
    shop = Shop()
    async with open_web_server(shop) as site:
        strangers = [await site.connect() for _ in range(3 * ROOM)]
        for caller in strangers:
            await caller.send(get("/slow"))
        async with app_client(shop) as us:
            reply = await us.call("GET", "http://bot.internal/", {}, seconds=SECONDS)
        assert (reply.status, reply.body) == (200, b"ok")
        shop.open.set()
