"""Underpaid money on the whole product: a wallet reports it, and its seller accepts it."""

from __future__ import annotations

import html
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx
import pytest

from tests.support.free_ports import free_port
from tests.support.nwc_wallet import LocalRelay, NwcWallet
from tests.support.product_process import PATIENCE, ProductSetup, until
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    has_button,
    labels,
    link_of,
    pay,
    seller,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


SETTINGS = {"RAILS": "nwc", "RAIL_ALLOW": "127.0.0.1", "RATES_URLS": "table"}
ACCEPT = "✅ Accept as paid"
SOLD = "💰 $5.00 received for Painting"


@pytest.fixture
async def wallet() -> AsyncIterator[NwcWallet]:
    """Run a wallet that reports half of each invoice."""
    async with LocalRelay() as relay, NwcWallet(relay.url) as it:
        it.false_answers["lookup_invoice"] = lambda found: found | {"amount": found["amount"] // 2}
        yield it


async def underpaid(stage: ProductSetup, wallet: NwcWallet) -> tuple[Seller, Message, str]:
    """Sell the only painting for too little; return the alert and the address of the page."""
    sam = seller(stage.world)
    page = await sam.say("/getpaid", "What you can connect")
    await sam.press(page, "Wallet connection", "What's your connection string?")
    found = await sam.say(wallet.connection, "This works. Should I save it?")
    await sam.press(found, "Save", "From now on, payers can pay you here")
    card = await sam.card("/drop 1 5 USD Painting", "Painting")
    answer = await pay(link_of(card))
    assert answer.status_code == 303, answer.text

    async def is_made() -> bool:
        return len(wallet.invoices) == 1

    await until(is_made)
    wallet.settle(*wallet.invoices)

    def look() -> Message | None:
        return next((one for one in sam.said if has_button(one, ACCEPT)), None)

    alert = await sam.world.wait_for(look, PATIENCE)
    assert alert is not None
    return sam, alert, urljoin(link_of(card), answer.headers["location"])


async def sees(page: str, words: str) -> None:
    """Wait until the payer's page has these words."""

    async def look() -> bool:
        async with httpx.AsyncClient(trust_env=False, timeout=SECONDS) as payer:
            answer = await payer.get(page, follow_redirects=True)
        return words in html.unescape(answer.text)

    await until(look)


async def test_a_seller_accepts_too_little_money_in_the_chat(
    stage: ProductSetup, wallet: NwcWallet
) -> None:
    """The payer's page says that they can; the drop is then sold, and the books count it once."""
    async with stage.run(**SETTINGS) as run:
        run.secrets.add(wallet.secret)
        await run.ready()
        sam, alert, page = await underpaid(stage, wallet)
        await sees(page, "who can refund you or accept what you've paid")
        assert labels(alert)[:2] == [ACCEPT, "🧾 Details"]
        listed = await sam.say("/payments", "Latest payments")
        assert "Tap 🧾 1 to accept it as paid" in listed.text
        assert await sam.toast(alert, ACCEPT) == "Confirming…"
        await stage.world.wait_for(lambda: alert.text.startswith(SOLD), PATIENCE)
        assert "less than the price arrived." in alert.text
        assert ACCEPT not in labels(alert)
        assert run.rows("SELECT underpaid, amount FROM received_payments") == [(0, 500)]
        await sees(page, "Thank you! Your payment went through.")
        facts = await sam.press(listed, "🧾 1", "Painting")
        assert "Underpaid" not in facts.text


async def test_a_kill_right_after_the_press_loses_no_decision(
    stage: ProductSetup, wallet: NwcWallet
) -> None:
    port = free_port()
    async with stage.run(PORT=port, **SETTINGS) as run:
        run.secrets.add(wallet.secret)
        await run.ready()
        sam, alert, _ = await underpaid(stage, wallet)
        sam.person.press(alert, ACCEPT)

        async def is_stored() -> bool:
            return run.rows("SELECT state FROM claims") != [("underpaid",)]

        await until(is_stored)
        await run.kill()
    async with stage.run(PORT=port, **SETTINGS) as run:
        run.secrets.add(wallet.secret)
        await run.ready()
        await stage.world.wait_for(lambda: SOLD in alert.text, PATIENCE)
        assert run.rows("SELECT state FROM claims") == [("paid",)]
        assert run.rows("SELECT COUNT(*) FROM payments") == [(1,)]
