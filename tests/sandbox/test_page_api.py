"""The chat page and its control API, over HTTP and in a real browser."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.web import server
from bot.sandbox.world import people
from bot.sandbox.world.errors import Limits
from bot.sandbox.world.world import World
from tests.support.chat_page import HOSTILE_MAIL, KEYBOARD, act, offer
from tests.support.sandbox_server import Bot, Clock, demo_cast, png_header

STATIC = Path(server.__file__).with_name("static")


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    async with demo_cast() as client:
        yield client


@pytest.fixture
def sam(bot: Bot) -> people.Person:
    return people.person(bot.world, 1001)


async def events(bot: Bot, since: int, **more: Any) -> Any:
    params = {"since": since, "user": 1001, **more}
    return (await bot.http.get("/chat/api/events", params=params)).json()


@pytest.mark.parametrize("path", ["/chat", "/chat/assets/main.js", "/chat/assets/layout.css"])
async def test_the_page_runs_only_its_own_scripts_and_styles(bot: Bot, path: str) -> None:
    response = await bot.http.get(path)
    policy = response.headers["content-security-policy"]
    assert response.status_code == 200
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert policy.endswith("frame-ancestors 'self'")
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_the_page_names_no_foreign_address(bot: Bot) -> None:
    scripts = sorted(path.name for path in STATIC.glob("*.*s"))
    assert {"main.js", "layout.css"} <= {*scripts}
    paths = ["/chat", *(f"/chat/assets/{name}" for name in scripts)]
    pages = [(await bot.http.get(path)).text for path in paths]
    joined = "".join(pages)
    assert "innerHTML" not in joined
    assert 'src="http' not in joined
    assert "url(" not in joined
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
        "/chat/api/photo",
        data={"user_id": sam.id, "caption": "c"},
        files={"photo": png_header(9, 9)},
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
    removed = {"user_id": eve["user_id"], "chat_id": group["chat_id"]}
    await act(bot, "remove-bot", **removed)
    assert (await bot.refused("sendMessage", chat_id=group["chat_id"], text="x"))[0] == 403
    await act(bot, "add-bot", **removed)
    await bot.done("sendMessage", chat_id=group["chat_id"], text="hi again")
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
    assert [call["params"]["text"] for call in calls["calls"]] == ["hallo", "hi again"]


async def test_a_group_may_be_made_without_the_bot_and_two_people_may_talk(bot: Bot) -> None:
    group = await act(bot, "groups", user_id=1001, title=" Ours ", members=[1002], with_bot=False)
    made = bot.world.chats[group["chat_id"]]
    assert (made.title, made.bot_status, set(made.members)) == ("Ours", "left", {1001, 1002})
    eve = (await act(bot, "people", first_name="Eve"))["user_id"]
    first = await act(bot, "dialog", user_id=1001, **{"with": eve})
    assert first == await act(bot, "dialog", user_id=eve, **{"with": 1001})
    await act(bot, "send", user_id=eve, chat_id=first["chat_id"], text="hi Sam")
    assert await bot.updates() == []


async def test_a_file_is_sent_and_a_silent_message_shows_as_one(
    bot: Bot, sam: people.Person
) -> None:
    sam.start()
    files = {"document": ("cake.png", png_header(900, 600))}
    data = {"user_id": sam.id, "caption": "c"}
    sent = (await bot.http.post("/chat/api/document", data=data, files=files)).json()
    assert (sent["document"]["file_name"], sent["caption"]) == ("cake.png", "c")
    await bot.done("sendMessage", chat_id=sam.id, text="x", disable_notification=True)
    state = (await bot.http.get("/chat/api/state", params={"user": sam.id})).json()
    shown = [message.get("silent", False) for message in state["chats"][0]["messages"]]
    assert shown == [False, False, True]


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
        ("document", {"user_id": 1001}, "there is no document in the request"),
        ("people", {"first_name": " "}, "a person needs a name"),
        ("groups", {"user_id": 1001, "title": ""}, "a group needs a name"),
        ("start", {"user_id": 1001, "payload": "a b"}, "a start payload has 1 to 64"),
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
    photo = sam.send_photo(png_header(9, 9)).photo
    shown = await bot.http.get(f"/chat/files/{photo}")
    assert (shown.headers["content-type"], shown.content) == ("image/png", png_header(9, 9))
    document = sam.send_document("ü.html", b"<script>").content["document"]
    kept = await bot.http.get(f"/chat/files/{document['file_id']}")
    assert kept.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%BC.html"
    assert kept.headers["x-content-type-options"] == "nosniff"
    assert (await bot.http.get("/chat/files/none")).status_code == 404


async def test_emails_are_listed_and_shown_as_who_may_do_nothing(bot: Bot) -> None:
    """Whoever wrote one: it runs nothing, loads nothing and may be framed by the page alone."""
    bot.world.deliver(HOSTILE_MAIL, ("seller@example.org",))
    listed = (await bot.http.get("/chat/api/mails")).json()
    assert (listed["count"], listed["mails"][0]["text"]) == (1, "As text <b>\n")
    shown = await bot.http.get("/chat/mails/1")
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1>As HTML</h1>" in shown.text
    policy = shown.headers["content-security-policy"].split("; ")
    assert policy[0] == "sandbox allow-popups allow-popups-to-escape-sandbox"
    assert {"default-src 'none'", "form-action 'none'", "frame-ancestors 'self'"} <= {*policy}
    assert (await bot.http.get("/chat/mails/2")).status_code == 404


async def test_every_page_is_told_of_an_email(bot: Bot) -> None:
    since = bot.world.feed.seq
    waiting = [asyncio.create_task(events(bot, since, user=user)) for user in (1001, 1002)]
    bot.world.deliver(HOSTILE_MAIL, ("seller@example.org",))
    for answer in await asyncio.gather(*waiting):
        assert [event["type"] for event in answer["events"]] == ["mail"]


def test_events_that_are_no_longer_kept_ask_for_a_new_start() -> None:
    world = World(now=Clock())
    sam = people.join(world, "Sam", started=True)
    since = world.feed.seq
    for _ in range(2001):
        sam.send("x")
    assert world.feed.since(since) is None
    assert len(world.feed.since(since + 1) or []) == 2000


async def test_a_new_person_knows_the_others_as_the_first_ones_do(bot: Bot) -> None:
    """They talk to each of them, and are at the market; groups that somebody chose stay as made."""
    await act(bot, "groups", user_id=1001, title="Ours", members=[1002], with_bot=False)
    eve = (await act(bot, "people", first_name="Eve"))["user_id"]
    max_ = (await act(bot, "people", first_name="Max"))["user_id"]
    for number, names in (
        (eve, ["Payment Requests", "Saturday market", "Sam Seller", "Pat Payer", "Max"]),
        (max_, ["Payment Requests", "Saturday market", "Sam Seller", "Pat Payer", "Eve"]),
        (1002, ["Payment Requests", "Saturday market", "Ours", "Sam Seller", "Eve", "Max"]),
    ):
        state = (await bot.http.get("/chat/api/state", params={"user": number})).json()
        titles = [chat["title"] for chat in state["chats"]]
        assert (titles[0], sorted(titles)) == (names[0], sorted(names))
    assert await bot.updates() == []
    await act(bot, "people", user_id=eve, first_name="Eva")
    state = (await bot.http.get("/chat/api/state", params={"user": eve})).json()
    assert len(state["chats"]) == len(names) - 1
