"""The sender of webhooks to the bot's receiver."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from bot.chat.cards.alerts import REMIND_AFTER
from bot.chat.payments.webhook import PATH, Proof, Receiver
from bot.chat.store import claim_rows
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json, signing
from bot.core.net.request_body import EscapeNul
from tests.support.chat_harness import REQUEST_ID, ChatHarness

if TYPE_CHECKING:
    import httpx


SECRET = signing.new_secret()
HELD = 7 * 24 * 3600 * 1000
"""Milliseconds that a claim holds its unit."""
APP_SECRET = "the-applications-own-secret"
PAID: dict[str, Any] = {
    "paymentRequestId": REQUEST_ID,
    "transactionId": "t1",
    "customParameters": {},
    "userData": {"email": "pat@example.org"},
    "amount": 2.50,
    "currencyCode": "USD",
    "remainingUnits": 2,
    "completedAt": "2027-01-15T08:00:00.000Z",
}
HANDCASH: dict[str, Any] = {
    "appSecret": APP_SECRET,
    "paymentRequestId": REQUEST_ID,
    "transactionId": "t1",
    "customParameters": {},
    "userData": {},
}


def serve(chat: ChatHarness, webhook_secret: str | None) -> FastAPI:
    app = FastAPI()
    proof = Proof(APP_SECRET, webhook_secret)
    app.add_middleware(EscapeNul)
    app.include_router(Receiver(chat.db, chat.recorder, HELD, proof, chat.clock).router())
    return app


class WebhookSender:
    """A server that sends webhooks to the bot, signed as our service signs them."""

    def __init__(self, chat: ChatHarness, http: httpx.AsyncClient, link: PaymentLink) -> None:
        self.chat = chat
        self.http = http
        self.path = f"{PATH}/{link.token}"

    async def send(self, body: bytes, headers: dict[str, str] | None = None) -> int:
        return (await self.http.post(self.path, content=body, headers=headers)).status_code

    async def send_signed(self, body: dict[str, Any] | bytes, seconds: int = 0) -> int:
        return (await self.post_signed(body, seconds)).status_code

    async def post_signed(self, body: dict[str, Any] | bytes, seconds: int = 0) -> httpx.Response:
        content = body if isinstance(body, bytes) else exact_json.dumps(body).encode()
        at = datetime.fromtimestamp(self.chat.clock() / 1000 + seconds, UTC)
        headers = signing.sign([SECRET], "m1", at, content)
        return await self.http.post(self.path, content=content, headers=headers)

    def nothing_happened(self) -> bool:
        return (self.chat.rows("received_payments"), self.chat.said) == ([], [])


async def record_claim(chat: ChatHarness, link: PaymentLink, reference: str) -> bool:
    """Record the claim of checkout `c1` as the receiver does."""
    now = chat.clock()
    claim = claim_rows.Claim(
        "claim00001", "c1", REQUEST_ID, link.id, link.seller_id, "bank", 250, "USD", reference,
        claim_rows.WAITING, now, now + HELD, remind_at=now + REMIND_AFTER, alone=0,
    )  # fmt: skip
    return await chat.db.transaction(lambda tx: chat.recorder.record_claim(tx, link, claim))
