"""The chat page and its control API, over HTTP and in a real browser."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright, expect

from bot.sandbox import people
from bot.sandbox.limits import NO_LIMITS, Limits
from bot.sandbox.world import World
from tests.telegraph import Bot, Clock, png, serving

CHROMIUM = Path("/usr/bin/chromium")
HAS_BROWSER = CHROMIUM.exists()
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
A = {"text": "Yes", "callback_data": "y"}
KEYBOARD = {
    "inline_keyboard": [
        [A, {"text": "Copy link", "copy_text": {"text": "https://example.com/pay"}}],
        [{"text": "Share", "switch_inline_query": "coffee"}],
        [{"text": "Pay", "url": "https://example.com/pay"}],
    ]
}


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    world = World(limits=NO_LIMITS)
    people.cast(world)
    async with serving(world) as client:
        await client.updates()
        yield client


@pytest.fixture
def sam(bot: Bot) -> people.Person:
    return people.person(bot.world, 1001)


async def act(bot: Bot, name: str, **body: Any) -> Any:
    response = await bot.http.post(f"/chat/api/{name}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def events(bot: Bot, since: int, **more: Any) -> Any:
    params = {"since": since, "user": 1001, **more}
    return (await bot.http.get("/chat/api/events", params=params)).json()


async def offer(bot: Bot, update: dict[str, Any], title: str, text: str) -> dict[str, Any]:
    """Answer an inline query with one article; the article."""
    result = {
        "type": "article",
        "id": "1",
        "title": title,
        "input_message_content": {"message_text": text},
    }
    number = update["inline_query"]["id"]
    await bot.done("answerInlineQuery", inline_query_id=number, results=[result])
    return result


@pytest.mark.parametrize("path", ["/chat", "/chat/assets/main.js", "/chat/assets/layout.css"])
async def test_the_page_runs_only_its_own_scripts_and_styles(bot: Bot, path: str) -> None:
    response = await bot.http.get(path)
    policy = response.headers["content-security-policy"]
    assert response.status_code == 200
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_the_page_names_no_foreign_address(bot: Bot) -> None:
    names = ("main.js", "composer.js", "messages.js", "formatting.js", "dom.js", "api.js")
    paths = ["/chat", *(f"/chat/assets/{name}" for name in names)]
    pages = [(await bot.http.get(path)).text for path in paths]
    joined = "".join(pages)
    assert "innerHTML" not in joined
    assert 'src="http' not in joined
    assert (await bot.http.get("/chat/assets/../server.py")).status_code == 404
    assert (await bot.http.get("/chat/assets/nothing.js")).status_code == 404


async def test_the_state_holds_what_a_person_sees(bot: Bot, sam: people.Person) -> None:
    await bot.done("setMyDescription", description="Makes links")
    await bot.done("setMyCommands", commands=[{"command": "new", "description": "New"}])
    sam.start()
    state = (await bot.http.get("/chat/api/state", params={"user": sam.id})).json()
    assert state["people"] == [
        {"id": 1001, "name": "Sam Seller"},
        {"id": 1002, "name": "Pat Payer"},
    ]
    assert state["bot"]["description"] == "Makes links"
    titles = [chat["title"] for chat in state["chats"]]
    assert titles == ["Payment Requests", "Pat Payer", "Saturday market"]
    private = state["chats"][0]
    assert [message["text"] for message in private["messages"]] == ["/start"]
    assert private["messages"][0]["out"] is True
    assert private["commands"] == [{"command": "new", "description": "New"}]
    assert state["chats"][1]["commands"] == []


async def test_events_wait_for_what_happens_and_tell_it(bot: Bot, sam: people.Person) -> None:
    sam.start()
    since = bot.world.feed.seq
    waiting = asyncio.create_task(events(bot, since))
    sent = await bot.done("sendMessage", chat_id=sam.id, text="hi")
    answer = await waiting
    assert (answer["seq"], answer["reset"]) == (since + 1, False)
    assert answer["events"][0]["message"]["text"] == "hi"
    await bot.done("deleteMessage", chat_id=sam.id, message_id=sent["message_id"])
    gone = await events(bot, since)
    assert [event["type"] for event in gone["events"]] == ["deleted", "deleted"]


async def test_events_of_other_peoples_chats_are_not_told(bot: Bot) -> None:
    since = bot.world.feed.seq
    people.person(bot.world, 1002).start()
    assert (await events(bot, since))["events"] == []


async def test_a_watcher_from_another_world_is_told_to_start_anew(bot: Bot) -> None:
    for since in (0, bot.world.feed.seq + 5):
        assert (await events(bot, since))["reset"] is True


async def test_events_end_at_once_when_the_world_closes(bot: Bot) -> None:
    waiting = asyncio.create_task(events(bot, bot.world.feed.seq))
    await bot.world.close()
    assert (await waiting)["closed"] is True


async def test_a_person_is_played_through_the_control_api(bot: Bot, sam: people.Person) -> None:
    await act(bot, "start", user_id=sam.id, payload="p")
    sent = await act(bot, "send", user_id=sam.id, text="one")
    await act(bot, "edit", user_id=sam.id, message_id=sent["message_id"], text="two")
    await bot.http.post(
        "/chat/api/photo", data={"user_id": sam.id, "caption": "c"}, files={"photo": png(9, 9)}
    )
    kinds = [list(update)[1] for update in await bot.updates()]
    assert kinds == ["message", "message", "edited_message", "message"]
    assert [message.text for message in sam.chat.visible] == ["/start p", "two", "c"]
    await act(bot, "block", user_id=sam.id)
    await act(bot, "unblock", user_id=sam.id)
    changes = [update["my_chat_member"]["new_chat_member"] for update in await bot.updates()]
    assert [change["status"] for change in changes] == ["kicked", "member"]


async def test_a_press_through_the_control_api_waits_for_its_answer(
    bot: Bot, sam: people.Person
) -> None:
    sam.start()
    await bot.updates()
    sent = await bot.done("sendMessage", chat_id=sam.id, text="?", reply_markup=KEYBOARD)
    place = {"user_id": sam.id, "message_id": sent["message_id"]}
    pressing = asyncio.create_task(act(bot, "press", **place, row=0, column=0))
    update = await bot.update()
    identifier = update["callback_query"]["id"]
    await bot.done("answerCallbackQuery", callback_query_id=identifier, text="ok")
    answer = {"text": "ok", "show_alert": False, "url": ""}
    assert await pressing == {"answer": answer}
    unanswered = await act(bot, "press", **place, button="Yes", seconds=0)
    assert unanswered == {"answer": None}


async def test_inline_results_through_the_control_api_are_chosen_into_a_chat(
    bot: Bot, sam: people.Person
) -> None:
    group = next(chat for chat in bot.world.chats.values() if chat.is_group)
    place = {"user_id": sam.id, "chat_id": group.id}
    asking = asyncio.create_task(act(bot, "inline", **place, query="q"))
    update = await bot.update()
    assert update["inline_query"]["chat_type"] == "group"
    result = await offer(bot, update, "T", "x")
    answer = await asking
    assert (answer["answered"], answer["results"]) == (True, [result])
    await act(bot, "choose", **place, query_id=answer["query_id"], result_id="1")
    assert group.visible[-1].text == "x"


async def test_people_groups_faults_and_limits_are_set_from_outside(bot: Bot) -> None:
    eve = await act(bot, "people", first_name="Eve", language_code="de", started=True)
    await bot.done("sendMessage", chat_id=eve["user_id"], text="hallo")
    group = await act(bot, "groups", user_id=eve["user_id"], title="Two", members=[1001])
    moved = await act(bot, "migrate", user_id=eve["user_id"], chat_id=group["chat_id"])
    await act(bot, "remove-bot", user_id=eve["user_id"], chat_id=moved["chat_id"])
    assert (await bot.refused("sendMessage", chat_id=moved["chat_id"], text="x"))[0] == 403
    await act(bot, "faults", kind="error", method="getMe", retry_after=3)
    assert (await bot.refused("getMe"))[0] == 429
    await act(bot, "faults", kind="error", times=5)
    await act(bot, "faults", clear=True)
    await bot.done("getMe")
    await act(bot, "limits", on=True)
    assert bot.world.limiter.limits == Limits()
    calls = (await bot.http.get("/chat/api/calls", params={"method": "sendMessage"})).json()
    assert [call["params"]["text"] for call in calls["calls"]] == ["hallo"]


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("nothing", {}, "no such act"),
        ("send", {"user_id": 1001}, "missing or unknown: 'text'"),
        ("send", {"user_id": 5, "text": "x"}, "no person 5"),
        ("send", {"user_id": 1001, "text": "x"}, "press Start first"),
        ("send", {"user_id": 1001, "chat_id": 9, "text": "x"}, "no chat 9"),
        ("press", {"user_id": 1001, "message_id": 1, "button": "x"}, "no such message"),
        ("faults", {"colour": "red"}, "no such fields of a fault: colour"),
        ("photo", {"user_id": 1001}, "there is no photo in the request"),
    ],
)
async def test_what_cannot_be_done_is_400_with_the_reason(
    bot: Bot, name: str, body: dict[str, Any], reason: str
) -> None:
    response = await bot.http.post(f"/chat/api/{name}", json=body)
    assert response.status_code == 400
    assert reason in response.json()["error"]


async def test_pages_of_other_sites_may_not_play(bot: Bot) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    response = await bot.http.post(
        "/chat/api/start", content=json.dumps({"user_id": 1001}), headers=headers
    )
    assert response.status_code == 403
    assert await bot.updates() == []


async def test_pictures_are_shown_and_files_are_downloaded(bot: Bot, sam: people.Person) -> None:
    sam.start()
    photo = sam.send_photo(png(9, 9)).photo
    shown = await bot.http.get(f"/chat/files/{photo}")
    assert (shown.headers["content-type"], shown.content) == ("image/png", png(9, 9))
    document = sam.send_document("ü.html", b"<script>").content["document"]
    kept = await bot.http.get(f"/chat/files/{document['file_id']}")
    assert kept.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%BC.html"
    assert kept.headers["x-content-type-options"] == "nosniff"
    assert (await bot.http.get("/chat/files/none")).status_code == 404


def test_events_that_are_no_longer_kept_ask_for_a_new_start() -> None:
    world = World(now=Clock())
    sam = people.join(world, "Sam", started=True)
    since = world.feed.seq
    for _ in range(2001):
        sam.send("x")
    assert world.feed.since(since) is None
    assert len(world.feed.since(since + 1) or []) == 2000


@pytest.fixture
async def page(bot: Bot) -> AsyncIterator[Page]:
    if not HAS_BROWSER:
        pytest.skip(f"no browser at {CHROMIUM}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = await browser.new_context(
            base_url=str(bot.http.base_url),
            viewport={"width": 390, "height": 780},
            permissions=["clipboard-read", "clipboard-write"],
        )
        opened = await context.new_page()
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        yield opened
        await browser.close()
    assert problems == []


@pytest.mark.browser
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
    await bot.world.wait_for(lambda: sam.chat.visible[-1].text == "a < b")


@pytest.mark.browser
async def test_buttons_and_pictures_work_in_the_page(
    bot: Bot, page: Page, sam: people.Person
) -> None:
    sam.start()
    await bot.updates()
    await bot.upload(
        "sendPhoto",
        {"photo": png(60, 60)},
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


@pytest.mark.browser
async def test_commands_are_hinted_while_typing(bot: Bot, page: Page, sam: people.Person) -> None:
    sam.start()
    commands = [{"command": name, "description": f"{name}!"} for name in ("new", "list")]
    await bot.done("setMyCommands", commands=commands)
    await page.goto("/chat")
    await page.get_by_label("Message", exact=True).fill("/")
    await expect(page.get_by_role("option")).to_have_count(2)
    await page.get_by_label("Message", exact=True).fill("/n")
    await page.get_by_role("option", name="/new").click()
    await bot.world.wait_for(lambda: sam.chat.visible[-1].text == "/new")


@pytest.mark.browser
async def test_a_card_is_shared_into_the_group_by_inline_mode(
    bot: Bot, page: Page, sam: people.Person
) -> None:
    sam.start()
    await bot.updates()
    await bot.done("sendMessage", chat_id=sam.id, text="card", reply_markup=KEYBOARD)
    await page.goto("/chat")
    await page.get_by_role("button", name="Share").click()
    await page.get_by_role("dialog").get_by_role("button", name="Saturday market").click()
    await bot.world.wait_for(lambda: bot.world.updates.pending)
    update = (await bot.updates())[-1]
    assert update["inline_query"]["query"] == "coffee"
    await offer(bot, update, "Coffee", "Buy me a coffee")
    await page.get_by_role("option", name="Coffee").click()
    posted = page.get_by_role("article", name="Message from You")
    await expect(posted).to_contain_text("Buy me a coffee")
    await expect(posted).to_contain_text("via @PaymentRequestBot")
