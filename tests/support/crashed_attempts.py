"""Attempts that end with their process."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from bot.core.database.database import Database
from bot.core.outbox import leases, outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.queue_policy import Queue
from bot.core.outbox.worker import QueueHandler, Worker
from tests.support.product_process import until
from tests.support.service_harness import Clock


def crash(db: Database, queue: Queue, clock: Clock, times: int = 1) -> list[Message]:
    """Claim every message and end without an outcome, so often; return the last claim."""
    for _ in range(times):
        owner = leases.LOCAL.register()
        claimed = db.run(lambda tx: outbox.claim(tx, queue, clock(), 100, owner))  # noqa: B023 - run at once
        leases.LOCAL.unregister(owner)
        db.run(lambda tx: leases.recover(tx, queue, clock()))
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
