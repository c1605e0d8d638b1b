"""Sales whose invoices the real LNbits pays, whatever way the seller is paid by."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.lnbits.lnbits_server import Lightning
from tests.support.rail_shop import PRICE, RailShop, open_rail_shop

SOON = 2.0
"""Seconds from paying to the record of the payment: 1.5 between looks, and the look itself."""


@asynccontextmanager
async def open_lnbits_shop(
    folder: Path, lightning: Lightning, **settings: str
) -> AsyncIterator[RailShop]:
    """Sell by the seller's LNbits, whose key no log may have."""
    async with open_rail_shop(folder, RAILS="lnbits", **settings) as shop:
        shop.run.secrets.add(lightning.seller.inkey)
        await shop.connect("lnbits", url=lightning.shop.url, key=lightning.seller.inkey)
        yield shop


async def sell_one(shop: RailShop, lightning: Lightning, kind: str) -> str:
    """Sell one of two units by a way of this kind; return the receipt's page."""
    path, page, invoice = await shop.check_out(units=2)
    assert (await shop.checkout(page))["state"] == "open"
    await lightning.pay(invoice)
    assert (await shop.reach(page, "paid"))["amount"] == PRICE
    receipt = await shop.payer.get(page, follow_redirects=True)
    assert "Thank you! Your payment went through." in receipt.text
    (paid,) = await shop.payments(path)
    assert (paid["paidBy"]["kind"], paid["paidBy"]["amount"]) == (kind, PRICE)
    assert shop.units(path) == (1, 0)
    return receipt.text


async def sell_late(shop: RailShop, lightning: Lightning) -> tuple[list[int], tuple[int, int]]:
    """Pay the only unit after its reservation; return what was paid, and the units then."""
    path, page, invoice = await shop.check_out(units=1)
    await shop.reach(page, "lapsed")
    await lightning.pay(invoice)
    await shop.reach(page, "late")
    paid = [payment["paidBy"]["amount"] for payment in await shop.payments(path)]
    return paid, shop.units(path)


async def quickest_payment(shop: RailShop, lightning: Lightning, payments: int = 3) -> float:
    """Pay some checkouts with their pages open; the fewest seconds until one was recorded."""
    path = await shop.create(units=payments)
    waits = []
    for _ in range(payments):
        page = await shop.open(path)
        await lightning.pay(await shop.shown_invoice(page))
        began = time.monotonic()
        await shop.watch(page)
        waits.append(time.monotonic() - began)
    return min(waits)
