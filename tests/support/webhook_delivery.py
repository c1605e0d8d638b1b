"""Webhooks in tests: owed by a real payment, delivered by the real notifier."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bot.core import exact_json
from bot.core.database.database import Row
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import QueueHandler, Worker
from bot.service.notifications.webhooks import WebhookSender
from bot.service.requests.request_commands import INTERNAL_HOST
from tests.support.http_peers import Receiver
from tests.support.service_harness import DROP, ServiceHarness

SECONDS = 10.0
"""Seconds that a webhook may take to arrive on a busy machine.

Fewer than TIMEOUT of the notifier, after which one that hangs makes room for others.
"""


async def pay_with_webhook(service: ServiceHarness, url: str, **fields: Any) -> str:
    """Pay a request whose webhook goes to `url`; the request's id."""
    webhook = {"webhookUrl": url, "customParameters": {"listing": "a", "price": 1.25}}
    made = await service.create(**(DROP | fields), notifications={"webhook": webhook})
    assert (await service.pay(made["id"])).status_code == 303
    return str(made["id"])


async def owe_many(service: ServiceHarness, url: str, count: int) -> None:
    """Pay one request so many times whose webhook goes to `url`."""
    hook = {"webhook": {"webhookUrl": url}}
    made = await service.create(expirationType="never", notifications=hook)
    for number in range(count):
        assert (await service.pay(made["id"], f"{number:032d}")).status_code == 303


async def owe_each(service: ServiceHarness, url: str, count: int) -> None:
    """Pay so many requests once whose webhook goes to `url`."""
    for _ in range(count):
        await owe_many(service, url, 1)


async def handle(queue_handler: QueueHandler, message: Message) -> None:
    """Handle a message as a worker does, until its outcome is stored."""
    if stored := await queue_handler.handle(message):
        await stored


async def attempt(service: ServiceHarness, queue_handler: QueueHandler) -> Row:
    """Make the attempts that are due now; the one message of the outbox after them."""
    claimed = await service.db.transaction(
        lambda tx: outbox.claim(tx, queue_handler.queue, service.clock(), queue_handler.concurrency)
    )
    assert claimed
    for message in claimed:
        await handle(queue_handler, message)
    (row,) = [
        row for row in await service.rows("outbox") if row["queue"] == queue_handler.queue.name
    ]
    return row


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An application's endpoint, and the sender of its service's webhooks."""

    service: ServiceHarness
    notifier: WebhookSender
    receiver: Receiver

    async def owe(self) -> str:
        """Pay a request whose webhook goes to the endpoint; the request's id."""
        return await pay_with_webhook(self.service, self.receiver.url)

    async def attempt(self) -> Row:
        """Make the attempts that are due now; the one message of the outbox after them."""
        return await attempt(self.service, self.notifier.queue_handler)

    async def deliver(self, *answers: bytes) -> Row:
        """Owe a webhook, and make its first attempt; the endpoint gives these answers in turn."""
        self.receiver.answers = [*answers]
        await self.owe()
        return await self.attempt()


@asynccontextmanager
async def working(
    service: ServiceHarness, queue_handler: QueueHandler, *silent: Receiver
) -> AsyncIterator[None]:
    """Run a worker until the block ends; then the silent receivers answer."""
    worker = Worker(service.db, queue_handler, service.clock)
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        for receiver in silent:
            receiver.release.set()
        await worker.stop(SECONDS)
        await running


async def request_with_own_webhook(
    service: ServiceHarness, host: str = INTERNAL_HOST, **fields: Any
) -> str:
    """Make a request whose webhook goes to the bot's own receiver; its id."""
    hook = {"webhookUrl": "https://h.example/w"}
    made = await service.create(**fields, notifications={"webhook": hook})
    url = f"http://{host}/w"
    service.db.run(
        lambda tx: tx.execute(
            "UPDATE payment_requests SET webhook_url = :url WHERE id = :id", url=url, id=made["id"]
        )
    )
    return str(made["id"])


async def arrived(receiver: Receiver, number: int) -> list[Any]:
    """Wait for so many webhooks; their bodies as they came."""
    async with asyncio.timeout(SECONDS):
        await receiver.count(number)
    return [exact_json.loads(one.body) for one in receiver.received]
