"""The chat page as a chat client: its look, its functions, its accessibility."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pytest
from playwright.async_api import expect

from bot.sandbox.world import people
from tests.support.chat_page import KEYBOARD, open_chat_page, picture, stop_clock
from tests.support.chromium import DESK, SMALL, accessibility_problems, fits
from tests.support.product_process import PATIENCE
from tests.support.sandbox_server import Bot

if TYPE_CHECKING:
    from playwright.async_api import Browser, Locator, Page

    from bot.sandbox.world.model import Chat


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LONG = "Sourdough_bread_" * 20
PAY = "http://127.0.0.1:8080/pay/0123456789abcdef01234567"
CARD_KEYS = {
    "inline_keyboard": [
        [{"text": "Open", "url": PAY}, {"text": "Copy link", "copy_text": {"text": PAY}}],
        [
            {"text": "Share", "switch_inline_query": "bread"},
            {"text": "Edit", "callback_data": "e"},
            {"text": "A button with a rather long name", "callback_data": "p"},
        ],
        [{"text": "Stop", "callback_data": "s", "style": "danger"}],
    ]
}


@pytest.fixture
def group(bot: Bot) -> Chat:
    return next(chat for chat in bot.world.chats.values() if chat.is_group)


async def show_everything(bot: Bot, group: Chat) -> None:
    """Show one message of each kind, some with long words."""
    sam, pat = (people.person(bot.world, number) for number in group.members)
    commands = [{"command": "new", "description": "Make a request " * 10}]
    await bot.done("setMyCommands", commands=commands)
    bot.world.mails.address = "smtp://127.0.0.1:2525"
    text = f"<b>{LONG}</b> <code>code</code> <a href='{PAY}'>a link</a> <tg-spoiler>x</tg-spoiler>"
    await bot.done("sendMessage", chat_id=sam.id, text=text, parse_mode="HTML")
    await card(bot, sam)
    await bot.upload(
        "sendDocument",
        {"document": (f"{LONG}.png", picture())},
        chat_id=sam.id,
        disable_notification="true",
    )
    await bot.upload("sendDocument", {"document": ("a.pdf", b"x")}, chat_id=sam.id)
    sam.send("/new and more")
    pat.send(LONG, group)
    sam.send("Good morning", group)


async def card(bot: Bot, sam: people.Person, **more: Any) -> Any:
    files, markup = {"photo": picture(900, 1100)}, json.dumps(CARD_KEYS)
    fields = {"chat_id": sam.id, "caption": "Bread: 7 of 10 left", "reply_markup": markup}
    return (await bot.upload("sendPhoto", files, **(fields | more)))["result"]


def message(page: Page, words: str) -> Locator:
    return page.get_by_role("listitem").filter(has_text=words).last


async def go_back(page: Page, size: Any) -> None:
    if size["width"] < 760:
        await page.get_by_role("button", name="Back to chats").click()


@pytest.mark.parametrize("size", [SMALL, DESK], ids=["320", "1280"])
async def test_axe_finds_nothing_and_nothing_sticks_out(
    browser: Browser, bot: Bot, group: Chat, size: Any
) -> None:
    """In the chat, the list, a group, the emails and the dialogs, in the dark too."""
    await show_everything(bot, group)
    async with open_chat_page(browser, bot, viewport=size) as page:
        await expect(message(page, "/new and more")).to_be_visible()
        await page.get_by_role("button", name="Commands").click()
        await sound(page, dark=True)
        await page.keyboard.press("Escape")
        await go_back(page, size)
        await page.get_by_role("button", name="Saturday market").click()
        await sound(page, dark=True)
        await page.get_by_role("button", name="About this chat").click()
        await sound(page)
        await page.keyboard.press("Escape")
        await go_back(page, size)
        await page.get_by_role("button", name="New group").click()
        await sound(page)
        await page.keyboard.press("Escape")
        await page.get_by_role("button" if size is SMALL else "tab", name="Emails").click()
        await sound(page, dark=True)


async def sound(page: Page, *, dark: bool = False) -> None:
    """Check the page with axe, in both colour schemes, and that nothing sticks out."""
    for scheme in SCHEMES if dark else SCHEMES[:1]:
        await page.emulate_media(color_scheme=scheme)
        assert await accessibility_problems(page) == []
    assert await fits(page)
    assert await page.evaluate(
        "[...document.querySelectorAll('.scroller, .sidebar-scroll, .text, .file')]"
        ".every(box => box.scrollWidth <= box.clientWidth)"
    )


async def test_it_is_dark_if_the_system_is(browser: Browser, bot: Bot) -> None:
    shades = []
    for scheme in SCHEMES:
        async with open_chat_page(browser, bot, color_scheme=scheme) as page:
            await expect(page.get_by_role("article")).to_be_visible()
            colour = "getComputedStyle(document.querySelector('.pane-head')).backgroundColor"
            shades.append(await page.evaluate(colour))
    assert shades == ["rgb(255, 255, 255)", "rgb(24, 34, 45)"]


async def test_a_picture_opens_large_and_escape_gives_the_focus_back(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    await card(bot, sam)
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        small = page.get_by_role("button", name="Open picture: Bread: 7 of 10 left")
        await small.click()
        box = page.get_by_role("dialog", name="Picture")
        large = box.get_by_role("img", name="Bread: 7 of 10 left")
        await expect(large).to_be_visible()
        height = await large.evaluate("one => one.getBoundingClientRect().height")
        assert 600 < height < 800
        await expect(box.get_by_text("Bread: 7 of 10 left")).to_be_visible()
        await expect(box.get_by_role("button", name="Close picture")).to_be_focused()
        async with page.expect_download() as saving:
            await box.get_by_role("link", name="Save picture").click()
        assert (await (await saving.value).path()).read_bytes() == picture(900, 1100)
        await page.keyboard.press("Escape")
        await expect(box).to_be_hidden()
        await expect(small).to_be_focused()


@pytest.mark.parametrize(
    ("kind", "name"), [("document", "poster.pdf"), ("video", "clip.mp4"), ("audio", "song.mp3")]
)
async def test_a_file_is_downloaded_as_it_was_sent(
    browser: Browser, bot: Bot, sam: people.Person, kind: str, name: str
) -> None:
    await bot.upload(f"send{kind.title()}", {kind: (name, b"%PDF-1.7")}, chat_id=sam.id)
    async with open_chat_page(browser, bot) as page, page.expect_download() as loading:
        await page.get_by_role("link", name=name).click()
    download = await loading.value
    assert download.suggested_filename == name


async def test_silent_and_edited_messages_are_marked(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    loud = await bot.done("sendMessage", chat_id=sam.id, text="loud")
    await bot.done("sendMessage", chat_id=sam.id, text="quiet", disable_notification=True)
    async with open_chat_page(browser, bot) as page:
        await expect(message(page, "quiet").get_by_label("Sent silently")).to_be_visible()
        await expect(message(page, "loud").get_by_label("Sent silently")).to_have_count(0)
        place = {"chat_id": sam.id, "message_id": loud["message_id"]}
        await bot.done("editMessageText", **place, text="louder")
        await expect(message(page, "louder")).to_contain_text("edited")


async def test_the_page_shows_that_the_bot_is_typing(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    """While a message to it has no answer: its message ends it."""
    async with open_chat_page(browser, bot) as page:
        typing = page.locator("#subtitle")
        await expect(typing).to_have_text("bot")
        await stop_clock(page)
        await page.get_by_label("Message", exact=True).fill("hello?")
        await page.keyboard.press("Enter")
        await expect(typing).to_have_text("typing…")
        await expect(page.locator("#typing")).to_be_visible()
        await bot.done("sendMessage", chat_id=sam.id, text="hello")
        await expect(typing).to_have_text("bot")
        await expect(page.locator("#typing")).to_be_hidden()


async def test_unread_messages_are_counted_and_make_a_sound(
    browser: Browser, bot: Bot, sam: people.Person, pat: people.Person, group: Chat
) -> None:
    """Each person has read what they have opened, and nothing of the others."""
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        log = page.get_by_role("log", name="Messages")
        await expect(log).to_contain_text("/start")
        pat.send("one", group)
        pat.send("two", group)
        market = page.get_by_role("button", name="Saturday market")
        await expect(market.get_by_label("2 unread")).to_be_visible()
        await market.click()
        await expect(log).to_contain_text("two")
        await expect(market.get_by_label("unread")).to_have_count(0)
        sam.send("three", group)
        phone = page.frame_locator("#phone iframe").get_by_role("button", name="Saturday market")
        await expect(phone.get_by_label("1 unread")).to_be_visible()
        await page.reload()
        await expect(market).to_contain_text("three")
        await expect(market.get_by_label("unread")).to_have_count(0)


async def test_the_payers_phone_is_beside_the_sellers_chat(
    browser: Browser, bot: Bot, sam: people.Person, pat: people.Person
) -> None:
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        phone = page.frame_locator("#phone iframe")
        await phone.get_by_role("button", name="Sam Seller").click()
        await phone.get_by_label("Message", exact=True).fill("Is there bread?")
        await phone.get_by_role("button", name="Send", exact=True).click()
        await page.get_by_role("button", name="Pat Payer").click()
        theirs = page.get_by_role("article", name="Message from Pat Payer")
        await expect(theirs).to_contain_text("Is there bread?")
        link = "https://t.me/PaymentRequestBot?start=r_1"
        sam.send(link, sam.dialog(pat))
        await phone.get_by_role("link", name=link).click()
        await bot.world.wait_for(lambda: pat.chat.visible, PATIENCE)
        assert pat.chat.visible[-1].text == "/start r_1"
        await expect(phone.get_by_role("heading", name="Payment Requests")).to_be_visible()


async def test_a_card_is_found_while_typing_and_posted_by_a_click(
    browser: Browser, bot: Bot, sam: people.Person, group: Chat
) -> None:
    """Share leads to a choice of chats; results have a picture, a title and a description."""
    sent = await card(bot, sam)
    async with open_chat_page(browser, bot) as page:
        await page.get_by_role("button", name="Share").click()
        dialog = page.get_by_role("dialog", name="Send to…")
        await dialog.get_by_role("button", name="Saturday market").click()
        await expect(page.get_by_label("Message", exact=True)).to_have_value(
            "@PaymentRequestBot bread"
        )
        await bot.world.wait_for(lambda: bot.world.updates.pending, PATIENCE)
        query = (await bot.updates())[-1]["inline_query"]
        result = {"type": "photo", "id": "7", "photo_file_id": sent["photo"][-1]["file_id"]}
        shown = {"title": "Bread", "description": "7 of 10 left", "reply_markup": KEYBOARD}
        results = [result | shown]
        await bot.done("answerInlineQuery", inline_query_id=query["id"], results=results)
        option = page.get_by_role("option", name="Bread")
        await expect(option).to_contain_text("7 of 10 left")
        await expect(option.locator("img")).to_have_js_property("complete", value=True)
        await page.keyboard.press("ArrowDown")
        await expect(option).to_have_attribute("aria-selected", "true")
        await page.keyboard.press("Enter")
        await bot.world.wait_for(lambda: group.visible, PATIENCE)
        assert group.visible[-1].inline_message_id
        posted = message(page, "via @PaymentRequestBot")
        await expect(posted.get_by_role("button", name="Yes")).to_be_visible()


async def test_a_picture_is_pasted_dropped_or_chosen_and_previewed(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    async with open_chat_page(browser, bot) as page:
        chooser = page.locator("#file")
        dialog = page.get_by_role("dialog", name="Send a picture")
        data = picture(40, 30)
        for way in ("chosen", "pasted", "dropped"):
            if way == "chosen":
                await chooser.set_input_files(
                    {"name": "cake.png", "mimeType": "image/png", "buffer": data}
                )
            else:
                await page.evaluate(HAND_OVER, [way, list(data)])
            await expect(dialog.get_by_role("img", name="The picture")).to_be_visible()
            await dialog.get_by_label("Caption").fill(way)
            if way == "dropped":
                await dialog.get_by_label("As a file, with every byte").check()
            await dialog.get_by_role("button", name="Send it").click()
            await expect(message(page, way)).to_be_visible()
    kinds = [next(iter(one.content)) for one in sam.chat.visible[1:]]
    assert kinds == ["photo", "photo", "document"]
    stored = bot.world.files.get(sam.chat.visible[1].photo or "")
    assert stored is not None
    assert stored.data == data


HAND_OVER = """([way, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "cake.png", { type: "image/png" }));
  const more = way === "pasted" ? { clipboardData: data } : { dataTransfer: data };
  const Kind = way === "pasted" ? ClipboardEvent : DragEvent;
  const place = document.getElementById(way === "pasted" ? "text" : "messages");
  place.dispatchEvent(new Kind(way === "pasted" ? "paste" : "drop", { bubbles: true, ...more }));
}"""


def stands(chat: Chat, status: str) -> bool:
    return chat.bot_status == status


async def test_people_and_groups_are_added_and_can_be_acted_as(
    browser: Browser, bot: Bot, sam: people.Person
) -> None:
    async with open_chat_page(browser, bot, viewport=DESK) as page:
        await page.get_by_role("button", name="New person").click()
        await page.get_by_label("First name").fill("Eve")
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_role("heading", name="Eve")).to_be_visible()
        await page.get_by_role("button", name="New group").click()
        await page.get_by_label("Name", exact=True).fill("Bakery")
        await page.get_by_role("checkbox", name="Eve").check()
        await page.get_by_role("button", name="Make").click()
        await expect(page.get_by_role("heading", name="Bakery")).to_be_visible()
        made = next(chat for chat in bot.world.chats.values() if chat.title == "Bakery")
        assert {one.name for one in made.members.values()} == {"Sam Seller", "Eve"}
        assert made.bot_status == "member"
        for name, status in (("Remove the bot", "kicked"), ("Add the bot", "member")):
            await page.get_by_role("button", name="About this chat").click()
            await page.get_by_role("button", name=name).click()
            await bot.world.wait_for(partial(stands, made, status), PATIENCE)
        await page.get_by_label("You are").select_option("Eve")
        await page.get_by_role("button", name="Bakery").click()
        await page.get_by_label("Message", exact=True).fill("Good morning")
        await page.keyboard.press("Enter")
        await bot.world.wait_for(lambda: made.visible, PATIENCE)
        assert made.visible[-1].sender.first_name == "Eve"
        assert sam.id in made.members
