"""A Lightning address with a verify address, settled by the real LNbits behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lnbits.address_service import LNbitsAddress
from tests.lnbits.lnbits_server import Lightning
from tests.lnbits.sales import SOON, quickest_payment, sell_late, sell_one
from tests.lnbits.test_field_packages import ask_packages
from tests.support.lightning_wallet import serve_wallet, text_answer
from tests.support.rail_shop import PRICE, RailShop, open_rail_shop

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


@asynccontextmanager
async def selling(
    folder: Path, lightning: Lightning, **settings: str
) -> AsyncIterator[tuple[RailShop, LNbitsAddress]]:
    """Sell by a Lightning address, whose good answers are then held to the package `lnurl`."""
    address = LNbitsAddress(lightning)
    async with serve_wallet(address), open_rail_shop(folder, RAILS="lightning", **settings) as shop:
        account = await shop.connect("lightning", address=address.address)
        assert (account.status_code, account.json()["automatic"]) == (200, True)
        yield shop, address
    problems = ask_packages(answers=address.told)["problems"]
    assert problems == [None] * len(address.told)
    assert {route for route, _ in address.told} == {"offer", "invoice", "verify"}


async def test_an_address_is_paid_and_reports_it_itself(
    tmp_path: Path, lightning: Lightning
) -> None:
    async with selling(tmp_path, lightning) as (shop, _):
        await sell_one(shop, lightning, "lightning")
        assert await quickest_payment(shop, lightning) < SOON


async def test_money_after_the_reservation_is_late(tmp_path: Path, lightning: Lightning) -> None:
    async with selling(tmp_path, lightning, RESERVATION_SECONDS="5") as (shop, _):
        assert await sell_late(shop, lightning) == ([PRICE], (0, 0))


async def test_a_wallet_that_is_down_or_lies_costs_no_unit(
    tmp_path: Path, lightning: Lightning
) -> None:
    async with selling(tmp_path, lightning) as (shop, address):
        path, paid, invoice = await shop.check_out(units=3)
        false_answers: list[dict[str, Any]] = [
            {"pr": invoice},
            {"pr": "lnbc1"},
            {"verify": "http://10.0.0.1"},
        ]
        for false_answer in false_answers:
            address.changed["invoice"] = false_answer
            await shop.reach(await shop.open(path), "failed")
        address.answers["offer"] = text_answer("<html>Bad gateway</html>", 502)
        await shop.reach(await shop.open(path), "failed")
        assert shop.units(path) == (2, 1)

        address.changed["verify"] = {"settled": True, "preimage": "22" * 32}
        await shop.run.line("the wallet's preimage does not fit the invoice")
        assert (await shop.checkout(paid))["state"] == "open"
        address.changed.clear()
        address.answers["verify"] = text_answer("", 503)
        await lightning.pay(invoice)
        await shop.run.line("answers 503")
        assert (await shop.checkout(paid))["state"] == "open"
        address.answers.clear()
        await shop.reach(paid, "paid")
        assert shop.units(path) == (2, 0)
