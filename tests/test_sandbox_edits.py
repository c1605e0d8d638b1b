"""What the bot may change and remove of what it has sent."""

import json
from typing import Any

import pytest

from bot.sandbox import people
from bot.sandbox.model import Version
from tests.telegraph import START, A, Bot, Clock, keys, png

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
    sent = await bot.done("sendMessage", chat_id=sam.id, text="one", reply_markup=keys(A))
    place = {"chat_id": sam.id, "message_id": sent["message_id"]}
    sandbox_clock.now += 5
    edited = await bot.done("editMessageText", **place, text="two")
    assert (edited["text"], edited["edit_date"]) == ("two", int(START) + 5)
    assert "reply_markup" not in edited
    message = sam.chat.visible[0]
    assert (message.text, message.buttons) == ("two", [])
    assert message.history == [Version(int(START), {"text": "one"}, keys(A))]


async def test_an_edit_that_changes_nothing_is_refused(bot: Bot, sam: people.Person) -> None:
    sent = await bot.done("sendMessage", chat_id=sam.id, text="one", reply_markup=keys(A))
    place = {"chat_id": sam.id, "message_id": sent["message_id"], "reply_markup": keys(A)}
    assert await bot.refused("editMessageText", **place, text=" one ") == NOT_MODIFIED
    assert await bot.refused("editMessageReplyMarkup", **place) == NOT_MODIFIED
    assert sam.chat.visible[0].history == []
    await bot.done("editMessageReplyMarkup", **(place | {"reply_markup": None}))
    assert sam.chat.visible[0].buttons == []


async def test_a_photos_caption_and_picture_can_be_edited(bot: Bot, sam: people.Person) -> None:
    sent = await bot.upload("sendPhoto", {"photo": png(9, 9)}, chat_id=sam.id, caption="one")
    place = {"chat_id": sam.id, "message_id": sent["result"]["message_id"]}
    edited = await bot.done("editMessageCaption", **place, caption="<i>two</i>", parse_mode="HTML")
    assert edited["caption_entities"] == [{"type": "italic", "offset": 0, "length": 3}]
    media = {"type": "photo", "media": "attach://p", "caption": "three"}
    answer = await bot.upload(
        "editMessageMedia", {"p": png(8, 8)}, **place, media=json.dumps(media)
    )
    assert answer["result"]["photo"][0]["width"] == 8
    assert answer["result"]["caption"] == "three"
    await bot.done("editMessageCaption", **place, caption="")
    assert sam.chat.visible[0].text == ""


async def test_text_and_caption_are_edited_each_by_its_own_method(
    bot: Bot, sam: people.Person
) -> None:
    text = await bot.done("sendMessage", chat_id=sam.id, text="x")
    photo = (await bot.upload("sendPhoto", {"photo": png(9, 9)}, chat_id=sam.id))["result"]
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
