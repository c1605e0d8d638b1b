"""What the bot may change and remove of what it has sent."""

import json
from typing import Any

import pytest

from bot.sandbox.world import people
from bot.sandbox.world.errors import NO_LIMITS
from bot.sandbox.world.model import Message, Version
from bot.sandbox.world.world import World
from tests.support.sandbox_server import START, A, Bot, Clock, button_row, png_header, serving

WRONG_FILE = "wrong file identifier/HTTP URL specified"

NOT_MODIFIED = (
    400,
    (
        "Bad Request: message is not modified: specified new message content and reply markup are "
        "exactly the same as a current content and reply markup of the message"
    ),
)


async def test_an_edit_replaces_text_and_keyboard_and_keeps_the_history(
    bot: Bot, sam: people.Person, sandbox_clock: Clock
) -> None:
    sent = await bot.done("sendMessage", chat_id=sam.id, text="one", reply_markup=button_row(A))
    place = {"chat_id": sam.id, "message_id": sent["message_id"]}
    sandbox_clock.now += 5
    edited = await bot.done("editMessageText", **place, text="two")
    assert (edited["text"], edited["edit_date"]) == ("two", int(START) + 5)
    assert "reply_markup" not in edited
    message = sam.chat.visible[0]
    assert (message.text, message.buttons) == ("two", [])
    assert message.history == [Version(int(START), {"text": "one"}, button_row(A))]


async def test_an_edit_that_changes_nothing_is_refused(bot: Bot, sam: people.Person) -> None:
    sent = await bot.done("sendMessage", chat_id=sam.id, text="one", reply_markup=button_row(A))
    place = {"chat_id": sam.id, "message_id": sent["message_id"], "reply_markup": button_row(A)}
    assert await bot.refused("editMessageText", **place, text=" one ") == NOT_MODIFIED
    assert await bot.refused("editMessageReplyMarkup", **place) == NOT_MODIFIED
    assert sam.chat.visible[0].history == []
    await bot.done("editMessageReplyMarkup", **(place | {"reply_markup": None}))
    assert sam.chat.visible[0].buttons == []


async def test_a_photos_caption_and_picture_can_be_edited(bot: Bot, sam: people.Person) -> None:
    sent = await bot.upload("sendPhoto", {"photo": png_header(9, 9)}, chat_id=sam.id, caption="one")
    place = {"chat_id": sam.id, "message_id": sent["result"]["message_id"]}
    edited = await bot.done("editMessageCaption", **place, caption="<i>two</i>", parse_mode="HTML")
    assert edited["caption_entities"] == [{"type": "italic", "offset": 0, "length": 3}]
    media = {"type": "photo", "media": "attach://p", "caption": "three"}
    answer = await bot.upload(
        "editMessageMedia", {"p": png_header(8, 8)}, **place, media=json.dumps(media)
    )
    assert answer["result"]["photo"][0]["width"] == 8
    assert answer["result"]["caption"] == "three"
    await bot.done("editMessageCaption", **place, caption="")
    assert sam.chat.visible[0].text == ""


async def test_text_and_caption_are_edited_each_by_its_own_method(
    bot: Bot, sam: people.Person
) -> None:
    text = await bot.done("sendMessage", chat_id=sam.id, text="x")
    photo = (await bot.upload("sendPhoto", {"photo": png_header(9, 9)}, chat_id=sam.id))["result"]
    by_text = {"chat_id": sam.id, "message_id": photo["message_id"], "text": "y"}
    assert await bot.refused("editMessageText", **by_text) == (
        400,
        "Bad Request: there is no text in the message to edit",
    )
    by_caption = {"chat_id": sam.id, "message_id": text["message_id"], "caption": "y"}
    assert await bot.refused("editMessageCaption", **by_caption) == (
        400,
        "Bad Request: there is no caption in the message to edit",
    )


async def test_only_own_messages_that_are_there_can_be_edited(bot: Bot, sam: people.Person) -> None:
    theirs = sam.send("mine")
    for number, refusal in (
        (theirs.id, "message can't be edited"),
        (1, "message to edit not found"),
        ("", "message identifier is not specified"),
        ("x", 'parameter "message_id" is invalid: must be an Integer'),
    ):
        answer = await bot.refused("editMessageText", chat_id=sam.id, message_id=number, text="x")
        assert answer == (400, f"Bad Request: {refusal}")
    unknown = await bot.refused("editMessageText", inline_message_id="no", text="x")
    assert unknown == (400, "Bad Request: MESSAGE_ID_INVALID")


@pytest.mark.parametrize(
    ("media", "refusal"),
    [
        (None, "media not found"),
        ({"type": "photo"}, "media not found"),
        (
            {"type": "video", "media": "x"},
            "can't parse InputMedia: only photo and document are supported here",
        ),
    ],
)
async def test_media_of_an_edit_are_checked(
    bot: Bot, sam: people.Person, media: Any, refusal: str
) -> None:
    sent = await bot.done("sendMessage", chat_id=sam.id, text="x")
    place = {"chat_id": sam.id, "message_id": sent["message_id"]}
    answer = await bot.refused("editMessageMedia", **place, media=media)
    assert answer == (400, f"Bad Request: {refusal}")


