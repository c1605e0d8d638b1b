"""The outbox in tests: short words for putting, claiming and looking; workers and crashes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from structlog.testing import capture_logs

from bot.chat.model.queues import make_queues
from bot.core import exact_json
from bot.core.database.database import Database, Row, Transaction
from bot.core.net.rates import Rate
from bot.core.outbox import lanes, leases, outbox
from bot.core.outbox.claiming import next_claim
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import FAILURES, REPLY, Queue
from bot.core.outbox.worker import QueueHandler, Worker
from tests.support.product_process import until
from tests.support.service_harness import Clock

SELECT = "SELECT * FROM outbox WHERE queue = :queue ORDER BY priority, id"
SECOND = 1000
MESSAGES = replace(make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60)).messages, payloads=None)
"""The product's queue at Telegram's rates."""
ANN, BOB, GROUP = "7", "8", "-7"


@dataclass
class QueueHarness:
    """One queue on a database, at the time of a clock, with words instead of payloads."""

    db: Database
    queue: Queue
    clock: Clock

    def __post_init__(self) -> None:
        self.queue = replace(self.queue, payloads=None)

    def put(self, lane: str, *words: str, priority: int = REPLY, key: str | None = None) -> bool:
        """Put a message for each word; whether the last one was new."""
        return [self._put(lane, word, priority=priority, key=key) for word in words][-1]

    def put_later(self, lane: str, word: str, seconds: float) -> None:
        """Put a message that is to go so much later than now."""
        self._put(lane, word, due_at=self.clock() + int(seconds * 1000))

    def _put(self, lane: str, word: str, **how: Any) -> bool:
        body, now = {"word": word}, self.clock()
        return self.db.run(lambda tx: outbox.put(tx, self.queue, lane, body, now, **how))

    def claim(self, room: int = 100) -> list[Message]:
        return self.db.run(lambda tx: claim(tx, self.queue, self.clock(), room))

    def first(self) -> Message:
        (message,) = self.claim(1)
        return message

    def words(self, room: int = 100) -> list[str]:
        """Claim; the words of what came."""
        return [message.body["word"] for message in self.claim(room)]

    def done(self, *messages: Message) -> None:
        def work(tx: Transaction) -> None:
            for message in messages:
                outbox.done(tx, self.queue, message, self.clock())

        self.db.run(work)

    def retry(self, message: Message, seconds: float, note: str = "later") -> None:
        due_at = self.clock() + int(seconds * 1000)
        self.db.run(lambda tx: outbox.retry(tx, self.queue, message, due_at, note))

    def sweep(self) -> int:
        return self.db.run(lambda tx: lanes.sweep(tx, self.queue, self.clock()))

    def next_open(self) -> int | None:
        """Return the milliseconds until the next message may be claimed."""
        moment = self.db.run(lambda tx: next_claim(tx, self.queue, self.clock())).at
        return None if moment is None else moment - self.clock()

    def rows(self) -> list[Row]:
        return self.db.run(lambda tx: tx.query(SELECT, queue=self.queue.name))

    def states(self) -> dict[str, str]:
        """Return the state of each message by its word."""
        return {exact_json.loads(row["body"])["word"]: row["state"] for row in self.rows()}


def claim(tx: Transaction, queue: Queue, now: int, room: int) -> list[Message]:
    """Claim as a worker does, but without an owner: expired leases end first."""
    leases.release_expired(tx, queue, now)
    return outbox.claim(tx, queue, now, room)


def bodies(db: Database, queue: Queue) -> list[Any]:
    """Return the bodies in a queue, in order of putting."""
    rows = db.run(lambda tx: tx.query(SELECT, queue=queue.name))
    return [queue.decode(row["body"]) for row in sorted(rows, key=lambda row: str(row["id"]))]


async def handle_all(
    db: Database, queue: Queue, handle: Callable[[Message], Awaitable[None]], clock: Clock
) -> int:
    """Handle all that may go now, one after the other, as a worker does; how many."""
    handled = 0
    while found := await db.transaction(lambda tx: claim(tx, queue, clock(), 1)):
        await handle(found[0])
        handled += 1
    return handled


def sent_at(post: QueueHarness, most: int = 1000) -> list[int]:
    """Claim and settle until the queue is empty; return the ms from now of each message."""
    start = post.clock()
    times: list[int] = []
    while (wait := post.next_open()) is not None and len(times) < most:
        post.clock.at += max(wait, 0)
        claimed = post.claim(1)
        assert claimed, "next_open named a moment at which nothing may go"
        times += [post.clock() - start]
        post.done(*claimed)
    return times


SECONDS = 15.0
ATTEMPTS = len(FAILURES.delays) + 1
QUEUE = Queue("test", lease=60_000)


class RecordingHandler:
    """A handler that settles; it waits while `may_go` is cleared and fails `failures` times."""

    def __init__(self, post: QueueHarness) -> None:
        self.post = post
        self.taken: list[Message] = []
        self.news = asyncio.Condition()
        self.may_go = asyncio.Event()
        self.may_go.set()
        self.failures = 0
        self.failure: BaseException = LookupError("a bug")

    async def handle(self, message: Message) -> None:
        async with self.news:
            self.taken.append(message)
            self.news.notify_all()
        await self.may_go.wait()
        if self.failures:
            self.failures -= 1
            raise self.failure
        queue, now = self.post.queue, self.post.clock
        await self.post.db.transaction_until_stored(
            lambda tx: outbox.done(tx, queue, message, now())
        )

    async def took(self, number: int) -> list[str]:
        async with asyncio.timeout(SECONDS), self.news:
            await self.news.wait_for(lambda: len(self.taken) >= number)
        return self.words

    @property
    def words(self) -> list[str]:
        return [message.body["word"] for message in self.taken]


async def put(post: QueueHarness, lane: str, word: str) -> None:
    """Put a message as the product does: in a transaction whose commit wakes the worker."""
    body, now = {"word": word}, post.clock()
    await post.db.transaction(lambda tx: outbox.put(tx, post.queue, lane, body, now))


@asynccontextmanager
async def working(
    post: QueueHarness,
    handle: Callable[[Message], Awaitable[Awaitable[None] | None]],
    room: int = 8,
    **given: Any,
) -> AsyncIterator[Worker]:
    """Run a worker until the block ends; its loop must end too."""
    now = given.get("now", post.clock)
    queue_handler = QueueHandler(post.queue, handle, room, pause=given.get("pause", 0.0))
    made = Worker(post.db, queue_handler, now)
    task = asyncio.create_task(made.run())
    yield made
    await made.stop(SECONDS)
    async with asyncio.timeout(SECONDS):
        await task


async def ended(post: QueueHarness) -> None:
    """Wait until the queue holds nothing."""

    async def look() -> bool:
        return not await post.db.query("SELECT id FROM outbox")

    await until(look)


async def post_waits(post: QueueHarness, milliseconds: int) -> None:
    """Wait until the queue's next message is due in so long."""

    async def look() -> bool:
        return post.next_open() == milliseconds

    await until(look)


def crash(db: Database, queue: Queue, clock: Clock, times: int = 1) -> list[Message]:
    """Claim every message and end without an outcome, so often; return the last claim.

    Each time the clock goes on until they come again.
    """
    for _ in range(times):
        owner = leases.LOCAL.register()
        claimed = db.run(lambda tx: outbox.claim(tx, queue, clock(), 100, owner))  # noqa: B023 - run at once
        leases.LOCAL.unregister(owner)
        db.run(lambda tx: leases.recover(tx, queue, clock()))
        delays = [leases.CRASH_DELAYS.delay_or_last(one.crashes + 1) for one in claimed]
        clock.advance(max(delays, default=0) / 1000)
    return claimed


async def work(db: Database, queue_handler: QueueHandler, clock: Clock, word: str = "dead") -> None:
    """Run a worker until its queue's only message has this state."""
    worker = Worker(db, queue_handler, clock)
    running = asyncio.create_task(worker.run())
    sql = f"SELECT 1 FROM outbox WHERE queue = '{queue_handler.queue.name}' AND state = '{word}'"

    async def look() -> bool:
        return bool(await db.query(sql))

    with capture_logs():
        await until(look)
        await worker.stop(5)
        await running
