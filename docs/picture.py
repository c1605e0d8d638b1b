"""Draws docs/picture.png, the README's picture: `python docs/picture.py`.

The demo is played in Chromium: a seller makes a donation link in the chat, a payer chooses an
amount and writes a message. Pay page and receipt are put beside the chat with the alert. Needs a
Chromium (or CHROMIUM naming one) and, for the buttons' signs, a font with emoji such as Noto Color
Emoji.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.async_api import Page, async_playwright

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "picture.png"
WIDTH, HEIGHT, PAY_HEIGHT = 440, 1160, 560
GAP = 12
BETWEEN = "#b8c4d2"
COLOURS = 256
START_SECONDS = 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


async def draw() -> None:
    """Play the demo and keep its picture."""
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    async with demo() as address, async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        context = await chromium.new_context(
            locale="en-US", viewport={"width": WIDTH, "height": HEIGHT}
        )
        chat, page = await context.new_page(), await context.new_page()
        link = await sell(chat, f"{address}/chat")
        await page.wait_for_timeout(1000)  # until the service knows the name
        await page.goto(link)
        await page.get_by_role("radio", name="$10", exact=True).click()
        pay = await shot(page, PAY_HEIGHT)
        await page.get_by_text("Add your name or a message").click()
        await page.get_by_label("Your name").fill("Mia")
        await page.get_by_label("Your message").fill("For the drums!")
        await page.get_by_role("button", name="Pay").click()
        receipt = await shot(page, HEIGHT - PAY_HEIGHT - GAP)
        log = chat.get_by_role("log")
        await log.get_by_text("For the drums!").wait_for()
        await log.get_by_text("1 payment").wait_for()  # the card, refreshed
        together(pay, receipt, await shot(chat, HEIGHT)).save(PICTURE, optimize=True)


async def sell(chat: Page, address: str) -> str:
    """Make a donation link as a seller does, in the name that Telegram has; return its link."""
    await chat.goto(address)
    await chat.get_by_role("button", name="START").click()
    for text in ("/donation 5/10/20 USD New drums", "$sam"):
        await chat.get_by_label("Message", exact=True).fill(text)
        await chat.get_by_role("button", name="Send", exact=True).click()
        await chat.wait_for_timeout(500)
    await chat.get_by_role("button", name="Use “Sam Seller”").click()
    log = chat.get_by_role("log")
    await log.get_by_text("Your links now say").wait_for()
    await log.get_by_text("edited").nth(1).wait_for()  # the card, with the seller
    return await chat.get_by_role("link", name="Open").get_attribute("href") or ""


async def shot(page: Page, height: int) -> Image.Image:
    """Take a picture of a page as a phone of that height shows it."""
    await page.bring_to_front()
    await page.set_viewport_size({"width": WIDTH, "height": height})
    await page.wait_for_timeout(300)
    return Image.open(io.BytesIO(await page.screenshot()))


def together(pay: Image.Image, receipt: Image.Image, chat: Image.Image) -> Image.Image:
    """Put the payer's pages above each other and the chat beside them, in few colours."""
    whole = Image.new("RGB", (2 * WIDTH + GAP, HEIGHT), BETWEEN)
    whole.paste(pay, (0, 0))
    whole.paste(receipt, (0, PAY_HEIGHT + GAP))
    whole.paste(chat, (WIDTH + GAP, 0))
    return whole.quantize(COLOURS)


@asynccontextmanager
async def demo() -> AsyncIterator[str]:
    """Run the demo on a database of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free, TemporaryDirectory() as folder:
        port = free.getsockname()[1]
        free.close()
        settings = {"PORT": str(port), "DATABASE_URL": f"sqlite:///{folder}/demo.db"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "demo", "--no-browser"),
            cwd=ROOT,
            env={**os.environ, **settings},
        )
        try:
            await asyncio.sleep(START_SECONDS)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            await process.wait()


if __name__ == "__main__":
    asyncio.run(draw())
