"""Checkouts of one request: their money, units and webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.core.outbox import outbox
from bot.core.outbox.worker import QueueHandler
from bot.interface.vocabulary import LIGHTNING
from bot.service.checkouts import checkout_rows, paying
from bot.service.checkouts.checkout import Checkout
from bot.service.checkouts.paying import PaymentForm
from bot.service.checkouts.wallet_calls import OpeningHandler, PaymentPoller
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.payments.payment_reports import WebhookReport
from bot.service.rails.rail import PollAnswer
from tests.support.real_rails import EUROS, ScriptedRail
from tests.support.service_harness import ServiceHarness
from tests.support.webhook_delivery import handle

if TYPE_CHECKING:
    import httpx


RESERVATION = 60
ONE: dict[str, Any] = {"expirationType": "limit", "totalUnits": 1}
HOOK = {"notifications": {"webhook": {"webhookUrl": "https://h.example/w"}}}


async def hear(service: ServiceHarness) -> int:
    """Poll for all money that is due by now; return the number of polls."""
    return await perform(
        service, PaymentPoller(service.db, service.context, service.clock).queue_handler
    )


async def polled(service: ServiceHarness, wallet: ScriptedRail, *answers: PollAnswer) -> int:
    """Have the wallet answer the polls that are due in five seconds; return their number."""
    wallet.polls = [*answers]
    service.clock.advance(5)
    return await hear(service)


async def open_due(service: ServiceHarness) -> int:
    """Ask the wallets for all invoices that are due by now; return how many."""
    return await perform(
        service, OpeningHandler(service.db, service.context, service.clock).queue_handler
    )


async def perform(service: ServiceHarness, queue_handler: QueueHandler) -> int:
    """Handle all messages of a queue that are due by now; return how many."""
    messages = await service.db.transaction(
        lambda tx: outbox.claim(tx, queue_handler.queue, service.clock(), 100)
    )
    for message in messages:
        await handle(queue_handler, message)
    return len(messages)


async def begin(
    service: ServiceHarness,
    request_id: str,
    way: str | None = LIGHTNING,
    token: str = "a" * 32,
    **form: Any,
) -> str:
    """Post a form with fields of PaymentForm; return the id of its checkout."""
    order = PaymentForm(request_id, token, way=way, **{"user_data": {}} | form)
    progress = await service.db.transaction(
        lambda tx: paying.pay(tx, service.context, order, service.clock())
    )
    return progress.checkout_id


async def begun(service: ServiceHarness, way: str = LIGHTNING, **fields: Any) -> Checkout:
    """Return the checkout of a new request to Anna, opened."""
    made = await service.create(**EUROS, **fields)
    checkout_id = await begin(service, made["id"], way)
    await open_due(service)
    return await found(service, checkout_id)


async def found(service: ServiceHarness, checkout_id: str) -> Checkout:
    it = await service.db.read(lambda tx: checkout_rows.find(tx, checkout_id))
    assert it is not None
    return it


async def state_of(service: ServiceHarness, checkout_id: str) -> str:
    return (await found(service, checkout_id)).state(service.clock()).value


async def units(service: ServiceHarness) -> tuple[int, int, int, int]:
    """Return the only request's remaining, reserved, paid and oversold units."""
    (row,) = await service.rows("payment_requests")
    return (
        row["remaining_units"], row["reserved_units"], row["paid_count"], row["oversold_count"],
    )  # fmt: skip


async def settled(service: ServiceHarness) -> list[tuple[str, str, int]]:
    """Return the external id, state and instrument amount of each payment."""
    rows = await service.db.query("SELECT * FROM payments ORDER BY completed_at, id")
    return [(row["external_id"], row["state"], row["instrument_amount"]) for row in rows]


async def reports(service: ServiceHarness) -> list[WebhookReport]:
    rows = await service.db.query("SELECT body FROM outbox WHERE queue = 'webhooks' ORDER BY id")
    return [WEBHOOKS.decode(row["body"]) for row in rows]


async def look(service: ServiceHarness, answer: httpx.Response) -> httpx.Response:
    """Follow the redirect to the payer's checkout."""
    assert answer.status_code == 303, answer.text
    assert "/checkout/" in answer.headers["location"]
    return await service.anyone.get(answer.headers["location"])
