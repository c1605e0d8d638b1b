"""The figure `neighbours`: how late alerts and invoices are while others block, flood and hang."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from bench.payments import chat_of, told
from bench.processes import NO_LIMITS, Server, product
from bench.stage import Telegram, post_form, telegram
from bench.table import Row, percentile
from bench.wallets import wallets
from bot.sandbox.world import people

if TYPE_CHECKING:
    from bot.sandbox.world.world import Call


LOCAL = "127.0.0.1"
SELLERS = 40
ROUNDS = 7
PAYMENTS = 220
"""In each round, in both manners; the first second's do not count."""

EVERY = 0.05
"""Seconds between two payments of all the sellers: evenly, as a probe has to be."""

SEED = 20
"""Of when neighbours are paid: at the same moments in both manners."""

WARM_UP = int(1 / EVERY)
NEIGHBOUR_EVERY = 0.5
"""Seconds between two payments of one neighbour, in the mean."""

FLOOD_EVERY = 0.05
"""Seconds between two messages of the neighbour who floods."""

SETTINGS = {
    **NO_LIMITS,
    "TELEGRAM_CHAT_RATE": "1/second",
    "WEBHOOK_ALLOW": LOCAL,
    "LOG_LEVEL": "error",
}
"""What one chat may get holds, so that the measure is the product's manners with each; what
all may get together is lifted, so that it isn't Telegram's. Nobody need read of the troubles."""

SETTLED_SECONDS = 3.0
"""Until the sellers' own messages have left their chats room again."""

LONGEST_WEBHOOK = 65_536
HANGING_REQUEST = {
    "product": {"name": "Told to nobody"},
    "instrumentCurrencyCode": "USD",
    "receivers": [{"sendAmount": 5, "destination": "hanging"}],
    "expirationType": "never",
}


async def neighbours() -> list[Row]:
    """Pay form posted to its alert's arrival at the Bot API server, beside both manners.

    Three neighbours are paid as often in both; only who misbehaves blocks, floods and hangs. The
    manners take turns, and the middle one of the rounds counts: machines have moods.
    """
    calm: list[list[float]] = []
    rough: list[list[float]] = []
    for number in range(ROUNDS):
        calm.append(await _lags(SEED + number, rough=False))
        rough.append(await _lags(SEED + number, rough=True))
    return await wallets() + [
        Row(
            f"alert beside neighbours who block, flood, hang, p{percent}",
            median(percentile(lags, percent) for lags in rough) * 1000,
            "ms",
            median(percentile(lags, percent) for lags in calm) * 1000,
            "beside the same neighbours, well-behaved",
            "≤ 1.2 ×",
        )
        for percent in (50, 99)
    ]


@dataclass(frozen=True, slots=True)
class Street:
    """The product with its sellers' pay pages, by chat; two of the sellers are neighbours.

    `rough` neighbours misbehave; `moments` gives when they are paid.
    """

    telegram: Telegram
    server: Server
    http: httpx.AsyncClient
    pages: dict[int, str]
    moments: Random
    rough: bool

    @property
    def sellers(self) -> list[int]:
        """Return the chats that are measured."""
        return list(self.pages)[2:]

    async def blocks(self) -> None:
        """Pay sellers who have blocked the bot."""
        chat = next(iter(self.pages))
        if self.rough:
            people.person(self.telegram.world, chat).block()
        await self._is_paid(self.pages[chat])

    async def floods(self) -> None:
        """Pay sellers who write to the bot without end."""
        chat = list(self.pages)[1]
        person = people.person(self.telegram.world, chat)

        async def say() -> None:
            person.send("/help")

        async with asyncio.TaskGroup() as both:
            both.create_task(self._is_paid(self.pages[chat]))
            if self.rough:
                both.create_task(_again_and_again(itertools.repeat(FLOOD_EVERY), say))

    async def hangs(self) -> None:
        """Pay for requests whose endpoint takes every webhook and never answers."""
        async with _endpoint(answers=not self.rough) as endpoint:
            await self._is_paid(await self._request_told_to(endpoint))

    async def _is_paid(self, page: str) -> None:
        pauses = _pauses(self.moments, NEIGHBOUR_EVERY)
        await _again_and_again(pauses, lambda: post_form(self.http, page))

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

            await _again_and_again(itertools.repeat(EVERY, PAYMENTS), begin)
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


async def _lags(seed: int, *, rough: bool) -> list[float]:
    async with telegram() as here, product(here.url, here.world.token, SETTINGS) as server:
        pages = await here.sellers(SELLERS + 2)
        async with httpx.AsyncClient(base_url=server.url) as http, asyncio.TaskGroup() as around:
            street = Street(here, server, http, pages, Random(seed), rough)
            neighbours = (street.blocks, street.floods, street.hangs)
            tasks = [around.create_task(neighbour()) for neighbour in neighbours]
            await asyncio.sleep(SETTLED_SECONDS)
            lags = await street.lags()
            for task in tasks:
                task.cancel()
    return lags


@asynccontextmanager
async def _endpoint(*, answers: bool) -> AsyncIterator[str]:
    """Take connections and what they bring, and answer or never do; the address."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while await reader.read(LONGEST_WEBHOOK):
                if answers:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(take, LOCAL, 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://{LOCAL}:{port}/hook"


def _pauses(moments: Random, mean: float) -> Iterator[float]:
    """Yield random seconds between events, so many on average."""
    own = Random(moments.random())
    while True:
        yield own.expovariate(1 / mean)


async def _again_and_again(pauses: Iterable[float], act: Callable[[], Awaitable[object]]) -> None:
    """Repeat an act, then wait, for each pause, by the clock of the loop."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    for pause in pauses:
        await act()
        due += pause
        await asyncio.sleep(due - loop.time())
