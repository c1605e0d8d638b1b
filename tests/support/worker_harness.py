"""A worker on one queue, and a handler that records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import FAILURES, Queue
from bot.core.outbox.worker import QueueHandler, Worker
from tests.support.outbox_queue import QueueHarness
from tests.support.product_process import until

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
