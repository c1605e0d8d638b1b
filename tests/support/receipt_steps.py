"""Buyers in the sandbox who keep receipts of a service that a test writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.chat.cards.receipts import notify_owner
from bot.chat.model.payloads import BuyerNotice
from bot.chat.payments.client import Client
from bot.chat.store.receipt_rows import ReceiptKey
from bot.chat.telegram.receipt_calls import ReceiptCalls
from bot.chat.telegram.sender import Sender
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import REQUEST_ID, ChatHarness, telegram_of
from tests.support.outbox_queue import handle_all
from tests.support.request_jobs import RequestJobs
from tests.support.sender_harness import SenderHarness

if TYPE_CHECKING:
    from starlette.requests import Request
    from telegram import Bot

    from bot.sandbox.world.model import Message
    from bot.sandbox.world.people import Person


KEY = ReceiptKey(REQUEST_ID, "89abcdef0123456789abcdef")
LINK = f"r-{KEY.request_id}-{KEY.transaction_id}"
URL = f"https://pay.example.org/pay/{REQUEST_ID}/receipt/{KEY.transaction_id}"
PAID: dict[str, Any] = {
    "product": {"name": "Coffee"},
    "seller": {"name": "Anna's Café"},
    "amount": 7.5,
    "currencyCode": "EUR",
    "quantity": 1,
    "completedAt": "2027-01-15T08:00:00.000Z",
    "status": "paid",
    "receiptUrl": URL,
}
WITH_CODE = PAID | {
    "units": {"first": 7, "last": 7, "total": 100},
    "thanks": "Thank you!\nSee you <soon>",
    "delivery": {"state": "delivered", "codes": ["ABC-123"]},
}
WAITING = WITH_CODE | {"delivery": {"state": "waiting"}}


class ReceiptSteps(SenderHarness):
    """The chat of buyers, with a service that has one receipt.

    `is_down` while it has a fault; a `refusal` is the status of all answers instead.
    """

    def __init__(self, chat: ChatHarness, bot: Bot) -> None:
        super().__init__(chat, bot)
        self.bot = bot
        self.receipt = PAID
        self.is_down = False
        self.refusal: int | None = None
        self.asked = 0

    def connect(self, client: Client) -> None:
        chat = self.chat
        self.jobs = RequestJobs(chat, client)
        receipts = ReceiptCalls(chat.db, client.receipt)
        self.sender = Sender(chat.db, self.bot, chat.queues, chat.clock, receipts=receipts)

    async def answer_receipt(self, request: Request) -> Response:
        """Answer as the embedded service: nothing without both ids."""
        self.asked += 1
        if self.is_down:
            return Response(status_code=503)
        if self.refusal is not None:
            return Response(status_code=self.refusal)
        if request.path_params != {"request": KEY.request_id, "transaction": KEY.transaction_id}:
            return JSONResponse({"code": "notFound", "message": "No.", "info": []}, 404)
        return JSONResponse(self.receipt)

    async def follow(self, person: Person, payload: str = LINK) -> Message:
        """Follow a receipt's deep link; return the bot's newest message."""
        person.start(payload)
        return await self.finish(person)

    async def finish(self, person: Person) -> Message:
        """Do all that is due; return the bot's newest message to a person."""
        await self.chat.take()
        await self.do_jobs()
        await self.work()
        return person.chat.from_bot()[-1]

    async def do_jobs(self) -> None:
        chat = self.chat
        await handle_all(chat.db, chat.queues.jobs, self.jobs.handler.perform, chat.clock)

    async def press(self, person: Person, message: Message, button: str) -> str | None:
        """Press a button; return the text of the answer."""
        person.press(message, button)
        await self.chat.take()
        answers = self.chat.answers
        await self.work()
        return answers[-1].text if answers else None

    async def says(self, person: Person, text: str) -> Message:
        person.send(text)
        return await self.finish(person)

    async def notify(self, event: str) -> bool:
        """Notify the buyer of an event, as a seller's mark does."""
        chat = self.chat
        is_kept = chat.db.run(lambda tx: notify_owner(chat.step(tx), KEY, event))
        await self.work()
        return is_kept

    @property
    def waiting_notices(self) -> int:
        return sum(isinstance(body, BuyerNotice) for body in self.chat.said)


@asynccontextmanager
async def open_receipt_steps(chat: ChatHarness) -> AsyncIterator[ReceiptSteps]:
    """Open the service, the sender and the jobs; Telegram must refuse no call."""
    async with telegram_of(chat.world) as bot:
        steps = ReceiptSteps(chat, bot)
        path = "/v3/paymentRequests/public/{request}/receipts/{transaction}"
        app = Starlette(routes=[Route(path, steps.answer_receipt)])
        async with serve_asgi(app) as url:
            client = Client(url, "app-1", "s3cret")
            steps.connect(client)
            yield steps
            await client.close()
    assert chat.world.refused == []
