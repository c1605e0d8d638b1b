"""How the bot hears of things: polling, webhook, and which updates people's acts make."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.world import people
from bot.sandbox.world.errors import NO_LIMITS, WorldError
from bot.sandbox.world.world import World
from tests.support.asgi_server import serve_asgi
from tests.support.sandbox_server import START, Bot, Clock, png_header, serving


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    world = World(limits=NO_LIMITS, now=Clock(), webhook_backoff=(0.01,))
    async with serving(world) as client:
        yield client


@pytest.fixture
def sam(bot: Bot) -> people.Person:
    return people.join(bot.world, "Sam", username="sam_seller", started=True)


class Receiver:
    """A small webhook receiver that answers with the planned statuses, then with 200."""

    def __init__(self, world: World, *statuses: int) -> None:
        self.world = world
        self.statuses = list(statuses)
        self.got: list[tuple[str | None, dict[str, Any]]] = []
        self.app = Starlette(routes=[Route("/hook", self.take, methods=["POST"])])

    async def take(self, request: Request) -> Response:
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        self.got.append((secret, await request.json()))
        self.world.bell.ring()
        return Response(status_code=self.statuses.pop(0) if self.statuses else 200)

    def texts(self) -> list[str]:
        return [update["message"]["text"] for _, update in self.got]


async def test_updates_are_repeated_until_an_offset_confirms_them(
    bot: Bot, sam: people.Person
) -> None:
    for text in ("one", "two", "three"):
        sam.send(text)
    first = await bot.done("getUpdates", limit=2)
    assert [update["message"]["text"] for update in first] == ["one", "two"]
    assert await bot.done("getUpdates", limit=2) == first
    rest = await bot.done("getUpdates", offset=first[-1]["update_id"] + 1)
    assert [update["message"]["text"] for update in rest] == ["three"]
    assert rest[0]["update_id"] == first[0]["update_id"] + 2


async def test_a_negative_offset_keeps_only_the_last_updates(bot: Bot, sam: people.Person) -> None:
    for text in ("one", "two", "three"):
        sam.send(text)
    kept = await bot.done("getUpdates", offset=-1)
    assert [update["message"]["text"] for update in kept] == ["three"]
    assert len(await bot.done("getUpdates")) == 1


async def test_long_polling_answers_as_soon_as_something_happens(
    bot: Bot, sam: people.Person
) -> None:
    polling = asyncio.create_task(bot.done("getUpdates", timeout=50))
    await bot.world.wait_for(lambda: bot.world.polls)
    sam.send("hi")
    assert [update["message"]["text"] for update in await polling] == ["hi"]


async def test_a_second_poll_ends_the_first_with_409(bot: Bot) -> None:
    first = asyncio.create_task(bot.refused("getUpdates", timeout=50))
    await bot.world.wait_for(lambda: bot.world.polls)
    assert await bot.done("getUpdates") == []
    assert await first == (
        409,
        (
            "Conflict: terminated by other getUpdates request; "
            "make sure that only one bot instance is running"
        ),
    )


async def test_polling_and_a_webhook_exclude_each_other(bot: Bot) -> None:
    polling = asyncio.create_task(bot.refused("getUpdates", timeout=50))
    await bot.world.wait_for(lambda: bot.world.polls)
    await bot.done("setWebhook", url="http://127.0.0.1:9/hook")
    assert await polling == (409, "Conflict: terminated by setWebhook request")
    assert await bot.refused("getUpdates") == (
        409,
        (
            "Conflict: can't use getUpdates method while webhook is active; "
            "use deleteWebhook to delete the webhook first"
        ),
    )
    await bot.done("deleteWebhook")
    assert await bot.done("getUpdates") == []


async def test_only_allowed_updates_are_kept_and_the_choice_is_remembered(
    bot: Bot, sam: people.Person
) -> None:
    await bot.done("getUpdates", allowed_updates=["my_chat_member"])
    sam.send("unheard")
    sam.block()
    assert [list(update)[1] for update in await bot.updates()] == ["my_chat_member"]
    await bot.done("getUpdates", allowed_updates=[])
    sam.unblock()
    sam.send("heard")
    assert [list(update)[1] for update in await bot.updates()] == ["my_chat_member", "message"]


async def test_a_webhook_gets_updates_in_order_with_the_secret(
    bot: Bot, sam: people.Person
) -> None:
    receiver = Receiver(bot.world)
    sam.send("before")
    async with serve_asgi(receiver.app) as root:
        await bot.done("setWebhook", url=f"{root}/hook", secret_token="s-1")
        sam.send("after")
        await bot.world.wait_for(lambda: not bot.world.updates.pending)
        await bot.done("deleteWebhook")
    assert receiver.texts() == ["before", "after"]
    assert {secret for secret, _ in receiver.got} == {"s-1"}


async def test_a_webhook_is_tried_again_until_it_answers_2xx(bot: Bot, sam: people.Person) -> None:
    receiver = Receiver(bot.world, 500, 302)
    async with serve_asgi(receiver.app) as root:
        await bot.done("setWebhook", url=f"{root}/hook")
        sam.send("one")
        sam.send("two")
        await bot.world.wait_for(lambda: not bot.world.updates.pending)
        info = await bot.done("getWebhookInfo")
        await bot.done("deleteWebhook")
    assert receiver.texts() == ["one", "one", "one", "two"]
    assert info == {
        "url": f"{root}/hook",
        "has_custom_certificate": False,
        "pending_update_count": 0,
        "max_connections": 40,
        "last_error_date": int(START),
        "last_error_message": "Wrong response from the webhook: 302 Found",
    }


async def test_an_unreachable_webhook_keeps_the_updates(bot: Bot, sam: people.Person) -> None:
    await bot.done("setWebhook", url="http://127.0.0.1:9/hook")
    sam.send("one")
    await bot.world.wait_for(lambda: bot.world.webhook.last_error)
    info = await bot.done("getWebhookInfo")
    assert (info["pending_update_count"], info["last_error_message"]) == (1, "Connection failed")
    await bot.done("deleteWebhook")
    assert len(await bot.done("getUpdates")) == 1


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        ({"url": "ftp://x"}, "bad webhook: An HTTPS URL must be provided for webhook"),
        (
            {"url": "https://a.b", "secret_token": "ü"},
            "secret token contains unallowed characters",
        ),
    ],
)
async def test_a_webhook_is_checked(bot: Bot, params: dict[str, str], refusal: str) -> None:
    assert await bot.refused("setWebhook", **params) == (400, f"Bad Request: {refusal}")
    assert (await bot.done("getWebhookInfo"))["url"] == ""


async def test_pending_updates_can_be_dropped(bot: Bot, sam: people.Person) -> None:
    sam.send("one")
    await bot.done("deleteWebhook", drop_pending_updates=True)
    assert await bot.done("getUpdates") == []


async def test_start_is_a_command_with_its_payload(bot: Bot) -> None:
    pat = people.join(bot.world, "Pat", language_code=None)
    pat.start("abc_1")
    (update,) = await bot.updates()
    assert update["message"]["text"] == "/start abc_1"
    assert update["message"]["entities"] == [{"type": "bot_command", "offset": 0, "length": 6}]
    assert update["message"]["from"] == {"id": pat.id, "is_bot": False, "first_name": "Pat"}
    assert pat.chat.bot_status == "member"


async def test_photos_files_and_edits_of_people_reach_the_bot(bot: Bot, sam: people.Person) -> None:
    sam.send_photo(png_header(9, 9), "look")
    sam.send_document("a.csv", b"1")
    sent = sam.send("one")
    sam.edit(sent, "two")
    photo, document, _, edited = await bot.updates()
    assert photo["message"]["caption"] == "look"
    assert photo["message"]["photo"][0]["width"] == 9
    assert document["message"]["document"]["file_name"] == "a.csv"
    assert edited["edited_message"]["text"] == "two"
    assert edited["edited_message"]["message_id"] == sent.id


async def test_blocking_and_unblocking_is_told_once(bot: Bot, sam: people.Person) -> None:
    sam.block()
    sam.block()
    sam.unblock()
    changes = [update["my_chat_member"] for update in await bot.updates()]
    states = [(c["old_chat_member"]["status"], c["new_chat_member"]["status"]) for c in changes]
    assert states == [("member", "kicked"), ("kicked", "member")]


async def test_who_blocked_the_bot_must_restart_it_to_write(sam: people.Person) -> None:
    sam.block()
    with pytest.raises(WorldError, match="press Start first"):
        sam.send("hi")
    sam.start()
    assert sam.chat.bot_status == "member"


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("/list", True),
        ("/list@paymentrequestbot now", True),
        ("/list@OtherBot", False),
        ("hello", False),
    ],
)
async def test_in_groups_the_bot_hears_only_what_is_said_to_it(
    bot: Bot, sam: people.Person, text: str, *, heard: bool
) -> None:
    group = sam.new_group("Market")
    await bot.updates()
    sam.send(text, group)
    assert len(await bot.updates()) == int(heard)


async def test_in_groups_the_bot_hears_replies_to_it(bot: Bot, sam: people.Person) -> None:
    group = sam.new_group("Market")
    await bot.updates()
    await bot.done("sendMessage", chat_id=group.id, text="hi")
    sam.send("thanks", group, reply_to=group.last)
    (update,) = await bot.updates()
    assert update["message"]["reply_to_message"]["text"] == "hi"


async def test_joining_leaving_and_migrating_a_group_is_told(bot: Bot, sam: people.Person) -> None:
    group = sam.new_group("Market")
    new = sam.migrate(group)
    sam.remove_bot(new)
    joined, to, origin, left = await bot.updates()
    assert joined["my_chat_member"]["new_chat_member"]["status"] == "member"
    assert to["message"]["migrate_to_chat_id"] == new.id
    assert origin["message"]["migrate_from_chat_id"] == group.id
    assert left["my_chat_member"]["new_chat_member"]["status"] == "kicked"
    with pytest.raises(WorldError, match="has become a supergroup"):
        sam.send("hi", group)


async def test_what_two_people_say_to_each_other_is_their_own(bot: Bot, sam: people.Person) -> None:
    pat = people.join(bot.world, "Pat")
    dialog = sam.dialog(pat)
    sam.send("/secret", dialog)
    assert await bot.updates() == []
    assert pat.dialog(sam) is dialog
    outsider = people.join(bot.world, "Eve")
    with pytest.raises(WorldError, match="not a member"):
        outsider.send("hi", dialog)


async def test_an_empty_message_and_a_foreign_edit_are_not_possible(
    bot: Bot, sam: people.Person
) -> None:
    await bot.done("sendMessage", chat_id=sam.id, text="x")
    with pytest.raises(WorldError, match="empty"):
        sam.send(" ")
    with pytest.raises(WorldError, match="own messages"):
        sam.edit(sam.chat.visible[0], "y")
