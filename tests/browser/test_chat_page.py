"""The chat page in a real browser: talking, pressing, sharing, reading emails."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from playwright.async_api import expect

from bot.sandbox.web.control import SHOWN_MESSAGES
from tests.support.chat_page import HOSTILE_MAIL, KEYBOARD, offer, open_chat_page, stop_clock
from tests.support.chromium import DESK
from tests.support.product_process import PATIENCE
from tests.support.sandbox_server import Bot, demo_cast, png_header

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

    from bot.sandbox.world import people


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

FADE = 1_200
"""Milliseconds for which the day of the messages stays after they have moved."""


@pytest_asyncio.fixture(loop_scope="session")
async def bot() -> AsyncIterator[Bot]:
    async with demo_cast() as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, bot: Bot) -> AsyncIterator[Page]:
    async with open_chat_page(browser, bot) as opened:
        yield opened


async def test_a_person_starts_the_bot_and_talks_to_it(
    bot: Bot, page: Page, sam: people.Person
) -> None:
    await bot.done("setMyDescription", description="Makes payment links")
    await page.goto("/chat")
    await expect(page.get_by_role("note")).to_have_text("Sandbox — not real Telegram")
    await expect(page.get_by_text("Makes payment links")).to_be_visible()
    await page.get_by_role("button", name="START").click()
    await expect(page.get_by_role("article", name="Message from You")).to_contain_text("/start")
    text = "<b>Hi</b> &lt;img src=x onerror=alert(1)&gt;"
    sent = await bot.done("sendMessage", chat_id=sam.id, text=text, parse_mode="HTML")
    article = page.get_by_role("article", name="Message from Payment Requests")
    await expect(article.locator("strong")).to_have_text("Hi")
    await expect(article).to_contain_text("<img src=x onerror=alert(1)>")
    place = {"chat_id": sam.id, "message_id": sent["message_id"]}
    await bot.done("editMessageText", **place, text="Changed")
    await expect(article).to_contain_text("Changed")
    await expect(article).to_contain_text("edited")
    await bot.done("deleteMessage", **place)
    await expect(article).to_have_count(0)
    await page.get_by_label("Message", exact=True).fill("a < b")
    await page.get_by_role("button", name="Send", exact=True).click()
    await bot.world.wait_for(lambda: sam.chat.visible[-1].text == "a < b", PATIENCE)


async def test_buttons_and_pictures_work_in_the_page(
    bot: Bot, page: Page, sam: people.Person
) -> None:
    sam.start()
    await bot.updates()
    await bot.upload(
        "sendPhoto",
        {"photo": png_header(60, 60)},
        chat_id=sam.id,
        caption="QR",
        reply_markup=json.dumps(KEYBOARD),
    )
    await page.goto("/chat")
    await page.get_by_role("button", name="Copy link").click()
    await expect(page.get_by_role("status")).to_have_text("Copied to clipboard")
    assert await page.evaluate("navigator.clipboard.readText()") == "https://example.com/pay"
    link = page.get_by_role("link", name="Pay")
    await expect(link).to_have_attribute("target", "_blank")
    await expect(link).to_have_attribute("href", "https://example.com/pay")
    await page.get_by_role("button", name="Open picture: QR").click()
    await page.get_by_role("button", name="Close picture").click()
    await page.get_by_role("button", name="Yes").click()
    update = await bot.update()
    number = update["callback_query"]["id"]
    answer = {"callback_query_id": number, "text": "Really?", "show_alert": True}
    await bot.done("answerCallbackQuery", **answer)
    await expect(page.get_by_role("dialog")).to_contain_text("Really?")


async def test_commands_are_hinted_while_typing(bot: Bot, page: Page, sam: people.Person) -> None:
    sam.start()
    commands = [{"command": name, "description": f"{name}!"} for name in ("new", "list")]
    await bot.done("setMyCommands", commands=commands)
    await page.goto("/chat")
    await page.get_by_label("Message", exact=True).fill("/")
    await expect(page.get_by_role("option")).to_have_count(2)
    await page.get_by_label("Message", exact=True).fill("/n")
    await page.get_by_role("option", name="/new").click()
    await bot.world.wait_for(lambda: sam.chat.visible[-1].text == "/new", PATIENCE)


async def test_emails_are_read_in_the_page_as_they_come(browser: Browser, bot: Bot) -> None:
    """What a mail asks others for and would run is stopped, as the browser then says."""
    stopped = ("thief.example", "/chat/mails/")
    async with open_chat_page(browser, bot, stopped) as page:
        bot.world.mails.address = "smtp://127.0.0.1:2525"
        lost: list[tuple[str, str | None]] = []
        page.on("requestfailed", lambda request: lost.append((request.url, request.failure)))
        await page.goto("/chat")
        await page.get_by_role("button", name="Back to chats").click()
        await page.get_by_role("button", name="Emails None sent yet").click()
        await expect(page.get_by_text("smtp://127.0.0.1:2525")).to_be_visible()
        bot.world.deliver(HOSTILE_MAIL, ("seller@example.org",))
        await expect(page.get_by_text("1 sent")).to_be_visible()
        emails = page.get_by_role("list", name="Emails sent")
        await emails.get_by_role("button", name="<b>Paid</b> ☕").click()
        inside = page.frame_locator("iframe").get_by_role("heading", name="As HTML")
        await expect(inside).to_have_css("color", "rgb(1, 2, 3)")
        await expect(page).to_have_title(re.compile("^Emails"))
        await page.get_by_role("button", name="Text", exact=True).click()
        await expect(page.get_by_label("The email as text")).to_have_text("As text <b>")
        await expect(page.locator("iframe")).to_be_hidden()
        await page.get_by_role("button", name="Back", exact=True).click()
        await page.get_by_role("button", name="Back", exact=True).click()
        await page.get_by_role("button", name="Payment Requests").click()
        bot.world.deliver(HOSTILE_MAIL, ("other@example.org",))
        await expect(page.get_by_role("status")).to_have_text(
            "Email to other@example.org: <b>Paid</b> ☕"
        )
        await page.get_by_role("button", name="Back to chats").click()
        entry = page.get_by_role("button", name="Emails")
        await expect(entry.get_by_label("1 unread")).to_be_visible()
        assert ("https://thief.example/seen.png", "csp") in lost


async def test_without_a_mail_server_there_are_no_emails_in_the_page(bot: Bot, page: Page) -> None:
    await page.goto("/chat")
    await page.get_by_role("button", name="Back to chats").click()
    await expect(page.get_by_role("button", name="Saturday market")).to_be_visible()
    await expect(page.get_by_role("button", name="Emails")).to_have_count(0)
    assert bot.world.mails.address is None


async def test_only_the_answer_to_the_last_words_is_shown(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    sam.start()
    await bot.updates()
    async with open_chat_page(browser, bot) as page:
        text = page.get_by_label("Message", exact=True)
        await text.fill("@PaymentRequestBot tea")
        first = await bot.update()
        await text.fill("@PaymentRequestBot cake")
        second = await bot.update()
        await offer(bot, second, "Cake", "x")
        await offer(bot, first, "Tea", "x")
        await expect(page.get_by_role("option")).to_have_count(1)
        await expect(page.get_by_role("option", name="Cake")).to_be_visible()
        await text.fill("")
        await expect(page.get_by_role("option")).to_have_count(0)


async def test_a_draft_waits_in_its_chat(browser: Browser, bot: Bot, sam: people.Person) -> None:
    sam.start()
    await bot.updates()
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        text = page.get_by_label("Message", exact=True)
        await text.fill("half a sentence")
        await page.get_by_role("button", name="Saturday market").click()
        await expect(text).to_have_value("")
        await page.get_by_role("button", name="Payment Requests").click()
        await expect(text).to_have_value("half a sentence")


async def test_new_messages_do_not_scroll_a_reader_who_is_further_up(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    sam.start()
    for number in range(30):
        await bot.done("sendMessage", chat_id=sam.id, text=f"message {number}")
    async with open_chat_page(browser, bot) as page:
        await expect(page.get_by_role("article").filter(has_text="message 29")).to_be_in_viewport()
        await page.locator("#scroller").evaluate("box => { box.scrollTop = 0; }")
        below = page.get_by_role("button", name="To the newest message")
        await expect(below).to_be_visible()
        await bot.done("sendMessage", chat_id=sam.id, text="the newest")
        await expect(below).to_have_attribute("data-count", "1")
        assert await page.locator("#scroller").evaluate("box => box.scrollTop") == 0
        await below.click()
        await expect(page.get_by_role("article").filter(has_text="the newest")).to_be_in_viewport()
        await expect(below).to_be_hidden()


async def test_a_keyboard_alone_reaches_everything(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    """The chats first, then the conversation, then what stands beside it; back to the list."""
    sam.start()
    async with open_chat_page(browser, bot) as page:
        await expect(page.get_by_role("article")).to_be_visible()
        await page.get_by_role("button", name="Back to chats").press("Enter")
        await expect(page.get_by_role("button", name="Payment Requests")).to_be_focused()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name="Saturday market")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Saturday market")).to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()


async def test_an_old_message_that_is_edited_stays_where_it_was(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    """One among the messages shown is replaced there; one before them is not shown at all."""
    sam.start()
    sent = [
        await bot.done("sendMessage", chat_id=sam.id, text=f"message {number}")
        for number in range(SHOWN_MESSAGES + 5)
    ]
    async with open_chat_page(browser, bot) as page:
        articles = page.get_by_role("article")
        await expect(articles).to_have_count(SHOWN_MESSAGES)
        for number in (0, 10):
            place = {"chat_id": sam.id, "message_id": sent[number]["message_id"]}
            await bot.done("editMessageText", **place, text=f"changed {number}")
        await expect(articles.filter(has_text="changed 10")).to_have_count(1)
        await expect(articles.last).to_contain_text(f"message {SHOWN_MESSAGES + 4}")
        await expect(articles).to_have_count(SHOWN_MESSAGES)
        shown = await articles.all_inner_texts()
        assert "changed 10" in shown[10 - 5]


async def test_the_day_fades_when_the_messages_stand(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    """At its own place it stays: only over other messages it would be in the way."""
    sam.start()
    sent = bot.world.now()
    bot.world.now = lambda: sent  # all on one day
    for number in range(30):
        await bot.done("sendMessage", chat_id=sam.id, text=f"message {number}")
    async with open_chat_page(browser, bot) as page:
        day, scroller = page.locator(".day"), page.locator("#scroller")
        messages = page.locator("#messages")
        await expect(page.get_by_role("article").last).to_be_in_viewport()
        await expect(day).to_have_css("opacity", "0")
        await stop_clock(page)
        for move, end in (("box.scrollTop -= 200", "0"), ("box.scrollTop = 0", "1")):
            await scroller.evaluate(f"box => {{ {move}; }}")
            await expect(messages).to_have_class("moving")
            await expect(day).to_have_css("opacity", "1")
            await page.clock.run_for(FADE)
            await expect(messages).not_to_have_class("moving")
            await expect(day).to_have_css("opacity", end)
