"""Bank transfers on the whole product: the payer's word, the seller's word, and the page's."""

from __future__ import annotations

import html
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.payout_forms import IBAN
from tests.support.product_process import (
    Process,
    ProductSetup,
    patient_client,
    running_product,
    until,
)
from tests.support.sellers_and_payers import Seller, is_closed, labels, lines_of, link_of, seller
from tests.support.service_harness import form_token

if TYPE_CHECKING:
    import httpx

    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the whole product with bank codes."""
    async with running_product(tmp_path_factory.mktemp("bank"), RAILS="bank") as both:
        yield both


@dataclass
class Payer:
    """A payer on the pay page, with their cookie."""

    http: httpx.AsyncClient
    link: str
    checkout: str = ""

    async def open(self) -> None:
        """Press Pay: the page of the checkout."""
        page = await self.http.get(self.link)
        answer = await self.http.post(self.link, data={"token": form_token(page.text)})
        assert answer.status_code == 303, answer.text
        self.checkout = answer.headers["location"]

    async def claim(self) -> None:
        answer = await self.http.post(self.checkout, data={"action": "claim"})
        assert answer.status_code == 303, answer.text

    async def sees(self, words: str) -> str:
        """Wait until the page has these words, receipts too; return its text."""
        found = [""]

        async def look() -> bool:
            page = await self.http.get(self.checkout, follow_redirects=True)
            found[0] = html.unescape(page.text)
            return words in found[0]

        await until(look)
        return found[0]


async def connected(world: World) -> Seller:
    """Add a seller who gets paid by bank transfer."""
    sam = seller(world)
    page = await sam.say("/getpaid", "connect")
    schemes = await sam.press(page, "🏦 Bank transfer", "")
    await sam.press(schemes, "🏦 SEPA account", "IBAN")
    await sam.say(IBAN, "name")
    review = await sam.say("Sam Ott", "confirm each payment")
    await sam.press(review, "✅ Save", "✅ Connected")
    return sam


async def claimed(sam: Seller, payer: Payer) -> Message:
    """Open a checkout and claim it; return the claim's alert."""
    await payer.open()
    before = len(asked_of(sam))
    await payer.claim()
    await sam.world.wait_for(lambda: len(asked_of(sam)) > before, 15)
    return asked_of(sam)[-1]


def asked_of(sam: Seller) -> list[Message]:
    return [message for message in sam.said if "has it arrived?" in message.text]


async def test_a_transfer_is_claimed_received_alerted_once_and_receipted(
    world: World, run: Process
) -> None:
    sam = await connected(world)
    link = link_of(await sam.card("/drop 2 12.30 EUR Mug", "Mug"))
    async with patient_client(run.url) as http:
        payer = Payer(http, link)
        asked = await claimed(sam, payer)
        await payer.sees("Waiting for")
        reference = lines_of(asked)[2].removeprefix("🧾 ")
        assert reference in await payer.sees(reference)
        await sam.press(asked, "✅ Received", "received for Mug")
        assert f"Paid by bank transfer, reference {reference}" in asked.text
        assert "1 of 2 left" in asked.text
        await payer.sees("Thank you!")
    (row,) = run.rows("SELECT state FROM payments")
    assert row == ("paid",)
    assert len([one for one in sam.said if "received for Mug" in one.text]) == 1
    found = await sam.say(f"/find {reference.lower()}", "Payment for Mug")
    facts = await sam.press(found, "Details", "To pay it back")
    await sam.press(facts, "Paid back", "add a note")
    await sam.say("Sent back by transfer", "Note saved")
    await sam.say("/payments", "Sent back by transfer")


async def test_a_missing_transfer_goes_back_on_sale_and_may_arrive_late(
    world: World, run: Process
) -> None:
    sam = await connected(world)
    link = link_of(await sam.card("/oneoff 120 EUR Painting", "Painting"))
    async with patient_client(run.url) as http:
        payer = Payer(http, link)
        asked = await claimed(sam, payer)
        page = await sam.say("/payments", "Waiting for your answer")
        assert labels(page)[:2] == ["✅ Received", "Not received"]
        await sam.press(asked, "Not received", "really not arrived?")
        await sam.press(asked, "Yes, it hasn't arrived", "haven't found their payment")
        await payer.sees("hasn't found your payment")
        assert not await is_closed(link)
        await sam.press(asked, "It arrived after all", "received for Painting")
        await payer.sees("Thank you!")
        assert await is_closed(link)
    rows = run.rows("SELECT state FROM payments ORDER BY completed_at")
    assert rows[-1] == ("late",)
