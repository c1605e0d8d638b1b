"""The person whom the chat page acts as: the one chosen last, however late it is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import expect

from bot.sandbox.world import people
from tests.support.chat_page import open_chat_page
from tests.support.chromium import DESK
from tests.support.product_process import PATIENCE
from tests.support.sandbox_server import Bot

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Route

    from bot.sandbox.world.model import Chat


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all


@pytest.fixture
def market(bot: Bot) -> Chat:
    """Return the group of Sam, whom the page acts as at first, and Pat."""
    return next(chat for chat in bot.world.chats.values() if chat.is_group)


@asynccontextmanager
async def late(page: Page, user: int) -> AsyncIterator[asyncio.Event]:
    """Keep the answers with this person's chats until the block ends; set once one is asked for."""
    asked, over = asyncio.Event(), asyncio.Event()

    async def keep(route: Route) -> None:
        if parse_qs(urlsplit(route.request.url).query).get("user") != [str(user)]:
            await route.continue_()
            return
        answer = await route.fetch()
        asked.set()
        await over.wait()
        await route.fulfill(response=answer)

    await page.route("**/chat/api/state?*", keep)
    yield asked
    over.set()


async def write(page: Page, text: str) -> None:
    await page.get_by_role("button", name="Saturday market").click()
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def sender(bot: Bot, chat: Chat) -> str:
    """Return the person who sent the first message in a chat."""
    await bot.world.wait_for(lambda: chat.visible, PATIENCE)
    return chat.visible[0].sender.first_name


async def test_nobody_acts_until_the_chosen_person_is_loaded(
    browser: Browser, bot: Bot, market: Chat
) -> None:
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        await expect(page.get_by_role("log")).to_contain_text("/start")
        async with late(page, 1002) as asked:
            await page.get_by_label("You are").select_option("Pat Payer")
            await asked.wait()
            await expect(page.get_by_label("Message", exact=True)).to_be_disabled()
            await expect(page.locator("#chat-pane")).to_have_js_property("inert", value=True)
            await expect(page.locator("#side-entries")).to_have_js_property("inert", value=True)
            writing = asyncio.create_task(write(page, "Good morning"))
        await writing
        assert await sender(bot, market) == "Pat"


async def test_a_late_answer_about_the_previous_person_changes_nothing(
    browser: Browser, bot: Bot, market: Chat
) -> None:
    """The page asks again whenever something happens in a chat: that answer may be overtaken."""
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        await expect(page.get_by_role("log")).to_contain_text("/start")
        async with late(page, 1001) as asked:
            people.join(bot.world, "Eve")
            await asked.wait()
            await page.get_by_label("You are").select_option("Pat Payer")
            await expect(page.get_by_role("button", name="Sam Seller")).to_be_visible()
        await expect(page.get_by_label("You are")).to_have_value("1002")
        await write(page, "Good morning")
        assert await sender(bot, market) == "Pat"


async def test_if_a_person_cannot_be_loaded_the_previous_one_stays(
    browser: Browser, bot: Bot, market: Chat
) -> None:
    async with open_chat_page(browser, bot, ("500",), viewport=DESK) as page:
        await expect(page.get_by_role("log")).to_contain_text("/start")
        await page.route(
            "**/chat/api/state?user=1002",
            lambda route: route.fulfill(status=500, json={"error": "out of order"}),
        )
        await page.get_by_label("You are").select_option("Pat Payer")
        await expect(page.get_by_text("out of order")).to_be_visible()
        await expect(page.get_by_label("You are")).to_have_value("1001")
        await write(page, "Good morning")
        assert await sender(bot, market) == "Sam"


async def test_a_message_that_failed_returns_to_the_person_who_wrote_it(
    browser: Browser, bot: Bot
) -> None:
    async with open_chat_page(browser, bot, ("500",), viewport=DESK) as page:
        field = page.get_by_label("Message", exact=True)
        over = asyncio.Event()

        async def fail(route: Route) -> None:
            await over.wait()
            await route.fulfill(status=500, json={"error": "out of order"})

        await page.route("**/chat/api/send", fail)
        await write(page, "Good morning")
        await page.get_by_label("You are").select_option("Pat Payer")
        await expect(page.get_by_role("button", name="Sam Seller")).to_be_visible()
        over.set()
        await expect(page.get_by_text("out of order")).to_be_visible()
        await expect(field).to_have_value("")
        await page.get_by_label("You are").select_option("Sam Seller")
        await expect(field).to_have_value("Good morning")


async def test_the_chosen_people_survive_a_reload(browser: Browser, bot: Bot) -> None:
    """Here and on the phone beside the chat."""
    people.join(bot.world, "Eve")
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        phone = page.frame_locator("#phone iframe")
        await page.get_by_label("You are").select_option("Pat Payer")
        await phone.get_by_label("You are").select_option("Eve")
        await expect(phone.get_by_label("You are")).to_have_value("1003")
        await page.reload()
        await expect(page.get_by_label("You are")).to_have_value("1002")
        await expect(phone.get_by_label("You are")).to_have_value("1003")
