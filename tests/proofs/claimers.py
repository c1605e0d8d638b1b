"""`race`: claimers of one outbox claim each message once, but not without the lanes' locks.

`python -m tests.proofs.claimers` is a claimer: a process that puts, claims and settles messages of
a queue. Its order is a line of JSON on standard input. It writes a line when it has put its
messages. When standard input is closed it ends, and writes what it has claimed, as JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

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
from tests.proofs import clusters, processes, proof
from tests.support.postgres_server import PostgresServer

LANES = tuple(f"lane-{n}" for n in range(40))
ROOM = 8
AT_ONCE = 4
"""Claims and puts under way at once: as many as there are connections that write."""

IDLE_SECONDS = 0.02
END_SECONDS = 10.0
PUT_SECONDS = 300.0
STUCK_SECONDS = 3.0
"""Seconds without any progress after which what is left is stuck."""

LOOK_SECONDS = 0.1
PROGRESS = "SELECT COUNT(*), MAX(id), SUM(attempts) FROM outbox"


async def race(size: proof.Size) -> proof.Figures:
    """Let claimers put and claim at the same time, with the lanes' locks and without."""
    figures = proof.Figures()
    with PostgresServer() as server:
        began = time.monotonic()
        safe = await _race(server, size, locked=True)
        seconds = time.monotonic() - began
        figures.note("messages", safe.messages)
        figures.note("seconds, starts included", seconds)
        figures.hold("claimed twice", safe.twice, 0)
        figures.hold("stuck", safe.stuck, 0)
        figures.at_least("least that a claimer claimed", min(map(len, safe.words)), 1)
        unsafe = await _race(server, size, locked=False)
        figures.note("without locks: claimed twice", unsafe.twice)
        figures.note("without locks: stuck", unsafe.stuck)
        figures.at_least("without locks: twice or stuck", unsafe.twice + unsafe.stuck, 1)
    return figures


async def _race(server: PostgresServer, size: proof.Size, *, locked: bool) -> Claimed:
    url = server.clone("locked" if locked else "unlocked")
    open_database(url, writing=True).close()
    share = size.payments // size.replicas
    orders = [
        Order(f"claimer-{n}", url, share, LANES, size.seed + n, locked=locked)
        for n in range(size.replicas)
    ]
    return await claimed(orders)


@dataclass(frozen=True, slots=True)
class Order:
    """What a claimer does: it puts so many messages in `lanes`, and claims whatever there is."""

    name: str
    database: str
    messages: int
    lanes: tuple[str, ...]
    seed: int = 18
    locked: bool = True
    """Without locks it claims as if nobody else did."""

    skew: int = 0
    """Milliseconds by which its clock is wrong."""

    telegram: str = ""
    """The address of a method: then the queue is that of messages, with Telegram's limits, and each
    message is sent to the chat that its lane names."""

    def queue(self) -> Queue:
        """Return the queue that all claimers share."""
        queue = Queue("race", lease=60_000)
        if self.telegram:
            limited = make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60)).messages
            queue = dataclasses.replace(limited, payloads=None)
        # Who claims alone in a slice takes no locks: that is what is tried without it.
        return dataclasses.replace(queue, write_scope=None if self.locked else "chat")


@dataclass(frozen=True, slots=True)
class Claimed:
    """The words that each claimer has claimed, and how many messages nobody could claim."""

    words: list[list[str]]
    stuck: int

    @property
    def messages(self) -> int:
        return len(self._times())

    @property
    def twice(self) -> int:
        return sum(times > 1 for times in self._times().values())

    def _times(self) -> Counter[str]:
        return Counter(word for words in self.words for word in words)


async def claimed(orders: Sequence[Order]) -> Claimed:
    """Run claimers until all that they put has been claimed, or nothing moves any more."""
    async with AsyncExitStack() as stack:
        claimers = []
        for order in orders:
            claimers.append(await stack.enter_async_context(processes.helper("claimers")))
            claimers[-1].tell(dataclasses.asdict(order))
        async with asyncio.timeout(PUT_SECONDS):
            await asyncio.gather(*(claimer.line() for claimer in claimers))
        stuck = await _until_done(orders[0].database)
        for claimer in claimers:
            claimer.close()
        return Claimed([await claimer.line() for claimer in claimers], stuck)


async def _until_done(database: str) -> int:
    """Wait until the queue has been worked off, or stands still; return what is left."""
    seen, since = [(-1, None, None)], time.monotonic()
    while seen[0][0] and time.monotonic() < since + STUCK_SECONDS:
        now = await asyncio.to_thread(clusters.rows, database, PROGRESS)
        if now != seen:
            seen, since = now, time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)
    return int(seen[0][0])


@dataclass(slots=True)
class Claimer:
    """The loops of the process of a claimer."""

    order: Order
    db: Database
    http: httpx.AsyncClient
    claimed: list[str] = field(default_factory=list)
    """The words of the messages, in order."""

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
            processes.answer("put")

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


async def main() -> None:
    """Obey, until there is nothing more on standard input; then write what was claimed."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    told = await processes.orders()
    given = json.loads(await told.readline())
    order = Order(**{**given, "lanes": tuple(given["lanes"])})
    db = open_database(order.database, writing=True)
    async with httpx.AsyncClient(trust_env=False, timeout=END_SECONDS) as http:
        claimer = Claimer(order, db, http)
        running = asyncio.create_task(claimer.run())
        ended = asyncio.create_task(told.read())
        await asyncio.wait({running, ended}, return_when=asyncio.FIRST_COMPLETED)
        claimer.ending.set()
        async with asyncio.timeout(END_SECONDS):
            await running
    db.close()
    processes.answer(claimer.claimed)


if __name__ == "__main__":
    asyncio.run(main())
