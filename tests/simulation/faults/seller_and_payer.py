"""The acts of sellers at their clients and of payers at their browsers."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import httpx

from bot.core.net import http_client
from tests.simulation.faults import alert_reading
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.support.form_questions import question_of
from tests.support.service_harness import form_token

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.people import Person


PATIENCE = 3600.0
"""Seconds of the loop that a person waits for the bot to say something: they cost nothing."""

DESTINATION, PRICE = "$anna", "7.50 USD"
RECEIPT = re.compile(r"/receipt/([0-9a-f]{24})$")
KINDS = {"donation": "☕", "oneoff": "🖼", "drop": "🎟"}
"""The kinds with what their buttons begin with."""


@dataclass
class Offer:
    """What a seller asks for in one line; `units` of a drop."""

    name: str
    kind: str
    units: int | None
    cents: int

    @property
    def line(self) -> str:
        units = f"{self.units} " if self.units else ""
        return f"/{self.kind} {units}{self.cents / 100:.2f} USD {self.name}"


@dataclass
class Draft:
    """A form that a seller leaves after `answered` answers, to go on when all is over."""

    name: str
    kind: str
    answered: int


@dataclass
class Seller:
    """A person who sells, with what they will have asked for."""

    person: Person
    offers: list[Offer]
    draft: Draft | None = None

    async def sell(self, product: SimulatedProduct, chance: Random) -> None:
        """Create everything in one line each, then begin the form and leave it."""
        for number, offer in enumerate(self.offers):
            await asyncio.sleep(chance.uniform(0, 6))
            product.note(f"{self.person.user.first_name} types {offer.line}")
            self.person.send(offer.line)
            if number == 0:
                await asyncio.sleep(chance.uniform(0, 1))
                self.person.send(DESTINATION)
        if self.draft:
            await self._begin(product, self.draft)

    async def _begin(self, product: SimulatedProduct, draft: Draft) -> None:
        self.person.send("/new")
        asked = await self.heard(question_of("ask-kind"))
        product.note(f"{self.person.user.first_name} begins a form")
        label = next(b["text"] for b in asked.buttons if b["text"].startswith(KINDS[draft.kind]))
        self.person.press(asked, label)
        await self.heard(question_of("ask-name"))
        for answer in (draft.name, PRICE)[: draft.answered]:
            self.person.send(answer)

    async def heard(self, words: str) -> Message:
        """Wait for the bot's first message with these words."""
        return await self.person.world.bot_message(self.person.chat, words, seconds=PATIENCE)

    async def card(self, offer: Offer) -> Message:
        """Wait for the card of an offer."""

        def look() -> Message | None:
            return next(iter(alert_reading.cards(self.person.chat, offer.name)), None)

        found = await self.person.world.wait_for(look, PATIENCE)
        assert found is not None
        return found

    async def press(self, product: SimulatedProduct, offer: Offer, word: str, after: float) -> None:
        """Press a button of a card as it once was, whether it still has it or not."""
        await asyncio.sleep(after)
        card = await self.card(offer)
        link = next(b["callback_data"] for b in card.buttons if "callback_data" in b)
        product.note(f"{self.person.user.first_name} presses {word} of {offer.name}")
        self.person.press_old(card, f"{word}:{link.partition(':')[2]}")


@dataclass
class Payer:
    """A person who pays; `transaction` is what their receipt says, None where they were refused."""

    number: int
    seller: Seller
    offer: Offer
    transaction: str | None = None

    @property
    def address(self) -> str:
        return alert_reading.address_of(self.number)

    async def pay(self, product: SimulatedProduct, browser: Browser, after: float) -> None:
        """Open the link and send the form, as often as it takes to get an answer."""
        await asyncio.sleep(after)
        card = await self.seller.card(self.offer)
        link = next(str(b["url"]) for b in card.buttons if "/pay/" in b.get("url", ""))
        page = await browser.ask("GET", link)
        if "<form" not in page.text:
            product.note(f"{self.address} finds {self.offer.name} closed")
            return
        form = {"token": form_token(page.text), "email": self.address}
        answer = await browser.ask("POST", link, form)
        if answer.status_code == httpx.codes.SEE_OTHER:
            found = RECEIPT.search(answer.headers["location"])
            assert found, answer.headers
            self.transaction = found[1]
        product.note(f"{self.address} for {self.offer.name}: {answer.status_code}")


@dataclass
class Browser:
    """Loads pages and sends forms anew when the network fails, with the same token."""

    chance: Random
    http: httpx.AsyncClient = field(
        default_factory=lambda: httpx.AsyncClient(
            trust_env=False, timeout=15, verify=http_client.ssl_context()
        )
    )

    async def ask(
        self, method: str, link: str, form: dict[str, str] | None = None
    ) -> httpx.Response:
        while True:
            try:
                answer = await self.http.request(method, link, data=form)
            except httpx.HTTPError:
                pass
            else:
                if answer.status_code < 500 and answer.status_code != 429:
                    return answer
            await asyncio.sleep(self.chance.uniform(0.2, 3))
