"""What the bot may send: Telegram's checks, errors and limits."""

from typing import Any

import pytest

from bot.sandbox.world import people
from bot.sandbox.world.errors import NO_LIMITS, Limiter, Limits, Rate, WorldError
from bot.sandbox.world.world import World
from tests.support.sandbox_server import START, A, Bot, Clock, button_row, png_header, serving


async def test_a_sent_message_is_what_the_person_sees(bot: Bot, sam: people.Person) -> None:
    sent = await bot.done(
        "sendMessage",
        chat_id=sam.id,
        text="<b>hi</b>",
        parse_mode="HTML",
        reply_markup=button_row(A),
    )
    assert sent == {
        "message_id": sam.chat.first_message_id,
        "from": bot.world.bot.json(),
        "chat": {"id": sam.id, "type": "private", "first_name": "Sam"},
        "date": int(START),
        "text": "hi",
        "entities": [{"type": "bold", "offset": 0, "length": 2}],
        "reply_markup": button_row(A),
    }
    assert [(m.text, m.buttons) for m in sam.chat.visible] == [("hi", [A])]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("x" * 4096, None),
        ("x" * 4097, "message is too long"),
        ("👍" * 2048, None),
        ("👍" * 2048 + "x", "message is too long"),
        ("<b>" + "&amp;" * 4096 + "</b>", None),
        ("", "message text is empty"),
        (" \n ", "message text is empty"),
        ("<b></b>", "message text is empty"),
        ("\u200b\u200d\u200f \u3000\ufeff\xa0\u2800", "message text is empty"),
        ("\u202e\u202a", "message text is empty"),
        ("\u200bx", None),
    ],
)
async def test_text_has_1_to_4096_units_after_parsing(
    bot: Bot, sam: people.Person, text: str, refusal: str | None
) -> None:
    answer = await bot.call("sendMessage", chat_id=sam.id, text=text, parse_mode="HTML")
    assert answer.get("description") == (refusal and f"Bad Request: {refusal}")
    assert len(sam.chat.visible) == (0 if refusal else 1)


@pytest.mark.parametrize(("length", "ok"), [(1024, True), (1025, False)])
async def test_a_caption_has_at_most_1024_units(
    bot: Bot, sam: people.Person, length: int, *, ok: bool
) -> None:
    answer = await bot.upload(
        "sendPhoto", {"photo": png_header(9, 9)}, chat_id=sam.id, caption="x" * length
    )
    assert answer["ok"] is ok
    assert ok or answer["description"] == "Bad Request: message caption is too long"


@pytest.mark.parametrize(
    ("button", "refusal"),
    [
        ({"text": "A", "callback_data": "é" * 32}, None),
        ({"text": "A", "callback_data": "é" * 32 + "x"}, "BUTTON_DATA_INVALID"),
        ({"text": "A", "callback_data": ""}, "BUTTON_DATA_INVALID"),
        ({"text": "A", "copy_text": {"text": "x" * 256}}, None),
        ({"text": "A", "copy_text": {"text": "x" * 257}}, "BUTTON_COPY_TEXT_INVALID"),
        ({"text": "A", "copy_text": {"text": ""}}, "BUTTON_COPY_TEXT_INVALID"),
        ({"text": "A", "url": "https://example.com/pay"}, None),
        ({"text": "A", "url": "http://127.0.0.1:8080/pay"}, None),
        ({"text": "A", "url": "tg://resolve?domain=x"}, None),
        ({"text": "A", "url": "ton://transfer/x"}, None),
        (
            {"text": "A", "url": "http://localhost/pay"},
            "inline keyboard button URL 'http://localhost/pay' is invalid: Wrong HTTP URL",
        ),
        (
            {"text": "A", "url": "ftp://example.com"},
            "inline keyboard button URL 'ftp://example.com' is invalid: Wrong HTTP URL",
        ),
        ({"text": "A", "switch_inline_query": ""}, None),
        ({"text": "A", "switch_inline_query": "x" * 257}, "BUTTON_DATA_INVALID"),
        ({"text": "A", "callback_data": "a", "style": "danger"}, None),
        ({"text": "A", "callback_data": "a", "style": "loud"}, "invalid button style specified"),
        ({"text": " ", "callback_data": "a"}, "inline keyboard button text must be non-empty"),
        ({"text": "\u200b", "callback_data": "a"}, "inline keyboard button text must be non-empty"),
        ({"text": "A"}, "text buttons are unallowed in the inline keyboard"),
        (
            {"text": "A", "callback_data": "a", "url": "https://example.com"},
            "exactly one action must be specified in an inline keyboard button",
        ),
        (
            {"callback_data": "a"},
            "can't parse inline keyboard button: Can't find field \"text\"",
        ),
        ("A", "can't parse inline keyboard button: must be an Object"),
    ],
)
async def test_inline_buttons_are_checked(
    bot: Bot, sam: people.Person, button: Any, refusal: str | None
) -> None:
    answer = await bot.call(
        "sendMessage", chat_id=sam.id, text="x", reply_markup=button_row(button)
    )
    assert answer.get("description") == (refusal and f"Bad Request: {refusal}")


