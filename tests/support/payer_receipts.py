"""A shop whose payers leave an email address, its mail server, and the worker between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.core.database.database import Row
from bot.core.outbox import outbox
from bot.service.notifications.emails import to_payers
from bot.service.notifications.letter_texts import LetterOrigin
from bot.service.notifications.smtp_sender import Mailer
from tests.support.letters import SENDER
from tests.support.mail_round import MailRound
from tests.support.mail_servers import MailServerStub, mail_server
from tests.support.service_harness import URL, ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


PAYER = "pat.lee@payer.example"
KEY = b"k" * 32
ASKED: dict[str, Any] = {"requestedUserData": ["email"]}

WORDS: dict[str, Any] = {
    "product": {
        "name": "Zanzibar-Name",
        "description": "Zanzibar-Description",
        "longDescription": "Zanzibar-Long",
        "imageUrl": "https://zanzibar.example/product.png",
    },
    "seller": {
        "name": "Zanzibar-Seller",
        "imageUrl": "https://zanzibar.example/seller.png",
        "contact": "zanzibar@zanzibar.example",
        "description": "Zanzibar-Line",
        "accentColor": "orange",
    },
    "receivers": [{"sendAmount": 5, "destination": "zanzibar-wallet", "tags": ["zanzibar-tag"]}],
    "redirectUrl": "https://zanzibar.example/thanks",
    "notifications": {"webhook": {"webhookUrl": "https://zanzibar.example/hook"}},
}
"""Everything that a seller can write, in a word that stands nowhere else."""


class ReceiptHarness(MailRound):
    """The service, the mail server, and the receipts between them."""

    def __init__(self, service: ServiceHarness, office: MailServerStub) -> None:
        mailer, origin = Mailer(office.server(), timeout=5), LetterOrigin(SENDER, URL)
        mails = to_payers(service.db, mailer, service.clock, origin, KEY)
        super().__init__(service, office, mails)

    async def ask(self, **fields: Any) -> str:
        """Make a request that asks for an email address; return its id."""
        return str((await self.service.create(**ASKED, **fields))["id"])

    async def pay(
        self, request_id: str, address: str = PAYER, language: str = "en", **fields: str
    ) -> httpx.Response:
        self._payments += 1
        form = {"token": f"{self._payments:032d}", "email": address, **fields}
        return await self.service.anyone.post(
            f"/pay/{request_id}", data=form, headers={"Accept-Language": language}
        )

    async def claim_all(self) -> list[str]:
        """Settle all receipts that may go now, unsent; return their requests in this order."""
        queue, now, found = self.mails.queue_handler.queue, self.service.clock(), []
        while claimed := self.service.db.run(lambda tx: outbox.claim(tx, queue, now, 50)):
            found += [message.body.request_id for message in claimed]
            for message in claimed:
                self.service.db.run(partial(outbox.done, queue=queue, message=message, now=now))
        return found

    async def rows(self) -> list[Row]:
        """Return each receipt's notification with the state of its message."""
        return await self.service.db.query(
            "SELECT d.*, o.state, o.note, o.body, o.lane FROM deliveries d"
            " JOIN outbox o ON o.id = d.id WHERE d.channel = 'receipt' ORDER BY d.id"
        )

    async def states(self) -> list[tuple[str, str | None]]:
        return [(row["state"], row["note"]) for row in await self.rows()]


@asynccontextmanager
async def open_receipt_harness(database_url: str, **settings: Any) -> AsyncIterator[ReceiptHarness]:
    given: dict[str, Any] = {"mails": True, "payer_key": KEY} | settings
    async with open_service(database_url, **given) as service, mail_server() as server:
        yield ReceiptHarness(service, server)
