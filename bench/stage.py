"""A Bot API server in this process, with sellers and the product on it."""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import uvicorn
from telegram import Bot

from bench.processes import NO_LIMITS, Server, product
from bot.sandbox.web.server import create_app
from bot.sandbox.world import errors, people
from bot.sandbox.world.people import Person
from bot.sandbox.world.world import Call, World

PAY_LINK = re.compile(r"http\S+/pay/\w+")
TOKEN = re.compile(r'name="token" value="([^"]+)"')
PRICE = 5
OFFER = f"/donation {PRICE} USD Coffee for the team"
MANY_SECONDS = 300.0
KEEP_ALIVE_SECONDS = 75
"""As Telegram's own server does: one that hangs up sooner than its clients loses answers."""


@dataclass(frozen=True, slots=True)
class Telegram:
    """A Bot API server under way; times of its calls are in epoch seconds, as `time.time`."""

    world: World
    url: str

    async def arrival(self, method: str, after: int) -> Call:
        """Wait for the first accepted call of `method` behind the first `after` calls."""
        calls = self.world.calls
        found = await self.world.wait_for(
            lambda: next((call for call in calls[after:] if call.method == method), None)
        )
        assert found is not None
        return found

    async def count(
        self, wanted: int, weigh: Callable[[Call], int], seconds: float = MANY_SECONDS
    ) -> None:
        """Wait until all accepted calls together weigh `wanted`; each is weighed once."""
        calls, weighed, total = self.world.calls, 0, 0

        def enough() -> bool:
            nonlocal weighed, total
            total += sum(map(weigh, calls[weighed:]))
            weighed = len(calls)
            return total >= wanted

        await self.world.wait_for(enough, seconds)

    async def bare_call(self, bot: Bot, chat_id: int) -> float:
        """Return the seconds from one call of python-telegram-bot to its arrival here."""
        after, began = len(self.world.calls), time.time()
        await bot.send_message(chat_id=chat_id, text="A yardstick")
        return (await self.arrival("sendMessage", after)).time - began

    async def sellers(self, number: int) -> dict[int, str]:
        """Create a donation of each of so many people; return the paths of their pages by chat.

        Asked for all at once, so the limits have to be lifted.
        """
        crowd = [people.join(self.world, f"Seller {n}", started=True) for n in range(number)]
        for person in crowd:
            person.send(OFFER)
        await self.count(number, weight_of("sendMessage"))
        for person in crowd:
            person.send(f"$seller{person.id}")
        await self.count(number, weight_of("sendPhoto"))
        return {person.id: urlsplit(pay_link(person)).path for person in crowd}


@dataclass(frozen=True, slots=True)
class Stage:
    """The product at work with one seller, who has said where money goes."""

    telegram: Telegram
    server: Server
    seller: Person
    bot: Bot

    async def create(self) -> tuple[str, float]:
        """Create a donation in one line; return its pay link, and the seconds to its picture."""
        calls = self.telegram.world.calls
        after, began = len(calls), time.time()
        self.seller.send(OFFER)
        call = await self.telegram.arrival("sendPhoto", after)
        await self.telegram.world.bot_message(self.seller.chat, "Coffee for the team")
        return pay_link(self.seller), call.time - began

    async def pay(self, http: httpx.AsyncClient, link: str) -> float:
        """Pay as a browser would; seconds from the answer to the alert at the Bot API server."""
        found = TOKEN.search((await http.get(link)).text)
        after = len(self.telegram.world.calls)
        await post_form(http, link, found[1] if found else "")
        answered = time.time()
        return (await self.telegram.arrival("sendMessage", after)).time - answered


async def post_form(http: httpx.AsyncClient, link: str, token: str | None = None) -> None:
    """Post the form of a pay page, with a new token unless one is given."""
    answer = await http.post(link, data={"token": token or secrets.token_hex(16)})
    if answer.status_code != httpx.codes.SEE_OTHER:
        raise RuntimeError(f"not paid: {answer.status_code}")


def pay_link(seller: Person) -> str:
    """Return the newest pay link that the bot wrote to this seller."""
    texts = (str(message.json()) for message in reversed(list(seller.chat.from_bot())))
    return next(found[0] for text in texts if (found := PAY_LINK.search(text)))


def weight_of(method: str) -> Callable[[Call], int]:
    """Count a call of `method` as one and every other as nothing."""
    return lambda call: call.method == method


@asynccontextmanager
async def telegram() -> AsyncIterator[Telegram]:
    """Serve the sandbox for as long as the block lasts, its limits lifted."""
    world, listener = World(limits=errors.NO_LIMITS), socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        create_app(world), log_level="warning", timeout_keep_alive=KEEP_ALIVE_SECONDS
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield Telegram(world, f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        await world.close()
        server.should_exit = True
        await serving


@asynccontextmanager
async def stage(settings: Mapping[str, str] = NO_LIMITS) -> AsyncIterator[Stage]:
    """Set the stage, with the seller's first request made."""
    async with telegram() as here:
        seller = people.join(here.world, "Sam", started=True)
        bot = Bot(here.world.token, base_url=f"{here.url}/bot")
        async with product(here.url, here.world.token, settings) as server, bot:
            seller.send("/donation 5 USD Warm-up")
            await here.world.bot_message(seller.chat, "Where should the money go")
            seller.send("$sam")
            await here.arrival("sendPhoto", 0)
            yield Stage(here, server, seller, bot)
