"""A real client library, python-telegram-bot, understands every answer of the sandbox."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import telegram
from telegram import error

from bot.sandbox.web.server import create_app
from bot.sandbox.world import people
from bot.sandbox.world.errors import Fault, Limits
from bot.sandbox.world.world import World
from tests.support.asgi_server import serve_asgi
from tests.support.sandbox_server import png_header

MARKUP = telegram.InlineKeyboardMarkup(
    [
        [
            telegram.InlineKeyboardButton("Yes", callback_data="y", style="primary"),
            telegram.InlineKeyboardButton("Copy", copy_text=telegram.CopyTextButton("text")),
        ]
    ]
)


@pytest.fixture
def world() -> World:
    return World(limits=Limits(total=None))


@pytest.fixture
async def bot(world: World) -> AsyncIterator[telegram.Bot]:
    async with serve_asgi(create_app(world)) as root:
        files = f"{root}/file/bot"
        async with telegram.Bot(world.token, f"{root}/bot", base_file_url=files) as client:
            yield client
        await world.close()


@pytest.fixture
def sam(world: World) -> people.Person:
    return people.join(world, "Sam", started=True)


async def next_update(bot: telegram.Bot, world: World) -> telegram.Update:
    await world.wait_for(lambda: world.updates.pending)
    (update,) = await bot.get_updates()
    await bot.get_updates(offset=update.update_id + 1)
    return update


async def test_messages_are_sent_edited_and_deleted(bot: telegram.Bot, sam: people.Person) -> None:
    sent = await bot.send_message(sam.id, "<b>hi</b>", parse_mode="HTML", reply_markup=MARKUP)
    assert sent.reply_markup == MARKUP
    assert sent.parse_entities() == {sent.entities[0]: "hi"}
    edited = await sent.edit_text("two")
    assert isinstance(edited, telegram.Message)
    assert (edited.text, edited.edit_date is not None) == ("two", True)
    with pytest.raises(error.BadRequest, match="Message is not modified"):
        await edited.edit_text("two")
    assert await edited.delete() is True


async def test_files_are_sent_replaced_and_downloaded(
    bot: telegram.Bot, sam: people.Person
) -> None:
    sent = await bot.send_photo(sam.id, png_header(20, 10), caption="one")
    assert (sent.photo[-1].width, sent.photo[-1].height, sent.caption) == (20, 10, "one")
    edited = await sent.edit_media(telegram.InputMediaPhoto(png_header(8, 8), caption="two"))
    assert isinstance(edited, telegram.Message)
    assert (edited.photo[-1].width, edited.caption) == (8, "two")
    captioned = await edited.edit_caption("three")
    assert isinstance(captioned, telegram.Message)
    assert captioned.caption == "three"
    file = await captioned.photo[-1].get_file()
    assert await file.download_as_bytearray() == png_header(8, 8)
    document = await bot.send_document(sam.id, b"1,2\n", filename="a.csv")
    assert document.document is not None
    assert document.document.file_name == "a.csv"


async def test_presses_are_read_and_answered(
    bot: telegram.Bot, world: World, sam: people.Person
) -> None:
    await bot.send_message(sam.id, "?", reply_markup=MARKUP)
    query = sam.press(sam.chat.visible[0], "Yes")
    update = await next_update(bot, world)
    assert update.callback_query is not None
    assert update.callback_query.data == "y"
    assert await update.callback_query.answer("ok", show_alert=True) is True
    assert query.answer == {"text": "ok", "show_alert": True, "url": ""}
    with pytest.raises(error.BadRequest, match="Query is too old"):
        await update.callback_query.answer("again")


async def test_inline_queries_are_read_and_answered(
    bot: telegram.Bot, world: World, sam: people.Person
) -> None:
    photo = (await bot.send_photo(sam.id, png_header(9, 9))).photo[-1].file_id
    asking = asyncio.create_task(sam.inline("coffee"))
    update = await next_update(bot, world)
    assert update.inline_query is not None
    assert update.inline_query.query == "coffee"
    content = telegram.InputTextMessageContent("<b>x</b>", parse_mode="HTML")
    results: list[Any] = [
        telegram.InlineQueryResultArticle("1", "T", content, reply_markup=MARKUP),
        telegram.InlineQueryResultCachedPhoto("2", photo),
    ]
    button = telegram.InlineQueryResultsButton("New", start_parameter="new")
    await update.inline_query.answer(results, button=button, is_personal=True, cache_time=0)
    query = await asking
    assert query.button == {"text": "New", "start_parameter": "new"}
    posted = sam.choose(query, "1", sam.chat)
    assert await bot.edit_message_text("y", inline_message_id=posted.inline_message_id) is True
    via = (await next_update(bot, world)).message
    assert via is not None
    assert via.via_bot == bot.bot


async def test_the_bots_own_texts_are_read_back(bot: telegram.Bot, sam: people.Person) -> None:
    commands = (telegram.BotCommand("start", "Begin"),)
    await bot.set_my_commands(commands)
    assert await bot.get_my_commands() == commands
    await bot.set_my_description("long")
    await bot.set_my_short_description("short")
    assert (await bot.get_my_description()).description == "long"
    assert (await bot.get_my_short_description()).short_description == "short"
    assert (await bot.get_user_profile_photos(sam.id)).total_count == 0
    assert (await bot.get_webhook_info()).url == ""


async def test_refusals_become_the_librarys_errors(
    bot: telegram.Bot, world: World, sam: people.Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "true")  # else the library warns of its own future
    group = sam.new_group("Market")
    new = sam.migrate(group)
    with pytest.raises(error.ChatMigrated) as moved:
        await bot.send_message(group.id, "x")
    assert moved.value.new_chat_id == new.id
    sam.block()
    with pytest.raises(error.Forbidden, match="bot was blocked by the user"):
        await bot.send_message(sam.id, "x")
    sam.unblock()
    world.faults.add(Fault("cut", "sendMessage"))
    with pytest.raises(error.NetworkError):
        await bot.send_message(sam.id, "x")
    for _ in range(3):
        await bot.send_message(sam.id, "x")
    with pytest.raises(error.RetryAfter):
        await asyncio.gather(*(bot.send_message(sam.id, "x") for _ in range(3)))
    other = telegram.Bot("1:other", base_url=bot.base_url.partition("/bot")[0] + "/bot")
    with pytest.raises(error.InvalidToken):
        await other.initialize()
    await other.shutdown()
