"""Part of the figure `neighbours`: how late invoices are beside a wallet that never answers."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from bench.processes import FREE_SERVICE, Server, service
from bench.table import Row, percentile
from tests.support.lightning_wallet import INVOICE_KEY, LNbitsStandIn, serve_wallet

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


LOCAL = "127.0.0.1"
SELLERS = 10
ROUNDS = 5
PAYERS = 120
EVERY = 0.05
"""Seconds between two payers of all the sellers, and between two at the neighbour."""

WARM_UP = 20
PATIENCE = 30.0
INVOICE = "lightning:lnbc"
SETTINGS = {
    **FREE_SERVICE,
    "RAILS": "lnbits",
    "RAIL_ALLOW": LOCAL,
    "RATES_URLS": "table",
    "PAYER_HOLDS": "0",
    "HOST_CALLS": "0",
    "LOG_LEVEL": "error",
}
OFFER = {
    "product": {"name": "Coffee"},
    "instrumentCurrencyCode": "SAT",
    "expirationType": "never",
}


@dataclass
class Wallets(LNbitsStandIn):
    """The LNbits of sellers; it answers who asks for an invoice while it `talks`."""

    talks: asyncio.Event = field(default_factory=asyncio.Event)

    async def _payments(self, request: Request) -> Response:
        body = await request.json()
        if not body["out"]:
            await self.talks.wait()
        return await super()._payments(request)


@dataclass(frozen=True, slots=True)
class Market:
    """The service with the pay pages of its sellers; the first one's wallet is the neighbour's."""

    transport: httpx.AsyncHTTPTransport
    server: Server
    pages: list[str]

    def client(self) -> httpx.AsyncClient:
        """Return a payer without cookies: the same payer would get the same invoice."""
        return httpx.AsyncClient(
            base_url=self.server.url, transport=self.transport, timeout=PATIENCE
        )

    async def begin(self, page: str) -> tuple[httpx.AsyncClient, str]:
        """Post the form of a page; the payer, and the address of the checkout."""
        payer = self.client()
        answer = await payer.post(page, data={"token": secrets.token_hex(16)})
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise RuntimeError(f"no checkout: {answer.status_code}")
        return payer, answer.headers["location"]

    async def lag(self, page: str) -> float:
        """Pay one page; the seconds from the form posted to the invoice shown."""
        began = time.perf_counter()
        payer, checkout = await self.begin(page)
        while INVOICE not in (await payer.get(checkout)).text.lower():
            if time.perf_counter() - began > PATIENCE:
                raise RuntimeError("no invoice came")
        return time.perf_counter() - began

    async def lags(self) -> list[float]:
        """Pay the pages of all sellers but the neighbour in turn, evenly."""
        turns = itertools.cycle(self.pages[1:])
        loop = asyncio.get_running_loop()
        due, tasks = loop.time(), []
        for _ in range(PAYERS):
            tasks.append(asyncio.create_task(self.lag(next(turns))))
            due += EVERY
            await asyncio.sleep(due - loop.time())
        return (await asyncio.gather(*tasks))[WARM_UP:]

    async def crowd(self) -> None:
        """Send payers to the neighbour without end."""
        while True:
            await self.begin(self.pages[0])
            await asyncio.sleep(EVERY)


async def wallets() -> list[Row]:
    """Pay form posted to its invoice shown, beside a wallet in both manners, which take turns."""
    calm: list[list[float]] = []
    rough: list[list[float]] = []
    for _ in range(ROUNDS):
        calm.append(await _lags(silent=False))
        rough.append(await _lags(silent=True))
    return [
        Row(
            f"invoice beside a wallet that never answers, p{percent}",
            median(percentile(lags, percent) for lags in rough) * 1000,
            "ms",
            median(percentile(lags, percent) for lags in calm) * 1000,
            "beside the same wallet, answering",
            "≤ 1.2 ×",
        )
        for percent in (50, 99)
    ]


async def _lags(*, silent: bool) -> list[float]:
    async with _market(silent=silent) as market:
        crowd = asyncio.create_task(market.crowd())
        await asyncio.sleep(1)
        lags = await market.lags()
        crowd.cancel()
        await asyncio.wait([crowd])
        return lags


@asynccontextmanager
async def _market(*, silent: bool) -> AsyncIterator[Market]:
    def clock() -> int:
        return time.time_ns() // 1_000_000

    invoices: dict[str, str] = {}  # of both: an invoice handed out twice is refused
    neighbour, others = (Wallets(clock, preimages=invoices) for _ in range(2))
    async with serve_wallet(neighbour), serve_wallet(others), service(SETTINGS) as server:
        lines = (await server.command("apps", "create", "Market")).split()
        known = dict(line.split("=", 1) for line in lines if "=" in line)
        headers = {"app-id": known["APP_ID"], "app-secret": known["APP_SECRET"]}
        async with httpx.AsyncClient(base_url=server.url, headers=headers) as api:
            pages = [await _shop(api, 0, neighbour.url)]
            pages += [await _shop(api, owner, others.url) for owner in range(1, SELLERS + 1)]
        others.talks.set()
        if not silent:
            neighbour.talks.set()
        async with httpx.AsyncHTTPTransport() as transport:
            yield Market(transport, server, pages)
        neighbour.talks.set()


async def _shop(api: httpx.AsyncClient, number: int, wallet: str) -> str:
    """Connect a seller's wallet and make a request; the path of its pay page."""
    owner = f"seller-{number}"
    account = {"owner": owner, "kind": "lnbits", "details": {"url": wallet, "key": INVOICE_KEY}}
    (await api.post("/v3/payoutAccounts", json=account)).raise_for_status()
    receivers = [{"destination": f"account:{owner}", "sendAmount": 21}]
    answer = await api.post("/v3/paymentRequests", json=OFFER | {"receivers": receivers})
    link: str = answer.raise_for_status().json()["paymentRequestUrl"]
    return urlsplit(link).path
