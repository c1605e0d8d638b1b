"""The chat page of a running demo, as its seller uses it, and the phones of payers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import expect

from tests.support.chromium import PHONE, STILL, watch
from tests.support.form_questions import question_of
from tests.support.product_process import Process, patient_client

if TYPE_CHECKING:
    from playwright.async_api import Browser, FrameLocator, Locator, Page


@asynccontextmanager
async def open_demo(
    browser: Browser, demo: Process, folder: Path, **look: Any
) -> AsyncIterator[Page]:
    """Open a page of the demo that looks like `look`.

    Its pages must cause no problem, and its Telegram must have refused nothing.
    """
    context = await browser.new_context(base_url=demo.url, **(STILL | look))
    problems = watch(context, demo.url)
    try:
        yield await context.new_page()
    except BaseException as error:
        for number, page in enumerate(context.pages):
            await page.screenshot(path=folder / f"failed-{number}.png", full_page=True)
            for frame in page.frames[1:]:
                error.add_note(f"{frame.url}\n{await frame.locator('body').inner_text()}")
        error.add_note(f"screenshots in {folder}")
        raise
    finally:
        await context.close()
    assert problems == []
    async with patient_client(demo.url) as http:
        assert (await http.get("/chat/api/calls")).json()["refused"] == []


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.get_by_role("button", name="Send", exact=True).click()


def from_bot(page: Page | FrameLocator, words: str) -> Locator:
    """Locate the bot's messages with these words, with their buttons."""
    said = page.get_by_role("article", name="Message from Payment Requests")
    return page.get_by_role("listitem").filter(has=said).filter(has_text=words)


async def press(page: Page, words: str, button: str) -> None:
    """Press a button of the bot's last message with these words."""
    await from_bot(page, words).last.get_by_role("button", name=button).click()


async def paid_by_form(demo: Process, path: str) -> str:
    """Pay as a browser without scripts would; the path of the receipt."""
    async with patient_client(demo.url) as http:
        form = (await http.get(path)).text
        (token,) = re.findall(r'name="token" value="([^"]+)"', form)
        answer = await http.post(path, data={"token": token})
    assert answer.status_code == 303
    return urlsplit(answer.headers["location"]).path


@asynccontextmanager
async def german_payer(browser: Browser, link: str) -> AsyncIterator[Page]:
    """Open a pay page on a German phone of its own, whose pages must cause no problem."""
    url = f"{urlsplit(link).scheme}://{urlsplit(link).netloc}"
    context = await browser.new_context(viewport=PHONE, locale="de-DE", color_scheme="dark")
    problems = watch(context, url)
    try:
        page = await context.new_page()
        await page.goto(link)
        yield page
    finally:
        await context.close()
    assert [one for one in problems if "Failed to load resource" not in one] == []


async def make_by_line(page: Page, line: str, name: str) -> Locator:
    """Press START and make a payment link by one line; return its card."""
    await page.goto("/chat")
    await page.get_by_role("button", name="START").click()
    await expect(from_bot(page, "I make payment links for you")).to_be_visible()
    await say(page, line)
    await expect(from_bot(page, question_of("ask-destination"))).to_be_visible()
    await say(page, "$anna")
    picture = page.get_by_role("button", name="Open picture")
    return from_bot(page, name).filter(has=picture)


async def edit(page: Page, card: Locator, option: str, question: str, answer: str) -> None:
    """Set an option of a card."""
    await card.get_by_role("button", name="Edit").click()
    await card.get_by_role("button", name=option).click()
    await expect(from_bot(page, question)).to_be_visible()
    await say(page, answer)


async def link_on(card: Locator) -> str:
    return str(await card.get_by_role("link", name="Open").get_attribute("href"))
