"""Addresses that strangers name: an application of many sellers, and whoever reads the letters."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from bot.service.notifications.emails import to_sellers
from bot.service.notifications.letter_texts import LetterOrigin
from bot.service.notifications.smtp_sender import Mailer
from tests.support.letters import SENDER
from tests.support.mail_round import MailRound
from tests.support.mail_servers import MailServerStub, mail_server
from tests.support.service_harness import NEW, REQUESTS_PATH, URL, ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


VICTIM = "victim@mail.example"


class LetterHarness(MailRound):
    """A shop whose sellers are strangers, its mail server, and the worker between them."""

    def __init__(self, service: ServiceHarness, office: MailServerStub) -> None:
        mailer = Mailer(office.server(), timeout=5)
        mails = to_sellers(service.db, mailer, service.clock, LetterOrigin(SENDER, URL))
        super().__init__(service, office, mails)

    def distrust(self) -> None:
        """Require that the holders of addresses confirm them."""
        sql, app_id = "UPDATE apps SET confirms = 1 WHERE id = :id", self.service.credentials.app_id
        self.service.db.run(lambda tx: tx.execute(sql, id=app_id))

    async def name(self, address: str, owner: str | None = None, **fields: Any) -> httpx.Response:
        """Make a request that names an address, for a seller."""
        body = {**NEW, "notifications": {"email": address}, **fields}
        headers = {"Owner-Ref": owner} if owner is not None else None
        return await self.service.seller.post(REQUESTS_PATH, json=body, headers=headers)

    async def sell(self, address: str, owner: str | None = None, **fields: Any) -> str:
        """Make a request that names an address; return its id."""
        answer = await self.name(address, owner, **fields)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    async def pay(self, request_id: str, times: int = 1) -> None:
        for _ in range(times):
            self._payments += 1
            paid = await self.service.pay(request_id, f"{self._payments:032d}")
            assert paid.status_code == 303

    async def states(self) -> list[tuple[str, str | None]]:
        """Return state and note of each notification in order."""
        rows = await self.service.db.query(
            "SELECT o.state, o.note FROM deliveries d JOIN outbox o ON o.id = d.id ORDER BY d.id"
        )
        return [(row["state"], row["note"]) for row in rows]


@asynccontextmanager
async def open_letter_harness(
    database_url: str, *, strangers: bool = True
) -> AsyncIterator[LetterHarness]:
    """Open a shop with a mail server; `strangers` are its sellers."""
    async with open_service(database_url, mails=True) as service, mail_server() as server:
        post = LetterHarness(service, server)
        if strangers:
            post.distrust()
        yield post


def plain(letter: EmailMessage) -> str:
    part = letter.get_body(("plain",))
    assert part
    return str(part.get_content())


def link(letter: EmailMessage, kind: str, url: str = URL) -> str:
    """Return the path of a link in a letter, `confirm` or `stop`."""
    found = re.search(rf"{url}(/email/{kind}/\S+)", plain(letter))
    assert found, plain(letter)
    return found[1]
