"""A Bot API server as a process, with Telegram's limits; it takes commands over pipes.

Started by `remote.started`: a line of JSON in is a command, a line out its result.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from bench.payments import chat_of, told
from bench.stage import KEEP_ALIVE_SECONDS, OFFER, pay_link
from bot.sandbox.web.mailbox import Mailbox
from bot.sandbox.web.server import create_app
from bot.sandbox.world import people
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.people import Person
from bot.sandbox.world.world import World
from tests.floods import guided_request
from tests.support.sellers_and_payers import Seller

PATIENCE = 60.0
LONGEST_LINE = 2**20
FOREVER = 10**9


class TelegramWorld:
    """The people at this Telegram. Each public method is a command; all answer with JSON."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sellers: list[Person] = []
        self.crowd: list[Person] = []
        self.floods: list[asyncio.Task[None]] = []

    async def open_shops(self, number: int) -> dict[int, str]:
        """Create a donation for each of so many sellers; return pay page paths by chat."""
        self.sellers = [self._join(f"Seller {n}") for n in range(number)]
        return {person.id: await self._offer(person, OFFER) for person in self.sellers}

    async def offer(self, words: str) -> str:
        """Create a request by one more person, in one line; return its pay page's path."""
        return await self._offer(self._join("Another seller"), words)

    async def guided(self, email: str | None = None) -> str:
        """Create a request by one more person, step by step; return its pay page's path.

        It has a picture, or an email address that is told of payments.
        """
        person = self._join("A careful seller")
        await self._offer(person, OFFER)
        return await guided_request.request(Seller(person), email)

    async def invite(self, number: int, groups: int = 0) -> None:
        """Add people who have started the bot, and groups of the first of them with it."""
        self.crowd = [self._join(f"Guest {n}") for n in range(number)]
        for n in range(groups):
            self.crowd[0].new_group(f"Group {n}")

    async def chatty(self, every: float) -> None:
        """Start sending /help from each of those people, once in so many seconds."""
        for place, person in enumerate(self.crowd):
            self._begin(self._say(person, None, every, place / len(self.crowd)))

    async def groups(self, every: float) -> None:
        """Start sending /help to each of the groups, once in so many seconds."""
        person = self.crowd[0]
        rooms = [chat for chat in self.world.chats.values() if chat.is_group]
        for place, room in enumerate(rooms):
            self._begin(self._say(person, room, every, place / len(rooms)))

    async def inline(self, rate: float, accounts: int, answer_seconds: float) -> None:
        """Start searching from accounts in turn; each answer of the bot takes time."""
        slow = Fault("delay", "answerInlineQuery", times=FOREVER, seconds=answer_seconds)
        self.world.faults.add(slow)
        everybody = [*self.sellers, *self.crowd][:accounts]
        numbers = itertools.count()

        def search() -> None:
            number = next(numbers)
            everybody[number % len(everybody)].ask_inline(f"coffee {number}")

        self._begin(_steadily(search, 1 / rate))

    async def calm(self) -> None:
        """End every flood."""
        self.world.faults.clear()
        for flood in self.floods:
            flood.cancel()
        await asyncio.gather(*self.floods, return_exceptions=True)
        self.floods = []

    async def quiet(self, seconds: float) -> None:
        """Wait until the bot has not called for so long."""
        since, seen = time.time(), -1
        async with asyncio.timeout(PATIENCE * 5):
            while seen != len(self.world.calls) or time.time() < since + seconds:
                if seen != len(self.world.calls):
                    since, seen = time.time(), len(self.world.calls)
                await asyncio.sleep(seconds / 10)

    async def alerts(self, after: int) -> list[Any]:
        """Return how many calls there were, and chat, time, payments of each alert among them."""
        calls = self.world.calls
        found = [[chat_of(one), one.time, told(one)] for one in calls[after:] if told(one)]
        return [len(calls), found]

    async def counts(self) -> dict[str, int]:
        """Return how many calls were taken, refused by Telegram's limits, and letters came."""
        methods = Counter(call.method for call in self.world.calls)
        refused = sum(call.code == 429 for call in self.world.refused)
        return {**methods, "refused": refused, "letters": self.world.mails.count}

    def _join(self, name: str) -> Person:
        return people.join(self.world, name, started=True)

    async def _offer(self, person: Person, words: str) -> str:
        """Create a request; the first one asks where the money goes."""
        before = len(_pictures(person))
        person.send(words)
        await self.world.wait_for(person.chat.from_bot, PATIENCE)
        if not before:
            person.send(f"$seller{person.id}")
        await self.world.wait_for(lambda: len(_pictures(person)) > before, PATIENCE)
        return urlsplit(pay_link(person)).path

    async def _say(self, person: Person, room: Any, every: float, phase: float) -> None:
        await asyncio.sleep(phase * every)
        await _steadily(lambda: person.send("/help", room), every)

    def _begin(self, flood: Awaitable[None]) -> None:
        self.floods.append(asyncio.ensure_future(flood))


def _pictures(person: Person) -> list[Any]:
    return [message for message in person.chat.from_bot() if message.photo]


async def _steadily(act: Callable[[], object], every: float) -> None:
    """Repeat an act at a steady rate, and catch up on what was missed."""
    due = time.monotonic()
    while True:
        act()
        due += every
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def main() -> None:
    """Serve the world, say where, and obey until the pipe is closed."""
    world, listener = World(), socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        create_app(world), log_level="warning", timeout_keep_alive=KEEP_ALIVE_SECONDS
    )
    mailbox, server = Mailbox(world), uvicorn.Server(config)
    mailbox.open()
    serving = asyncio.create_task(server.serve([listener]))
    town = TelegramWorld(world)
    _write({"port": listener.getsockname()[1], "token": world.token, "smtp": mailbox.url})
    await _obey(town)
    await town.calm()
    await mailbox.close()
    await world.close()
    server.should_exit = True
    await serving


async def _obey(town: TelegramWorld) -> None:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        try:
            _write({"result": await getattr(town, command.pop("name"))(**command)})
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            _write({"error": repr(error)})


def _write(answer: dict[str, Any]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main())
