"""A claim from the payer's word to the seller's: webhooks, Telegram, the service's answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bot.chat.payments.client import Client
from bot.chat.store.link_rows import PaymentLink
from bot.core.database.database import Row
from tests.support.chat_harness import REQUEST_ID
from tests.support.http_peers import ScriptedServer, http_response
from tests.support.request_jobs import ScriptedJobs
from tests.support.service_harness import client
from tests.support.shared_cards import SharedCards
from tests.support.webhook_sender import PAID, SECRET, WebhookSender, serve

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.people import Person


CLAIMED: dict[str, Any] = {
    "event": "checkout.claimed",
    "checkoutId": "c1",
    "paymentRequestId": REQUEST_ID,
    "kind": "bank",
    "amount": 2.50,
    "currencyCode": "USD",
    "reference": "K7F2-90XM",
    "customParameters": {},
    "claimedAt": "2027-01-15T08:00:00.000Z",
}
BY_BANK = {"kind": "bank", "amount": 2.50, "currencyCode": "USD", "reference": "K7F2-90XM"}
CONFIRMED = PAID | {"checkoutId": "c1", "paidBy": BY_BANK}


def checkout(state: str) -> bytes:
    """Build the service's answer with a checkout in a state."""
    return http_response(200, {"id": "c1", "paymentRequestId": REQUEST_ID, "state": state})


WRONG_STATE = http_response(409, {"code": "wrongState", "message": "No.", "info": []})
DOWN = http_response(503)


class ClaimSteps:
    """The chat of one seller, with a service that follows a script."""

    def __init__(
        self, cards: SharedCards, jobs: ScriptedJobs, webhooks: WebhookSender, seller: Person
    ) -> None:
        self.cards = cards
        self.chat = cards.chat
        self.jobs = jobs
        self.webhooks = webhooks
        self.seller = seller

    async def claim(self, **fields: Any) -> Message:
        """Report a claim; return the newest message of the bot."""
        assert await self.webhooks.send_signed(CLAIMED | fields) == 200
        await self.cards.work()
        return self.newest

    async def pay(self, **fields: Any) -> None:
        """Report the payment of the claim."""
        assert await self.webhooks.send_signed(CONFIRMED | fields) == 200
        await self.cards.work()

    async def press(self, message: Message, button: str) -> str | None:
        """Press a button; return the text of the answer."""
        self.seller.press(message, button)
        await self.chat.take()
        answers = self.chat.answers
        await self.cards.work()
        return answers[-1].text if answers else None

    async def says(self, text: str) -> Message:
        """Send a text; return the bot's newest message."""
        await self.chat.says(self.seller, text)
        await self.cards.work()
        return self.newest

    async def answer(self, *answers: bytes) -> list[tuple[str, str]]:
        """Let the service answer what is due; return the calls that it had."""
        calls = await self.jobs.work(*answers)
        await self.cards.work()
        return calls

    @property
    def newest(self) -> Message:
        return self.messages[-1]

    @property
    def messages(self) -> list[Message]:
        return self.seller.chat.from_bot()

    @property
    def row(self) -> Row:
        (row,) = self.chat.rows("claims")
        return row


@asynccontextmanager
async def open_claim_steps(
    cards: SharedCards, peer: ScriptedServer, service: Client, link: PaymentLink, seller: Person
) -> AsyncIterator[ClaimSteps]:
    """Open the steps of a link's claims."""
    async with client(serve(cards.chat, SECRET)) as http:
        jobs = ScriptedJobs(cards.chat, peer, service)
        yield ClaimSteps(cards, jobs, WebhookSender(cards.chat, http, link), seller)