async def test_a_message_can_be_deleted_for_48_hours(
    bot: Bot, sam: people.Person, sandbox_clock: Clock
) -> None:
    sent = [await bot.done("sendMessage", chat_id=sam.id, text="x") for _ in range(2)]
    first, second = ({"chat_id": sam.id, "message_id": one["message_id"]} for one in sent)
    sandbox_clock.now += 48 * 60 * 60
    assert await bot.done("deleteMessage", **first) is True
    gone = (400, "Bad Request: message to delete not found")
    assert await bot.refused("deleteMessage", **first) == gone
    sandbox_clock.now += 1
    late = (400, "Bad Request: message can't be deleted for everyone")
    assert await bot.refused("deleteMessage", **second) == late
    assert [message.id for message in sam.chat.visible] == [second["message_id"]]
    edit = await bot.refused("editMessageText", **first, text="y")
    assert edit == (400, "Bad Request: message to edit not found")


async def test_a_text_becomes_a_picture_and_has_a_caption_then(
    bot: Bot, sam: people.Person
) -> None:
    sent = await bot.done("sendMessage", chat_id=sam.id, text="one")
    place = {"chat_id": sam.id, "message_id": sent["message_id"]}
    media = {"type": "photo", "media": "attach://card", "caption": "two"}
    answer = await bot.upload(
        "editMessageMedia", {"card": png_header(300, 200)}, **place, media=json.dumps(media)
    )
    assert answer["result"]["caption"] == "two"
    assert "text" not in answer["result"]
    await bot.done("editMessageCaption", **place, caption="three")
    assert sam.chat.visible[0].text == "three"


async def shared(bot: Bot, sam: people.Person, **result: Any) -> Message:
    """An article with a button, posted into a group by inline mode."""
    asked = sam.ask_inline("q")
    content = {"message_text": "card"}
    made = {"type": "article", "id": "1", "title": "T", "input_message_content": content}
    results = [made | {"reply_markup": button_row(A)} | result]
    await bot.done("answerInlineQuery", inline_query_id=asked.id, results=results, cache_time=0)
    return sam.choose(asked, "1", sam.new_group("Market"))


async def test_an_inline_message_takes_a_picture_by_file_id_and_no_upload(
    bot: Bot, sam: people.Person
) -> None:
    posted = await shared(bot, sam)
    place = {"inline_message_id": posted.inline_message_id}
    refusal = {"error_code": 400, "description": "Bad Request: " + WRONG_FILE, "ok": False}
    for files, media in (
        ({"card": png_header(9, 9)}, {"type": "photo", "media": "attach://card"}),
        ({}, {"type": "photo", "media": "unknown"}),
    ):
        described = json.dumps(media)
        assert await bot.upload("editMessageMedia", files, **place, media=described) == refusal
    own = await bot.upload("sendPhoto", {"photo": png_header(300, 200)}, chat_id=sam.id)
    file_id = own["result"]["photo"][-1]["file_id"]
    media = {"type": "photo", "media": file_id, "caption": "sold out"}
    assert (
        await bot.done("editMessageMedia", **place, media=media, reply_markup=button_row(A)) is True
    )
    assert (posted.photo, posted.text) == (file_id, "sold out")


async def test_edits_of_a_chat_count_as_its_messages(sandbox_clock: Clock) -> None:
    async with serving(World(now=sandbox_clock)) as bot:
        sam = people.join(bot.world, "Sam", started=True)
        sent = await bot.done("sendMessage", chat_id=sam.id, text="0")
        place = {"chat_id": sam.id, "message_id": sent["message_id"]}
        for number in (1, 2, 3):
            await bot.done("editMessageText", **place, text=str(number))
            assert await bot.refused("editMessageText", **place, text=str(number)) == NOT_MODIFIED
        answer = await bot.call("editMessageText", **place, text="4")
        assert (answer["error_code"], answer["parameters"]) == (429, {"retry_after": 1})
        assert (await bot.refused("sendMessage", chat_id=sam.id, text="x"))[0] == 429
        assert sam.chat.visible[0].text == "3"
        assert [call.code for call in bot.world.refused] == [400, 400, 400, 429, 429]


async def test_an_inline_message_takes_20_edits_a_minute(sandbox_clock: Clock) -> None:
    """A few at once, whatever chat it stands in; another message has a count of its own."""
    async with serving(World(now=sandbox_clock)) as bot:
        sam = people.join(bot.world, "Sam", started=True)
        first, second = await shared(bot, sam), await shared(bot, sam)
        edit = {"inline_message_id": first.inline_message_id, "reply_markup": button_row(A)}
        for number in range(4):
            await bot.done("editMessageText", **edit, text=f"{number} left")
        answer = await bot.call("editMessageText", **edit, text="none left")
        assert answer["parameters"] == {"retry_after": 3}
        other = {"inline_message_id": second.inline_message_id, "reply_markup": button_row(A)}
        await bot.done("editMessageText", **other, text="other")
        sandbox_clock.now += 3
        await bot.done("editMessageText", **edit, text="none left")
        bot.world.limiter.limits = NO_LIMITS
        for number in range(30):
            await bot.done("editMessageText", **edit, text=f"{number} left")
