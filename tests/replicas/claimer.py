"""`python -m tests.replicas.claimer`: a process that puts, claims and settles messages of a queue.

Its order is a line of JSON on standard input. It writes a line when it has put its messages. When
standard input is closed it ends, and writes what it has claimed, as JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import structlog

from bot.chat.model.queues import make_queues
from bot.core import clock
from bot.core.database.database import Database
from bot.core.database.opening import open_database
from bot.core.net.rates import Rate
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import Queue

ROOM = 8
AT_ONCE = 4
"""Claims and puts under way at once: as many as there are connections that write."""

IDLE_SECONDS = 0.02
END_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Order:
    """What a claimer does: it puts so many messages in `lanes`, and claims whatever there is.

    With `locked` off it claims as if nobody else did. Its clock is wrong by `skew` ms. With
    `telegram`, the address of a method, the queue is that of messages with Telegram's limits, and
    each message is sent to the chat that its lane names.
    """

    name: str
    database: str
    messages: int
    lanes: tuple[str, ...]
    seed: int = 18
    locked: bool = True
    skew: int = 0
    telegram: str = ""

    def queue(self) -> Queue:
        """Return the queue that all claimers share."""
        queue = Queue("race", lease=60_000)
        if self.telegram:
            limited = make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60)).messages
            queue = dataclasses.replace(limited, payloads=None)
        # Who claims alone in a slice takes no locks: that is what is tried without it.
        return dataclasses.replace(queue, write_scope=None if self.locked else "chat")


@dataclass(slots=True)
class Claimer:
    """The loops of this process; `claimed` are the words of the messages, in order."""

    order: Order
    db: Database
    http: httpx.AsyncClient
    claimed: list[str] = field(default_factory=list)
    ending: asyncio.Event = field(default_factory=asyncio.Event)

    def now(self) -> int:
        return clock.now() + self.order.skew

    async def run(self) -> None:
        """Put and claim until the order ends."""
        shares = [range(n, self.order.messages, AT_ONCE) for n in range(AT_ONCE)]
        async with asyncio.TaskGroup() as loops:
            for _ in range(AT_ONCE):
                loops.create_task(self._claim())
            await asyncio.gather(*map(self._put, shares))
            _write("put")

    async def _put(self, numbers: range) -> None:
        dice, queue = random.Random(self.order.seed + numbers.start), self.order.queue()
        for number in numbers:
            lane, body = dice.choice(self.order.lanes), {"word": f"{self.order.name}-{number}"}
            await self.db.transaction_until_stored(
                lambda tx, lane=lane, body=body: outbox.put(tx, queue, lane, body, self.now())  # type: ignore[misc]
            )

    async def _claim(self) -> None:
        queue = self.order.queue()
        while not self.ending.is_set():
            messages = await self.db.transaction_until_stored(
                lambda tx: outbox.claim(tx, queue, self.now(), ROOM, self.order.name)
            )
            await asyncio.gather(*(self._handle(queue, message) for message in messages))
            if not messages:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.ending.wait(), IDLE_SECONDS)

    async def _handle(self, queue: Queue, message: Message) -> None:
        self.claimed.append(message.body["word"])
        if self.order.telegram:
            text = {"chat_id": message.lane, "text": message.body["word"]}
            await self.http.post(self.order.telegram, json=text)
        await self.db.transaction_until_stored(
            lambda tx: outbox.done(tx, queue, message, self.now())
        )


def read(line: str) -> Order:
    """Return an order as it was written."""
    given: Mapping[str, Any] = json.loads(line)
    return Order(**{**given, "lanes": tuple(given["lanes"])})


async def main() -> None:
    """Obey, until there is nothing more on standard input; then write what was claimed."""
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    order = read((await reader.readline()).decode())
    db = open_database(order.database, writing=True)
    async with httpx.AsyncClient(trust_env=False, timeout=END_SECONDS) as http:
        claimer = Claimer(order, db, http)
        running = asyncio.create_task(claimer.run())
        ended = asyncio.create_task(reader.read())
        await asyncio.wait({running, ended}, return_when=asyncio.FIRST_COMPLETED)
        claimer.ending.set()
        async with asyncio.timeout(END_SECONDS):
            await running
    db.close()
    _write(claimer.claimed)


def _write(told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
