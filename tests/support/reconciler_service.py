"""What the reconciler is tested with: a seller's requests at a service, goods, bare lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bot.chat.model.payloads import Alert, AlertPayment
from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import Reconciler
from bot.chat.store import link_rows
from bot.chat.store.link_rows import LIVE, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.chat.telegram.downloads import Downloads, FileIntake, FileRoute
from bot.core import exact_json
from bot.core.database.database import Transaction
from bot.core.database.vault import Vault
from bot.core.money import amounts
from bot.sandbox.world.people import Person
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import REQUEST_ID, URL, ChatHarness, telegram_of
from tests.support.databases import open_quick
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.outbox_queue import handle_all
from tests.support.request_jobs import RequestJobs
from tests.support.service_harness import LOOPBACK, ServiceHarness, client, headers_of, make_service


def item(link: PaymentLink, request_id: str = REQUEST_ID, **fields: Any) -> dict[str, Any]:
    """Build a listed request with these fields."""
    of = {"webhook": {"customParameters": {"listing": link.id}}}
    return {"id": request_id, "paymentRequestUrl": URL, "notifications": of, **fields}


def units(left: int) -> dict[str, Any]:
    return {"totalUnits": 5, "remainingUnits": left}


async def looks(
    chat: ChatHarness, looking: Reconciler, peer: ScriptedServer, *items: dict[str, Any]
) -> int:
    """Compare with a server that has these requests, a minute after the comparison before."""
    chat.clock.advance(61)
    await peer.add_answers(http_response(200, {"items": list(items)}))
    return await looking.compare()


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


@dataclass
class GoodsShop:
    """A seller's requests, and what their buyers get."""

    chat: ChatHarness
    sam: Person
    market: ReconciledService
    files: FileIntake
    jobs: RequestJobs

    async def begin(self, spec: RequestSpec) -> PaymentLink:
        """Create a request, and ask for its goods."""
        link = await self.market.add_link(spec)
        self.chat.clear_messages()
        await self.ask(link)
        return link

    async def ask(self, link: PaymentLink) -> None:
        await self.chat.presses(self.sam, f"edit:{link.id}:goods")

    async def say(self, text: str) -> None:
        await self.chat.says(self.sam, text)
        await self.jobs.due()

    async def press(self, *words: str) -> None:
        """Press a button of the form under way."""
        (row,) = self.chat.rows("drafts")
        draft_id = str(exact_json.loads(row["body"])["id"])
        await self.chat.presses(self.sam, ":".join(["draft", draft_id, *words]))
        await self.jobs.due()

    async def send(self, name: str, data: bytes, caption: str = "") -> None:
        """Send a file, and handle all that follows."""
        self.sam.send_document(name, data, caption=caption)
        await self.chat.take()
        await self.fetch()
        await self.jobs.due()

    async def fetch(self) -> None:
        queue = self.chat.queues.files
        await handle_all(self.chat.db, queue, self.files.take, self.chat.clock)

    async def receipt(self, link: PaymentLink, transaction: str) -> dict[str, Any]:
        """Return what the holder of a payment gets."""
        path = f"/v3/paymentRequests/public/{link.request_id}/receipts/{transaction}"
        answer = await self.market.service.anyone.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["delivery"]
        return found

    async def delivery(self, link: PaymentLink) -> dict[str, Any]:
        """Return what the service says that a request delivers."""
        found: dict[str, Any] = await self.market.service.get(str(link.request_id))
        given: dict[str, Any] = found["delivery"]
        return given


@asynccontextmanager
async def open_goods_shop(database_url: str, chat: ChatHarness) -> AsyncIterator[GoodsShop]:
    """Open a shop: Telegram's server, a service on its own database, and the chat between them."""
    sam = chat.add_person("Sam")
    async with (
        telegram_of(chat.world) as bot,
        open_reconciled_service(database_url, chat, sam) as market,
    ):
        downloads = Downloads(bot, bot.base_url.removesuffix(f"/bot{bot.token}"), chat.clock)
        route = FileRoute(downloads, market.client)
        files = FileIntake(chat.db, route, chat.queues, chat.clock, chat.dialogue)
        yield GoodsShop(chat, sam, market, files, RequestJobs(chat, market.client))
        await downloads.close()
