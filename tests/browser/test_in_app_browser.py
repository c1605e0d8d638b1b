"""The client's own browser, in which pay pages open, and the list of the pay pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect

from tests.support.chat_page import open_chat_page
from tests.support.chromium import DESK, PHONE, accessibility_problems, fits
from tests.support.sandbox_server import Bot

if TYPE_CHECKING:
    from playwright.async_api import Browser, FrameLocator, Page

    from bot.sandbox.world import people


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

NO_PAGE = ("404",)
"""The sandbox has no pay pages: it answers that nothing is there, which the browser reports."""


async def send_card(bot: Bot, sam: people.Person, path: str, name: str = "Bread") -> dict[str, Any]:
    """Send a card with a button to a pay page; the message."""
    url = f"{bot.http.base_url}".rstrip("/") + path
    markup = {"inline_keyboard": [[{"text": "Pay", "url": url}]]}
    sent = await bot.done("sendMessage", chat_id=sam.id, text=f"{name}\n{url}", reply_markup=markup)
    return {"chat_id": sam.id, "message_id": sent["message_id"], "url": url}


def client(page: Page, size: Any) -> Page | FrameLocator:
    """Return the client on which pages open: the payer's phone, where it is beside the chat."""
    return page.frame_locator("#phone iframe") if size is DESK else page


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_a_pay_page_opens_on_the_phone_with_its_address(
    browser: Browser, bot: Bot, sam: people.Person, size: Any
) -> None:
    sent = await send_card(bot, sam, "/pay/0123")
    async with open_chat_page(browser, bot, NO_PAGE, viewport=size) as page:
        sheet = client(page, size).locator("#in-app")
        for opened in (True, False):
            await page.get_by_role("link", name="Pay", exact=True).click()
            await expect(sheet).to_be_visible()
            await expect(sheet).to_contain_text(sent["url"].removeprefix("http://"))
            frame = sheet.locator("iframe")
            await expect(frame).to_have_attribute("src", sent["url"])
            if opened:
                assert await accessibility_problems(page) == []
                assert await fits(page)
                await client(page, size).get_by_role("button", name="Close page").click()
            else:
                await sheet.press("Escape")
            await expect(sheet).to_be_hidden()
            await expect(frame).to_have_count(0)
        assert len(page.context.pages) == 1


async def test_any_other_page_opens_in_a_window_as_large_as_a_phone(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    url = (await send_card(bot, sam, "/elsewhere"))["url"]
    for size, width in ((DESK, 430), (PHONE, PHONE["width"])):
        async with open_chat_page(browser, bot, NO_PAGE, viewport=size) as page:
            async with page.expect_popup() as opening:
                await page.get_by_role("link", name="Pay", exact=True).click()
            opened = await opening.value
            assert (opened.url, await opened.evaluate("innerWidth")) == (url, width)


async def test_a_page_that_leads_to_another_site_ends_with_a_note(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    """The chat page asks nobody but its own server, as the browser then says."""
    await send_card(bot, sam, "/pay/0123")
    async with open_chat_page(browser, bot, ("other.example",)) as page:
        answer = {
            "body": '<title>Tea</title><a href="https://other.example/">On</a>',
            "content_type": "text/html",
        }
        await page.route("**/pay/0123", lambda route: route.fulfill(**answer))
        await page.get_by_role("link", name="Pay", exact=True).click()
        sheet = page.locator("#in-app")
        await expect(sheet.get_by_role("heading", name="Tea")).to_be_visible()
        await sheet.frame_locator("iframe").get_by_role("link", name="On").click()
        await expect(sheet).to_contain_text("leads to another site")
        await expect(sheet.locator("iframe")).to_have_count(0)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_pay_pages_are_listed(
    browser: Browser, bot: Bot, sam: people.Person, size: Any
) -> None:
    await send_card(bot, sam, "/pay/0123")
    async with open_chat_page(browser, bot, NO_PAGE, viewport=size) as page:
        await expect(page.get_by_role("link", name="Pay", exact=True)).to_be_visible()
        await open_list(page, size)
        await page.get_by_role("link", name="Bread /pay/0123").click()
        await expect(client(page, size).locator("#in-app")).to_be_visible()


async def open_list(page: Page, size: Any) -> None:
    if size is DESK:
        await page.get_by_role("tab", name="Pay pages").click()
        return
    await page.get_by_role("button", name="Back to chats").click()
    await page.get_by_role("button", name="Pay pages").click()


async def test_a_poster_is_no_pay_page(
    browser: Browser, bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    """The bot's sentence about a page neither lists nor renames it; a person's does.

    Of two pages of one second, the later is listed first.
    """
    second = bot.world.now()
    bot.world.now = lambda: second
    sent = await send_card(bot, sam, "/pay/0123")
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        await open_list(page, DESK)
        listed = page.get_by_role("list", name="Pay pages").get_by_role("link")
        await expect(listed).to_contain_text(["Bread"])
        menu = f"Poster for Bread\nPayment link: {sent['url']}"
        place = {name: sent[name] for name in ("chat_id", "message_id")}
        await bot.done("editMessageText", **place, text=menu)
        other = f"Poster for Cake\nPayment link: {sent['url'].removesuffix('0123')}4567"
        await bot.done("sendMessage", chat_id=sam.id, text=other)
        sam.send(f"Tea: {sent['url'].removesuffix('0123')}89ab", sam.dialog(pat))
        await expect(listed).to_contain_text(["Tea", "Bread"])
