"""Payers with a real browser before the service on a real port, its clock in the test's hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.core.database.vault import Vault
from bot.service.api.callers import COOKIE, COOKIE_PATH
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.asgi_server import serve_asgi
from tests.support.chromium import PHONE, watch
from tests.support.databases import open_in
from tests.support.free_ports import free_port
from tests.support.product_process import patient_client
from tests.support.service_harness import Clock, ServiceHarness, headers_of, make_service

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page


@asynccontextmanager
async def open_service_on_port(folder: Path, **settings: Any) -> AsyncIterator[ServiceHarness]:
    """Open the service on a port, with the address that its pages and pictures name."""
    db, clock, vault = open_in(folder), Clock(), Vault("key")
    credentials = db.run(lambda tx: applications.create(tx, vault, "shop", clock()))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    service = make_service(db, clock, url, **settings)
    app, context = create_app(service), service.payment_context
    headers = headers_of(credentials)
    async with (
        serve_asgi(app, int(port)),
        patient_client(url, headers) as seller,
        patient_client(url) as anyone,
    ):
        yield ServiceHarness(db, clock, vault, credentials, seller, anyone, context)
    db.close()


@dataclass
class Payer:
    """A payer's browser profile, and the addresses it asked for."""

    context: BrowserContext
    asked: list[str] = field(default_factory=list)

    async def look(self, path: str) -> Page:
        """Open a page in its own tab."""
        page = await self.context.new_page()
        await page.goto(path)
        return page


@asynccontextmanager
async def payer(browser: Browser, service: ServiceHarness, **look: Any) -> AsyncIterator[Payer]:
    """Open a browser profile that looks like `look`.

    It must keep nothing but the payer's cookie, and its pages must cause no problem but pictures
    that do not load.
    """
    url = str(service.anyone.base_url).rstrip("/")
    context = await browser.new_context(base_url=url, **({"viewport": PHONE} | look))
    who, problems = Payer(context), watch(context, url)
    context.on("request", lambda request: who.asked.append(request.url))
    try:
        yield who
        kept = await context.cookies()
        assert {(one["name"], one["path"]) for one in kept} <= {(COOKIE, COOKIE_PATH)}
        assert all(one["httpOnly"] and one["sameSite"] == "Lax" for one in kept)
    finally:
        await context.close()
    assert [one for one in problems if "Failed to load resource" not in one] == []
