"""On another server nothing is offered that only the embedded service does; the bot says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.handcash_server import HandCash, handcash
from tests.support.handcash_settings import SECRET, keys
from tests.support.product_process import PATIENCE, sandbox_telegram
from tests.support.sellers_and_payers import Seller, labels, seller_with_destination
from tests.support.web_payers import buyer, said

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


ONLY_HERE = ("Goal", "What buyers get", "Items per purchase", "Thank-you message")
RECEIPT = f"r-{'a' * 24}-{'b' * 24}"


async def offered(sam: Seller, kind: str) -> list[str]:
    """Return all that the guided form offers for a kind of request."""
    asked = await sam.say("/new", "What kind of payment link")
    await sam.press(asked, kind, "What's it called")
    price = await sam.say("Mug", "How much")
    found = labels(price)
    review = await sam.say("5 USD", "How many" if kind == "Limited drop" else "look right")
    if kind == "Limited drop":
        review = await sam.say("3", "Does everything look right")
    options = await sam.press(review, "More options", "Anything else?")
    found += labels(options)
    await sam.press(options, "Cancel", "Nothing was created")
    return found


async def sold(sam: Seller, server: HandCash) -> Message:
    """Pay the only request; its alert."""
    await server.delivered(await server.pay(server.only.id), PATIENCE)
    return await said(sam, "received for Vase")


async def test_choices_goals_and_goods_are_not_offered_and_marks_stay_local(tmp_path: Path) -> None:
    async with (
        handcash(app_secret=SECRET) as server,
        sandbox_telegram(tmp_path) as stage,
        stage.run(**keys(server)) as run,
    ):
        await run.ready()
        sam, pat = await seller_with_destination(stage.world), buyer(stage.world)
        for kind in ("Donation", "Limited drop"):
            shown = await offered(sam, kind)
            assert not [one for one in shown if one.lstrip("✓ ") in ONLY_HERE]
            assert not [one for one in shown if "Payers choose" in one]
        for line in ("/donation 5/10 USD Coffee", "/donation 3+ USD Coffee"):
            await sam.say(line, "Payers can't choose the amount here")
        assert server.made == {}
        card = await sam.card("/drop 3 12 USD Vase", "Vase")
        await sam.edit(card)
        assert not [one for one in labels(card) if one in ONLY_HERE]
        alert = await sold(sam, server)
        asked = server.asked("PUT")
        question = await sam.press(alert, "📦 Sent", "I can't pass it on to the buyer")
        await sam.press(question, "Skip", "")
        found = await sam.say(f"/find {server.only.paid[0]}", "Payment for Vase")
        assert "📦 Sent" in found.text
        assert server.asked("PUT") == asked
        told = await pat.seen(lambda: pat.person.start(RECEIPT), "I can't find that receipt.")
        assert told is pat.said[-1]
        await pat.say("/bought", "You haven't kept any receipts yet.")
        assert stage.world.refused == []
