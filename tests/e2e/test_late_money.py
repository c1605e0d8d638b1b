"""Money that does not arrive at once, from the payer's page to the seller's chat."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import httpx

from tests.support.product_process import Process, running_product, until
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    labels,
    lines_of,
    link_of,
    pay,
    seller_with_destination,
)
from tests.support.web_payers import WebReceipt, buyer, said


async def goes_on(page: str) -> httpx.Response:
    """Follow the page as a browser does that looks again every few seconds, to its end."""
    found = []

    async def look() -> bool:
        async with httpx.AsyncClient(trust_env=False, timeout=SECONDS) as payer:
            answer = await payer.get(page, follow_redirects=True)
        found.append(answer)
        return 'http-equiv="refresh"' not in answer.text

    await until(look, 4 * SECONDS)
    return found[-1]


async def alerts_of(sam: Seller, number: int) -> list[list[str]]:
    await sam.world.wait_for(lambda: len(sam.alerts) >= number, 4 * SECONDS)
    return [lines_of(message) for message in sam.alerts]


async def oversold(run: Process, link: str) -> httpx.Response:
    """Sell the only unit while somebody's payment is late; return their last page."""
    late = await pay(link, manner="late")
    assert re.fullmatch(r"/pay/[0-9a-f]{24}/checkout/[0-9a-f]{24}", late.headers["location"])
    held = await pay(link, token="t" * 32)
    assert (held.status_code, "payment for the last one" in held.text) == (409, True)

    async def free_again() -> bool:
        return (await pay(link, token="t" * 32)).status_code == 303

    await until(free_again, 4 * SECONDS)
    return await goes_on(urljoin(run.url, late.headers["location"]))


async def test_delayed_late_and_oversold_money_has_its_alert(tmp_path: Path) -> None:
    """The last unit is held for who pays later; money after that is told as owed back."""
    async with running_product(tmp_path, PAYER_RATE="0", RESERVATION_SECONDS="5") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/drop 1 5 USD Painting", "Painting")
        end = await oversold(run, link_of(card))
        assert "Refund due" in end.text
        first, second = await alerts_of(sam, 2)
        sold = ["💰 $5.00 received for Painting", "🏁 SOLD OUT: that was the last one."]
        assert first[:2] == sold
        assert second[1].startswith("⚠️ OVERSOLD")

        other = await sam.card("/drop 1 5 USD Print", "Print")
        later = await pay(link_of(other), manner="later")
        end = await goes_on(urljoin(run.url, later.headers["location"]))
        assert "Thank you! Your payment went through." in end.text
        assert (await alerts_of(sam, 3))[2][1] == "🏁 SOLD OUT: that was the last one."


async def test_a_buyer_who_is_owed_a_refund_hears_of_it_in_telegram(tmp_path: Path) -> None:
    """The receipt can be kept like any other; it has nothing of what is sold."""
    async with running_product(tmp_path, PAYER_RATE="0", RESERVATION_SECONDS="5") as (stage, run):
        world = stage.world
        sam, pat = await seller_with_destination(world), buyer(world)
        card = await sam.card("/drop 1 5 USD Painting", "Painting")
        end = await oversold(run, link_of(card))
        (receipt,) = re.findall(r'href="([^"]+)">View receipt</a>', end.text)
        kept = await WebReceipt(run.url + receipt).keep(pat, "Painting")
        assert "refund" in kept.text
        assert "Yours" not in kept.text
        alert = await said(sam, "OVERSOLD")
        opened = await sam.press(alert, "Details", "Payment for Painting")
        question = await sam.press(opened, "↩ Paid back", "Would you like to add")
        await sam.press(question, "Skip", "I've let the buyer know in Telegram.")
        await said(pat, "for Painting as paid back")
        assert labels(await pat.say("/bought", "What you've bought"))[0].startswith("↩ Painting")
        assert world.refused == []
