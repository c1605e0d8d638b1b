"""A Bot API server in this process, its limits lifted, with a seller and the product on it."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import uvicorn
from telegram import Bot

from bench.processes import product
from bot.sandbox import people
from bot.sandbox.limits import NO_LIMITS
from bot.sandbox.server import create_app
from bot.sandbox.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.processes import Server
    from bot.sandbox.people import Person
    from bot.sandbox.world import Call

PAY_LINK = re.compile(r"http\S+/pay/\w+")
TOKEN = re.compile(r'name="token" value="([^"]+)"')


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

    async def bare_call(self, bot: Bot, chat_id: int) -> float:
        """Give the seconds from one call of python-telegram-bot to its arrival here."""
        after, began = len(self.world.calls), time.time()
        await bot.send_message(chat_id=chat_id, text="A yardstick")
        return (await self.arrival("sendMessage", after)).time - began


@dataclass(frozen=True, slots=True)
class Stage:
    """The product at work with one seller, who has said where money goes."""

    telegram: Telegram
    server: Server
    seller: Person
    bot: Bot

    async def create(self) -> tuple[str, float]:
        """Let the seller make a donation in one line; its pay link, and seconds to its picture."""
        calls = self.telegram.world.calls
        after, began = len(calls), time.time()
        self.seller.send("/donation 5 USD Coffee for the team")
        call = await self.telegram.arrival("sendPhoto", after)
        message = await self.telegram.world.bot_message(self.seller.chat, "Coffee for the team")
        return PAY_LINK.findall(str(message.json()))[0], call.time - began

    async def pay(self, http: httpx.AsyncClient, link: str) -> float:
        """Pay as a browser would; seconds from the answer to the alert at the Bot API server."""
        found = TOKEN.search((await http.get(link)).text)
        after = len(self.telegram.world.calls)
        answer = await http.post(link, data={"token": found[1] if found else ""})
        answered = time.time()
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise RuntimeError(f"not paid: {answer.status_code}")
        return (await self.telegram.arrival("sendMessage", after)).time - answered


@asynccontextmanager
async def telegram() -> AsyncIterator[Telegram]:
    """Serve the sandbox for as long as the block lasts."""
    world, listener = World(limits=NO_LIMITS), socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(world), log_level="warning"))
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield Telegram(world, f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        await world.close()
        server.should_exit = True
        await serving


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    """Set the stage, with the seller's first request made."""
    async with telegram() as here:
        seller = people.join(here.world, "Sam", started=True)
        bot = Bot(here.world.token, base_url=f"{here.url}/bot")
        async with product(here.url, here.world.token) as server, bot:
            seller.send("/donation 5 USD Warm-up")
            await here.world.bot_message(seller.chat, "Where should the money go")
            seller.send("$sam")
            await here.arrival("sendPhoto", 0)
            yield Stage(here, server, seller, bot)
