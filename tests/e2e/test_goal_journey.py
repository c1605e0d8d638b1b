"""A goal on the whole product, over both engines: its seller hears once that it is reached."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.payout_forms import IBAN
from tests.support.product_process import patient_client, running_product
from tests.support.sellers_and_payers import Seller, link_of, seller
from tests.support.service_harness import form_token
from tests.support.web_payers import read, said, shown

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


NEWS = "🎉 Goal reached: "


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


async def claim(sam: Seller, link: str, amount: str) -> Message:
    """Order by bank transfer and claim that it is sent; the question to the seller."""
    before = len(sam.said)
    async with patient_client(headers={"Accept-Language": "en"}) as browser:
        page = await browser.get(link)
        form = {"token": form_token(page.text), "amount": ["other", amount]}
        opened = await browser.post(link, data=form)
        assert opened.status_code == 303, opened.text
        checkout = link.partition("/pay/")[0] + opened.headers["location"]
        assert (await browser.post(checkout, data={"action": "claim"})).status_code == 303
    return await said(sam, "has it arrived?", before)


async def confirm(sam: Seller, asked: Message) -> list[str]:
    """Confirm a claim; the lines of its message, which is the payment's alert then."""
    await sam.press(asked, "✅ Received", " received for Drums")
    return read(asked.text).splitlines()


async def set_goal(sam: Seller, card: Message, amount: str) -> None:
    await sam.press(card, "Edit", "Drums")
    await sam.press(card, "Goal", "How much do you want to raise?")
    await sam.say(amount, "Goal updated: ")


async def test_a_goal_is_reached_once_by_transfers_that_are_confirmed(
    tmp_path: Path, database_url: str
) -> None:
    """Not by the claim, not again after a refund, and again once the goal is higher."""
    settings = {"RAILS": "bank", "DATABASE_URL": database_url, "SECRET_KEY": "k" * 32}
    async with running_product(tmp_path, **settings) as (stage, _):
        sam = await connected(stage.world)
        card = await sam.card("/donation 5/10/20 EUR Drums", "Drums")
        await set_goal(sam, card, "100")
        link = link_of(card)
        first = await claim(sam, link, "60")
        second = await claim(sam, link, "43")
        assert NEWS not in "\n".join(await confirm(sam, first))
        assert f"{NEWS}€103 of €100" in await confirm(sam, second)
        await shown(sam, card, "€103 of €100")

        facts = await sam.press(first, "🧾", "To pay it back")
        question = await sam.press(facts, "Paid back", "add a note")
        await sam.press(question, "Skip", "The buyer left no email address")
        await shown(sam, card, "€43 of €100")
        third = await claim(sam, link, "57")
        assert NEWS not in "\n".join(await confirm(sam, third))
        await shown(sam, card, "€100 of €100")

        await set_goal(sam, card, "150")
        fourth = await claim(sam, link, "50")
        assert f"{NEWS}€150 of €150" in await confirm(sam, fourth)
        assert sum(NEWS in one.text for one in sam.said) == 2
        assert stage.world.refused == []
