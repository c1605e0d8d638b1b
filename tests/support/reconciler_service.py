"""What the reconciler is tested with: a service whose requests are a seller's, a sleep, alerts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.chat.model.payloads import Alert, AlertPayment
from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.client import Client
from bot.chat.store import link_rows
from bot.chat.store.link_rows import LIVE, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.core.database.database import Transaction
from bot.core.database.vault import Vault
from bot.core.money import amounts
from bot.service.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import ChatHarness
from tests.support.databases import open_quick
from tests.support.service_harness import LOOPBACK, ServiceHarness, client, headers_of, make_service

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


EXPIRATION = {"donation": "never", "oneoff": "onPaymentCompleted", "drop": "limit"}


@dataclass
class ReconciledService:
    """A service, its requests, and the calls that it was `asked` over HTTP.

    `before` has what happens before an address that ends so is answered.
    """

    service: ServiceHarness
    chat: ChatHarness
    seller: Person
    client: Client
    asked: list[str] = field(default_factory=list)
    before: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    paid: int = 0

    async def add_link(self, spec: RequestSpec) -> PaymentLink:
        """Add a request of the seller and create it at the service."""
        link = self.chat.add_link(self.seller, spec)
        amount = amounts.from_minor(spec.amount, spec.currency)
        hook = {"webhookUrl": "http://127.0.0.1/x", "customParameters": {"listing": link.id}}
        answer = await self.client.create(
            {
                "product": {"name": spec.name},
                "instrumentCurrencyCode": spec.currency,
                "receivers": [{"sendAmount": amount, "destination": spec.destination}],
                "requestedUserData": ["email"],
                "notifications": {"webhook": hook},
                "expirationType": EXPIRATION[spec.kind],
                **({"totalUnits": spec.units} if spec.units else {}),
            },
            link.id,
        )

        def live(tx: Transaction) -> None:
            link_rows.set_answer(tx, link.id, answer)
            link_rows.set_state(tx, link.id, LIVE)

        self.chat.db.run(live)
        self.asked.clear()
        return self.chat.link(link.id)

    async def pay(self, link: PaymentLink, **data: str) -> str:
        """Pay a moment later; return the transaction, whose webhook is never delivered."""
        self.paid += 1
        self.chat.clock.at += 1
        given = {"email": "pat@example.org", **data}
        answer = await self.service.pay(str(link.request_id), f"{self.paid:032}", **given)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].rpartition("/")[2]

    async def record_webhook(self, link: PaymentLink, transaction: str) -> bool:
        """Record a payment as its webhook does; return whether it was new."""
        spec = link.spec
        payment = Payment(str(link.request_id), transaction, spec.amount, spec.currency, {})
        return await self.chat.record(link, payment, None)


@asynccontextmanager
async def open_reconciled_service(
    database_url: str, chat: ChatHarness, seller: Person
) -> AsyncIterator[ReconciledService]:
    """Serve the payment service on its own database, at the time of the chat."""
    db, vault = open_quick(database_url), Vault("key")
    keys = db.run(lambda tx: applications.create(tx, vault, "bot", chat.clock()))
    made = make_service(db, chat.clock, allow=LOOPBACK)
    app, context = create_app(made), made.payment_context

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await noted(scope)
        await app(scope, receive, send)

    async def noted(scope: Any) -> None:
        query = scope["query_string"].decode()
        market.asked.append(f"{scope['method']} {scope['path']}" + (f"?{query}" if query else ""))
        for end, act in market.before.items():
            if scope["path"].endswith(end):
                await act()

    async with (
        serve_asgi(watched) as root,
        client(app, headers_of(keys)) as owner,
        client(app) as anyone,
    ):
        caller = Client(root, keys.app_id, keys.app_secret)
        service = ServiceHarness(db, chat.clock, vault, keys, owner, anyone, context)
        market = ReconciledService(service, chat, seller, caller)
        yield market
        await caller.close()
    db.close()


class RecordedSleep:
    """A sleep that ends at once; `seconds` are its durations, `most` is their greatest number."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.most = 1000

    async def __call__(self, seconds: float) -> None:
        if len(self.seconds) == self.most:
            raise asyncio.CancelledError
        self.seconds.append(seconds)


def alerts(chat: ChatHarness) -> list[AlertPayment]:
    """Return the payments in the alerts, in order."""
    return [payment for body in chat.said if isinstance(body, Alert) for payment in body.payments]
