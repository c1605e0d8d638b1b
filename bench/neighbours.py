"""The figure `neighbours`: how late alerts are while others block, flood and hang."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from bench.payments import chat_of, told
from bench.processes import NO_LIMITS, product
from bench.stage import post_form, telegram
from bench.table import Row, percentile
from bot.sandbox import people

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench.processes import Server
    from bench.stage import Telegram
    from bot.sandbox.world import Call

SELLERS = 10
ROUNDS = 4
PAYMENTS = 120
"""In each round, with and without neighbours; the first second's do not count."""

EVERY = 0.05
"""Seconds between two payments of all the sellers."""

WARM_UP = int(1 / EVERY)
NEIGHBOUR_EVERY = 0.5
"""Seconds between two payments of one neighbour."""

FLOOD_EVERY = 0.05
"""Seconds between two messages of the neighbour who floods."""

SETTLED_SECONDS = 1.0
LOCAL = "127.0.0.1"
HANGING_REQUEST = {
    "product": {"name": "Told to nobody"},
    "instrumentCurrencyCode": "USD",
    "receivers": [{"sendAmount": 5, "destination": "hanging"}],
    "expirationType": "never",
}


async def neighbours() -> list[Row]:
    """Pay form posted to its alert's arrival at the Bot API server, alone and beside them."""
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(ROUNDS):
        alone += await _lags(crowded=False)
        beside += await _lags(crowded=True)
    return [
        Row(
            f"alert beside neighbours who block, flood, hang, p{percent}",
            percentile(beside, percent) * 1000,
            "ms",
            percentile(alone, percent) * 1000,
            "the same sellers alone",
            "≤ 1.2 ×",
        )
        for percent in (50, 99)
    ]


@dataclass(frozen=True, slots=True)
class Street:
    """The product with its sellers' pay pages, by chat; two of the sellers are the neighbours."""

    telegram: Telegram
    server: Server
    http: httpx.AsyncClient
    pages: dict[int, str]

    @property
    def sellers(self) -> list[int]:
        """The chats that are measured."""
        return list(self.pages)[2:]

    async def blocks(self) -> None:
        """Block the bot, and be paid all the same."""
        chat = next(iter(self.pages))
        people.person(self.telegram.world, chat).block()
        await _steadily(NEIGHBOUR_EVERY, lambda: post_form(self.http, self.pages[chat]))

    async def floods(self) -> None:
        """Write to the bot without end, and be paid meanwhile."""
        chat = list(self.pages)[1]
        person = people.person(self.telegram.world, chat)

        async def say() -> None:
            person.send("/help")

        async with asyncio.TaskGroup() as both:
            both.create_task(_steadily(FLOOD_EVERY, say))
            page = self.pages[chat]
            both.create_task(_steadily(NEIGHBOUR_EVERY, lambda: post_form(self.http, page)))

    async def hangs(self) -> None:
        """Have payments told to an endpoint that takes every webhook and never answers."""
        async with _hanging() as endpoint:
            page = await self._request_told_to(endpoint)
            await _steadily(NEIGHBOUR_EVERY, lambda: post_form(self.http, page))

    async def lags(self) -> list[float]:
        """Pay all sellers in turn; the seconds from each form posted to its alert's arrival."""
        calls, sellers = self.telegram.world.calls, self.sellers
        after, posted = len(calls), defaultdict[int, list[float]](list)
        turns = itertools.cycle(sellers)

        async def pay() -> None:
            chat = next(turns)
            posted[chat].append(time.time())
            await post_form(self.http, self.pages[chat])

        def weigh(call: Call) -> int:
            return told(call) if told(call) and chat_of(call) in sellers else 0

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.telegram.count(PAYMENTS, weigh))

            async def begin() -> None:
                tasks.create_task(pay())

            await _steadily(EVERY, begin, PAYMENTS)
        arrived = defaultdict[int, list[float]](list)
        for call in calls[after:]:
            if weigh(call):
                arrived[chat_of(call)] += [call.time] * told(call)
        pairs = [zip(posted[chat], arrived[chat], strict=True) for chat in sellers]
        # In the order of paying, for the first of all are left out.
        return [there - sent for sent, there in sorted(itertools.chain(*pairs))][WARM_UP:]

    async def _request_told_to(self, endpoint: str) -> str:
        """Make a request of another application's at the same service; its pay page's path."""
        lines = (await self.server.command("apps", "create", "Neighbour")).split()
        known = dict(line.split("=", 1) for line in lines if "=" in line)
        answer = await self.http.post(
            "/v3/paymentRequests",
            json=HANGING_REQUEST | {"notifications": {"webhook": {"webhookUrl": endpoint}}},
            headers={"app-id": known["APP_ID"], "app-secret": known["APP_SECRET"]},
        )
        link: str = answer.raise_for_status().json()["paymentRequestUrl"]
        return urlsplit(link).path


async def _lags(*, crowded: bool) -> list[float]:
    settings = {**NO_LIMITS, "WEBHOOK_ALLOW": LOCAL}
    async with telegram() as here, product(here.url, here.world.token, settings) as server:
        pages = await here.sellers(SELLERS + 2)
        async with httpx.AsyncClient(base_url=server.url) as http, asyncio.TaskGroup() as around:
            street = Street(here, server, http, pages)
            troubles = (street.blocks, street.floods, street.hangs) if crowded else ()
            tasks = [around.create_task(trouble()) for trouble in troubles]
            await asyncio.sleep(SETTLED_SECONDS)
            lags = await street.lags()
            for task in tasks:
                task.cancel()
    return lags


@asynccontextmanager
async def _hanging() -> AsyncIterator[str]:
    """Take connections and what they bring, and never answer; the address."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(swallow, LOCAL, 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://{LOCAL}:{port}/hook"


async def _steadily(
    seconds: float, act: Callable[[], Awaitable[object]], times: int | None = None
) -> None:
    """Do something each so many seconds, `times` or until cancelled, by the clock of the loop."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    for _ in range(times) if times else itertools.count():
        await act()
        due += seconds
        await asyncio.sleep(due - loop.time())
