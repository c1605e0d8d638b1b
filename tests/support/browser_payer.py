"""Payers with a real browser before the service on a real port, its clock in the test's hand."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
from playwright.async_api import ViewportSize, async_playwright

from bot.core.database.database import open_database
from bot.core.database.vault import Vault
from bot.service.app import create_app
from bot.service.http.dependencies import Service
from bot.service.http.payers import COOKIE, PATH
from bot.service.usecases import applications
from tests.support.chat_page import CHROMIUM, FLAGS
from tests.support.product_process import free_port
from tests.support.sandbox_server import serve_asgi
from tests.support.service_harness import Clock, ServiceHarness, headers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request

SMALL: ViewportSize = {"width": 320, "height": 640}
PHONE: ViewportSize = {"width": 390, "height": 780}
DESK: ViewportSize = {"width": 1280, "height": 800}


@asynccontextmanager
async def opened(folder: Path, **settings: Any) -> AsyncIterator[ServiceHarness]:
    """Open the service on a port, with the address that its pages and pictures name."""
    db, clock, vault = open_database(f"sqlite:///{folder}/bot.db"), Clock(), Vault("key")
    credentials = db.run(lambda tx: applications.create(tx, vault, "shop", clock()))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    app = create_app(Service(db=db, now=clock, public_url=url, **settings))
    headers = headers_of(credentials)
    async with (
        serve_asgi(app, int(port)),
        httpx.AsyncClient(base_url=url, trust_env=False, headers=headers) as seller,
        httpx.AsyncClient(base_url=url, trust_env=False) as anyone,
    ):
        yield ServiceHarness(db, clock, vault, credentials, seller, anyone)
    db.close()


@dataclass
class Payer:
    """Somebody's browser: what it asked for, and what it complained of."""

    context: BrowserContext
    home: str
    problems: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def look(self, path: str) -> Page:
        """Open a page in a tab of its own."""
        page = await self.context.new_page()
        await page.goto(path)
        return page

    def watch(self) -> None:
        self.context.on("request", self._asked)
        self.context.on("console", self._complained)
        self.context.on("weberror", lambda error: self.problems.append(str(error.error)))

    def _asked(self, request: Request) -> None:
        address = urlsplit(request.url)
        self.asked.append(request.url)
        if address.scheme in ("http", "https") and address.netloc != self.home:
            self.problems.append(f"asked {request.url}")

    def _complained(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.problems.append(f"console: {message.text}")


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def payer(browser: Browser, service: ServiceHarness, **look: Any) -> AsyncIterator[Payer]:
    """A browser's profile that looks like `look`; it complains of nothing, keeps one cookie."""
    url = str(service.anyone.base_url).rstrip("/")
    context = await browser.new_context(base_url=url, **({"viewport": PHONE} | look))
    who = Payer(context, urlsplit(url).netloc)
    who.watch()
    try:
        yield who
        kept = await context.cookies()
        assert {(one["name"], one["path"]) for one in kept} <= {(COOKIE, PATH)}
        assert all(one["httpOnly"] and one["sameSite"] == "Lax" for one in kept)
    finally:
        await context.close()
    assert who.problems == []


async def fits(page: Page) -> bool:
    """Whether nothing sticks out sideways."""
    return bool(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
