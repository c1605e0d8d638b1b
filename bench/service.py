"""The figures of the service alone: creates, payments and pay pages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from bench.processes import Server, bare, service
from bench.rounds import Side, beside
from bench.table import Row

ALL = "/v3/paymentRequests"
FORM = "application/x-www-form-urlencoded"
SEE_OTHER = 303
OFFER = {
    "product": {"name": "Sticker pack", "description": "Ten of them"},
    "instrumentCurrencyCode": "USD",
    "receivers": [{"sendAmount": 2.5, "destination": "alice"}],
    "expirationType": "never",
}
POSTED = "bare FastAPI, a validated POST"
GOT = "bare FastAPI, a GET"


@dataclass(frozen=True, slots=True)
class Shop:
    """A service with an application of ours on it, and each of its replicas."""

    servers: Sequence[Server]
    app_id: str
    app_secret: str

    @property
    def url(self) -> str:
        """The address of the first one."""
        return self.servers[0].url

    async def call(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post to the interface; the answer."""
        headers = {"App-Id": self.app_id, "App-Secret": self.app_secret}
        async with httpx.AsyncClient(base_url=self.url, headers=headers) as http:
            return (await http.post(path, json=body)).raise_for_status().json()

    async def create(self, offer: Mapping[str, Any] = OFFER) -> str:
        """Make a request; the path of its pay page."""
        return f"/pay/{(await self.call(ALL, offer))['id']}"

    def creates(self) -> Side:
        """Make requests."""
        known = {"APP_ID": self.app_id, "APP_SECRET": self.app_secret}
        asked = {"PATH_ASKED": ALL, "BODY": json.dumps(OFFER)}
        return Side(self.servers, "post.lua", known | asked)

    async def payments(self, links: int = 1, offer: Mapping[str, Any] = OFFER) -> Side:
        """Pay so many new requests in turns, each time with a form that nobody has posted."""
        paths = [await self.create(offer) for _ in range(links)]
        return Side(self.servers, "pay.lua", {"PATHS": " ".join(paths)})


async def creates() -> list[Row]:
    """Measure requests made through the interface, each durable before its answer."""
    async with open_shop() as shop, bare() as other:
        return await beside(
            "creates", shop.creates(), bare_posts(other), POSTED, "≥ 0.3 ×", twice=True
        )


async def payments() -> list[Row]:
    """Measure pay forms, each paid and durable before its answer."""
    async with open_shop() as shop, bare() as other:
        ours = await shop.payments()
        return await beside("payments", ours, bare_posts(other), POSTED, "≥ 0.25 ×")


async def page() -> list[Row]:
    """Measure the pay page of an open request."""
    async with open_shop() as shop, bare() as other:
        ours = Side(shop.servers, "get.lua", {"PATH_ASKED": await shop.create()})
        theirs = Side([other], "get.lua", {"PATH_ASKED": "/"})
        return await beside("pay pages", ours, theirs, GOT, "≥ 0.6 ×", twice=True)


def bare_posts(server: Server) -> Side:
    """Post what a create says to a yardstick."""
    return Side([server], "post.lua", {"PATH_ASKED": "/", "BODY": json.dumps(OFFER)})


@asynccontextmanager
async def open_shop(
    settings: Mapping[str, str] | None = None, replicas: int = 1
) -> AsyncIterator[Shop]:
    """Run so many replicas of the service, all with these settings."""
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(service(settings or {})) for _ in range(replicas)
        ]
        told = await servers[0].command("apps", "create", "bench")
        made = dict(line.split("=", 1) for line in told.split())
        yield Shop(servers, made["APP_ID"], made["APP_SECRET"])
