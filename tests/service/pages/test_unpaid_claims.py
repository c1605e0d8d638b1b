"""Nobody locks a drop for free: fifty people who say that they paid hold half of it at most.

Those beyond hold their units for the ordinary time alone.

Everything goes over real HTTP; each payer has an address of their own, 127.0.0.x.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import httpx
import pytest

from bot.core.outbox import outbox
from bot.service.checkouts import inventory
from bot.service.checkouts.opening import OPENINGS, OpeningHandler
from bot.service.checkouts.polling import POLLS, PaymentPoller
from bot.service.rails.bank import BankRail
from bot.service.rails.rail import Arrived
from tests.support.asgi_server import serve_asgi
from tests.support.checkout_steps import units
from tests.support.product_process import PATIENCE
from tests.support.real_rails import TO_ANNA, ScriptedRail, connect, open_real_service
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    End = Callable[[ServiceHarness, list[str]], Awaitable[None]]

UNITS, CLAIMERS, BUYERS = 20, 50, 12
BANK = {"scheme": "sepa", "iban": "DE89370400440532013000", "name": "Anna Ott"}
DROP = {
    "instrumentCurrencyCode": "EUR",
    "receivers": TO_ANNA,
    "expirationType": "limit",
    "totalUnits": UNITS,
}
CLAIM_HOURS = 168
RESERVATION = 900_000


class Payer:
    """A payer with a browser and an address of their own."""

    def __init__(self, url: str, number: int) -> None:
        self.token = f"payer-{number:026d}"
        transport = httpx.AsyncHTTPTransport(local_address=f"127.0.0.{number}")
        self.browser = httpx.AsyncClient(transport=transport, base_url=url, timeout=PATIENCE)

    async def choose(self, page: str, way: str) -> httpx.Response:
        """Open the page, which sets the cookie, and press Pay."""
        await self.browser.get(page)
        return await self.browser.post(page, data={"token": self.token, "way": way})

    async def claim(self, page: str) -> str | None:
        """Choose the bank and say that the money was sent; the checkout, None if refused."""
        answer = await self.choose(page, "bank:sepa")
        if answer.status_code == 409:
            return None
        checkout = str(answer.headers["location"])
        assert (await self.browser.post(checkout, data={"action": "claim"})).status_code == 303
        return checkout


@asynccontextmanager
async def crowd(url: str, numbers: range) -> AsyncIterator[list[Payer]]:
    payers = [Payer(url, number) for number in numbers]
    try:
        yield payers
    finally:
        await asyncio.gather(*(payer.browser.aclose() for payer in payers))


async def work(service: ServiceHarness) -> None:
    """Open what is due at the wallet, and poll for its money."""
    opener = OpeningHandler(service.db, service.context, service.clock)
    poller = PaymentPoller(service.db, service.context, service.clock)
    for queue, handle in ((OPENINGS, opener.handle), (POLLS, poller.handle)):
        claim = partial(outbox.claim, queue=queue, now=service.clock(), room=100)
        while due := await service.db.transaction(claim):
            for message in due:
                await handle(message)
        service.clock.advance(5)


async def wait_for_the_end(service: ServiceHarness, claimed: list[str]) -> None:
    """Let the time pass for which a claim holds its unit."""
    del claimed
    service.clock.advance(CLAIM_HOURS * 3_600 - 60 - RESERVATION / 1000 - 2)
    await service.db.transaction(lambda tx: inventory.close_lapsed(tx, service.clock(), 100))
    assert (await units(service))[:2] == (0, UNITS // 2)
    service.clock.advance(60)
    await service.db.transaction(lambda tx: inventory.close_lapsed(tx, service.clock(), 100))


async def reject_all(service: ServiceHarness, claimed: list[str]) -> None:
    """Let the seller say of each claim that nothing came."""
    for checkout in claimed:
        path = f"/v3/checkouts/{checkout.rpartition('/')[2]}/reject"
        assert (await service.seller.post(path)).status_code == 200


@pytest.mark.simulation
@pytest.mark.parametrize("end", [wait_for_the_end, reject_all])
async def test_fifty_people_who_claim_and_never_pay(database_url: str, end: End) -> None:
    wallet = ScriptedRail(currencies=("EUR",), polls=[Arrived()] * BUYERS)
    settings = {"holds": 5, "reservation": RESERVATION, "claims": CLAIM_HOURS * 3_600_000}
    async with open_real_service(database_url, wallet, BankRail(), **settings) as service:
        assert (await connect(service, "bank", **BANK)).status_code == 200
        assert (await connect(service, "lightning")).status_code == 200
        made = await service.create(**DROP)
        page = f"/pay/{made['id']}"
        in_process = service.anyone._transport
        assert isinstance(in_process, httpx.ASGITransport)
        async with serve_asgi(in_process.app) as url:
            async with crowd(url, range(2, 2 + CLAIMERS)) as claimers:
                said = await asyncio.gather(*(payer.claim(page) for payer in claimers))
            claimed = [checkout for checkout in said if checkout]
            assert len(claimed) == UNITS
            assert (await units(service))[:2] == (0, UNITS)
            service.clock.advance(RESERVATION / 1000)

            async with crowd(url, range(100, 100 + BUYERS)) as buyers:
                chosen = [await payer.choose(page, "lightning") for payer in buyers]
                await work(service)
            got = Counter(answer.status_code for answer in chosen)
            assert got == {303: UNITS // 2, 409: BUYERS - UNITS // 2}
            assert await units(service) == (0, UNITS // 2, UNITS // 2, 0)

            await end(service, claimed)
            assert await units(service) == (UNITS // 2, 0, UNITS // 2, 0)
            async with crowd(url, range(200, 201)) as (late,):
                assert (await late.choose(page, "lightning")).status_code == 303
