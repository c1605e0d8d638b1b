"""Test money that its seller has to confirm: asked, confirmed and rejected as real money is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.chat.store.claim_rows import MANY_UNPROVEN
from tests.support.product_process import Process, patient_client
from tests.support.sellers_and_payers import SECONDS, Seller, link_of, pay, seller_with_destination

if TYPE_CHECKING:
    import httpx

    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


pytestmark = pytest.mark.asyncio(loop_scope="module")

RECEIVED, MISSING = "✅ Received", "Not received"
HOW = (
    "The payer says they've sent it in test money. There's no account to look in, so just tap the"
    " button you'd like to try."
)


async def claimed(sam: Seller, link: str) -> tuple[Message, str]:
    """Choose "When the seller confirms it"; return the seller's message and the payer's page."""
    before = len(asked_of(sam))
    answer = await pay(link, manner="claimed")
    assert answer.status_code == 303, answer.text
    await sam.world.wait_for(lambda: len(asked_of(sam)) > before, SECONDS)
    return asked_of(sam)[-1], str(answer.headers["location"])


def asked_of(sam: Seller) -> list[Message]:
    return [message for message in sam.said if "has it arrived?" in message.text]


async def page_of(http: httpx.AsyncClient, path: str) -> str:
    return (await http.get(path, follow_redirects=True)).text


async def test_test_money_is_confirmed_by_its_seller(world: World, run: Process) -> None:
    sam = await seller_with_destination(world)
    link = link_of(await sam.card("/drop 3 5 USD Stickers", "Stickers"))
    asked, path = await claimed(sam, link)
    (reference,) = run.rows("SELECT reference FROM checkouts WHERE claimed_at IS NOT NULL")[-1]
    assert asked.text.splitlines()[:3] == [
        "🧪 $5.00 for Stickers: has it arrived?",
        HOW,
        f"🧾 {reference}",
    ]
    listed = await sam.say("/payments", "Waiting for your answer")
    assert reference in listed.text
    async with patient_client(run.url) as http:
        assert "Waiting for" in await page_of(http, path)
        await sam.press(asked, RECEIVED, "$5.00 received for Stickers")
        assert "2 of 3 left" in asked.text
        assert "Thank you!" in await page_of(http, path)
    found = await sam.say(f"/find {reference}", "Payment for Stickers")
    assert "$5.00" in found.text


async def test_test_money_that_did_not_come_is_on_sale_again(world: World, run: Process) -> None:
    sam = await seller_with_destination(world, "Sue")
    card = await sam.card("/drop 2 4 USD Pins", "Pins")
    asked, path = await claimed(sam, link_of(card))
    await sam.refresh(card, "1 payment in progress")
    await sam.press(asked, MISSING, "really not arrived?")
    assert "It's test money, so you can safely try this." in asked.text
    await sam.press(asked, "Yes, it hasn't arrived", "haven't found their payment")
    async with patient_client(run.url) as http:
        assert "found your payment" in await page_of(http, path)
    await sam.refresh(card, "2 of 2 left")
    await sam.press(asked, "It arrived after all", "$4.00 received for Pins")


async def test_too_little_test_money_is_accepted_by_its_seller(world: World) -> None:
    sam = await seller_with_destination(world, "Kim")
    link = link_of(await sam.card("/drop 2 6 USD Mugs", "Mugs"))
    assert (await pay(link, manner="underpaid")).status_code == 303
    await world.wait_for(lambda: "only $3.00 of $6.00 arrived" in sam.said[-1].text, SECONDS)
    await sam.press(sam.said[-1], "✅ Accept as paid", "$6.00 received for Mugs")


async def test_an_ordinary_test_payment_is_told_as_ever(world: World) -> None:
    sam = await seller_with_destination(world, "Ann")
    link = link_of(await sam.card("/donation 5 USD Coffee", "Coffee"))
    alert = await sam.alert(pay(link))
    assert alert.text.startswith("💰 $5.00 received for Coffee")
    assert "test money" not in alert.text


async def test_claims_of_one_address_end_in_one_digest(world: World) -> None:
    """Each has a fresh cookie; the first are believed, later ones are told to be one network's."""
    sam = await seller_with_destination(world, "Max")
    link = link_of(await sam.card("/donation 5 USD Coffee", "Coffee"))
    for _ in range(MANY_UNPROVEN + 3):
        assert (await pay(link, manner="claimed")).status_code == 303

    def has_all() -> bool:
        return any("3 more payments for Coffee" in message.text for message in sam.said)

    await world.wait_for(has_all, SECONDS)
    assert len(asked_of(sam)) == MANY_UNPROVEN
    (digest,) = [message for message in sam.said if message.text.startswith("📬")]
    assert f"One of {MANY_UNPROVEN + 3} unconfirmed payments from the same network" in digest.text
    await sam.press(digest, digest.buttons[0]["text"], "$5.00 received for Coffee")
    await world.wait_for(lambda: "2 more payments for Coffee" in digest.text, SECONDS)