@pytest.mark.parametrize(
    ("markup", "refusal"),
    [
        (button_row(*[A] * 100), None),
        (button_row(*[A] * 101), "reply markup is too long"),
        ({"inline_keyboard": []}, None),
        (
            {"inline_keyboard": [A]},
            'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays',
        ),
        ("[", "can't parse reply keyboard markup JSON object"),
        ([1], "inline keyboard expected"),
    ],
)
async def test_keyboards_are_checked(
    bot: Bot, sam: people.Person, markup: Any, refusal: str | None
) -> None:
    answer = await bot.call("sendMessage", chat_id=sam.id, text="x", reply_markup=markup)
    assert answer.get("description") == (refusal and f"Bad Request: {refusal}")


async def test_options_are_kept_with_the_message(bot: Bot, sam: people.Person) -> None:
    preview = {"is_disabled": True}
    sent = await bot.done(
        "sendMessage", chat_id=sam.id, text="x", disable_notification=True,
        link_preview_options=preview,
    )  # fmt: skip
    assert sent["link_preview_options"] == preview
    assert sam.chat.visible[0].options["disable_notification"] is True


@pytest.mark.parametrize(
    ("chat_id", "refusal"),
    [
        (None, "chat_id is empty"),
        (5, "chat not found"),
        (-5, "chat not found"),
        ("@nobody", "chat not found"),
        ("x", "chat not found"),
    ],
)
async def test_an_unknown_chat_is_refused(bot: Bot, chat_id: Any, refusal: str) -> None:
    answer = await bot.refused("sendMessage", chat_id=chat_id, text="x")
    assert answer == (400, f"Bad Request: {refusal}")


async def test_who_never_started_blocked_or_removed_the_bot_is_forbidden(bot: Bot) -> None:
    sam = people.join(bot.world, "Sam")
    send = {"method": "sendMessage", "text": "x"}
    assert await bot.refused(**send, chat_id=sam.id) == (
        403,
        "Forbidden: bot can't initiate conversation with a user",
    )
    sam.start()
    sam.block()
    blocked = (403, "Forbidden: bot was blocked by the user")
    assert await bot.refused(**send, chat_id=sam.id) == blocked
    sam.unblock()
    await bot.done(**send, chat_id=sam.id)
    group = sam.new_group("Market")
    sam.remove_bot(group)
    kicked = (403, "Forbidden: bot was kicked from the group chat")
    assert await bot.refused(**send, chat_id=group.id) == kicked
    stranger = sam.new_group("Quiet", with_bot=False)
    absent = (403, "Forbidden: bot is not a member of the group chat")
    assert await bot.refused(**send, chat_id=stranger.id) == absent


async def test_a_migrated_group_names_its_new_id(bot: Bot, sam: people.Person) -> None:
    group = sam.new_group("Market")
    new = sam.migrate(group)
    assert await bot.call("sendMessage", chat_id=group.id, text="x") == {
        "ok": False,
        "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": new.id},
    }
    sent = await bot.done("sendMessage", chat_id=new.id, text="x")
    assert sent["chat"] == {"id": new.id, "type": "supergroup", "title": "Market"}


async def test_a_dialog_of_two_people_is_unknown_to_the_bot(bot: Bot, sam: people.Person) -> None:
    dialog = sam.dialog(people.join(bot.world, "Pat"))
    answer = await bot.refused("sendMessage", chat_id=dialog.id, text="x")
    assert answer == (400, "Bad Request: chat not found")


async def test_a_photo_is_sent_by_upload_and_again_by_file_id(bot: Bot, sam: people.Person) -> None:
    first = await bot.upload(
        "sendPhoto", {"photo": png_header(300, 200)}, chat_id=sam.id, caption="c"
    )
    size = first["result"]["photo"][-1]
    assert (size["width"], size["height"], size["file_size"]) == (300, 200, 33)
    again = await bot.done("sendPhoto", chat_id=sam.id, photo=size["file_id"])
    assert again["photo"] == first["result"]["photo"]
    assert "caption" not in again
    stored = bot.world.files.get(sam.chat.visible[0].photo or "")
    assert stored is not None
    assert stored.data == png_header(300, 200)


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"no picture", "IMAGE_PROCESS_FAILED"),
        (png_header(5001, 5000), "PHOTO_INVALID_DIMENSIONS"),
        (png_header(21, 1), "PHOTO_INVALID_DIMENSIONS"),
        (png_header(1, 0), "PHOTO_INVALID_DIMENSIONS"),
        (
            png_header(9, 9) + b"\0" * (10 * 1024 * 1024),
            "file is too big for a photo: 10485793 bytes",
        ),
    ],
    ids=["bytes", "sum", "ratio", "zero", "size"],
)
async def test_photos_are_pictures_within_telegrams_bounds(
    bot: Bot, sam: people.Person, data: bytes, refusal: str
) -> None:
    answer = await bot.upload("sendPhoto", {"photo": data}, chat_id=sam.id)
    assert (answer["error_code"], answer["description"]) == (400, f"Bad Request: {refusal}")
    assert sam.chat.visible == []


