"""A real Chromium, and a watch on errors and foreign requests of its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import ViewportSize, async_playwright

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
SMALL: ViewportSize = {"width": 320, "height": 640}
PHONE: ViewportSize = {"width": 390, "height": 780}
DESK: ViewportSize = {"width": 1280, "height": 800}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOOKS = list(zip((SMALL, DESK), SCHEMES, strict=True))
"""Each size and each scheme once: a size changes no colour, and a scheme no place."""

STILL: Any = {"reduced_motion": "reduce"}
"""For contexts of the chat page: a click into the frame of a sheet that still rises would miss."""

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""The rules that axe checks."""


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


def watch(context: BrowserContext, home: str) -> list[str]:
    """Collect the problems of the pages of a context.

    That is every error and warning, and every request to an address that is not of `home`.
    """
    problems: list[str] = []

    def check_address(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https") and address.netloc != urlsplit(home).netloc:
            problems.append(f"asked {request.url}")

    def check_message(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")

    context.on("request", check_address)
    context.on("console", check_message)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    return problems


async def fits(page: Page) -> bool:
    """Check that nothing sticks out sideways."""
    return bool(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


async def accessibility_problems(page: Page) -> list[str]:
    """Check a page with axe, under the page's own policy; return the elements that break a rule."""
    found = await Axe().run(page, options={"runOnly": RULES})
    assert found.response["passes"]
    return [
        f"{one['id']}: {node['html']}"
        for one in found.response["violations"]
        for node in one["nodes"]
    ]


async def small_targets(page: Page) -> list[str]:
    """Return what can be pressed and is lower than 44 pixels, but for links in text."""
    pressed = "button, .button, input:not([type=hidden]), select, summary"
    found: list[str] = await page.evaluate(
        f"[...document.querySelectorAll('{pressed}')]"
        ".filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 44)"
        ".map(one => one.outerHTML)"
    )
    return found


async def problems_of_looks(page: Page) -> list[str]:
    """Return what breaks a rule in any look; a page has one heading, one title, and fits."""
    found, titles = [], set()
    for size, scheme in LOOKS:
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme=scheme)
        found += await accessibility_problems(page)
        found += [f"{one} is small" for one in await small_targets(page)]
        if not await fits(page):
            found.append(f"it does not fit {size}")
        if await page.locator("h1:visible").count() != 1:
            found.append("it has not one heading")
        titles.add(await page.title())
    if len(titles) != 1 or titles == {""}:
        found.append(f"its titles are {titles}")
    return found