@pytest.mark.parametrize(
    ("photo", "refusal"),
    [
        ("", "there is no photo in the request"),
        ("unknown", "wrong file identifier/HTTP URL specified"),
        ("attach://nothing", "there is no photo in the request"),
    ],
)
async def test_a_photo_must_be_named(
    bot: Bot, sam: people.Person, photo: str, refusal: str
) -> None:
    answer = await bot.refused("sendPhoto", chat_id=sam.id, photo=photo)
    assert answer == (400, f"Bad Request: {refusal}")


async def test_a_document_is_no_photo(bot: Bot, sam: people.Person) -> None:
    sent = await bot.upload("sendDocument", {"document": ("a.txt", b"x")}, chat_id=sam.id)
    file_id = sent["result"]["document"]["file_id"]
    answer = await bot.refused("sendPhoto", chat_id=sam.id, photo=file_id)
    assert answer == (400, "Bad Request: can't use file of type Document as Photo")


async def test_in_a_group_other_peoples_messages_stay(bot: Bot, sam: people.Person) -> None:
    group = sam.new_group("Market")
    theirs = sam.send("/hello", group)
    answer = await bot.refused("deleteMessage", chat_id=group.id, message_id=theirs.id)
    assert answer == (400, "Bad Request: message can't be deleted")


async def test_a_private_chat_takes_a_burst_of_four_then_one_a_second(sandbox_clock: Clock) -> None:
    async with serving(World(now=sandbox_clock)) as bot:
        sam = people.join(bot.world, "Sam", started=True)
        for _ in range(4):
            await bot.done("sendMessage", chat_id=sam.id, text="x")
        assert await bot.call("sendMessage", chat_id=sam.id, text="x") == {
            "ok": False,
            "error_code": 429,
            "description": "Too Many Requests: retry after 1",
            "parameters": {"retry_after": 1},
        }
        sandbox_clock.now += 1
        await bot.done("sendMessage", chat_id=sam.id, text="x")
        assert (await bot.refused("sendMessage", chat_id=sam.id, text="x"))[0] == 429
        assert len(sam.chat.visible) == 5


def test_a_group_takes_20_messages_a_minute() -> None:
    limiter = Limiter(Limits())
    taken = [limiter.take(-1, START + number / 10, group=True) for number in range(21)]
    assert taken == [0] * 20 + [1]
    burst = Limiter(Limits(total=None))
    assert [burst.take(-1, START, group=True) for _ in range(21)] == [0] * 20 + [3]


def test_all_chats_together_take_30_messages_a_second() -> None:
    limiter = Limiter(Limits())
    taken = [limiter.take(number, START, group=False) for number in range(60)]
    assert taken.index(1) in range(30, 39)
    assert limiter.take(99, START + 1, group=False) == 0


def test_the_unevenness_of_a_network_is_forgiven() -> None:
    limiter = Limiter(Limits(chat=Rate(1, 1.0, 1)))
    assert limiter.take(1, START, group=False) == 0
    assert limiter.take(1, START + 0.75, group=False) == 0
    assert limiter.take(1, START + 1.5, group=False) == 1


def test_limits_can_be_switched_off() -> None:
    limiter = Limiter(NO_LIMITS)
    assert {limiter.take(1, START, group=False) for _ in range(100)} == {0}


async def test_a_message_goes_into_a_topic_of_its_forum_alone(bot: Bot, sam: people.Person) -> None:
    group = sam.new_group("Market")
    with pytest.raises(WorldError, match="only a supergroup"):
        sam.open_topic(group, "Sales")
    forum = sam.migrate(group)
    topic = sam.open_topic(forum, "Sales")
    sent = await bot.done("sendMessage", chat_id=forum.id, text="x", message_thread_id=topic)
    assert (sent["message_thread_id"], sent["is_topic_message"]) == (topic, True)
    assert sent["chat"]["is_forum"] is True
    for chat in (forum, sam.chat):
        refused = await bot.refused("sendMessage", chat_id=chat.id, text="x", message_thread_id=1)
        assert refused == (400, "Bad Request: message thread not found")


async def test_more_than_a_hundred_entities_are_ignored(bot: Bot, sam: people.Person) -> None:
    text = " ".join(["<b>x</b>"] * 101)
    sent = await bot.done("sendMessage", chat_id=sam.id, text=text, parse_mode="HTML")
    assert (len(sent["entities"]), sent["text"].count("x")) == (100, 101)
