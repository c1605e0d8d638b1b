"""Bot API methods that send, edit and delete messages, and answer buttons and inline queries."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot.sandbox.web import contents
from bot.sandbox.world import errors, formatting, model, world


def chat_named(world: world.World, params: contents.Params) -> model.Chat:
    """Return the chat that chat_id names. Errors: 400 not found, migrated."""
    if not params.text("chat_id").strip():
        raise errors.bad_request("chat_id is empty")
    chat = world.chats.get(params.chat_id) if params.chat_id is not None else None
    if chat is None or chat.kind == "dialog":  # a bot can't know dialogs between people
        raise errors.bad_request("chat not found")
    if chat.migrated_to is not None:
        moved = "group chat was upgraded to a supergroup chat"
        raise errors.bad_request(moved, migrate_to_chat_id=chat.migrated_to)
    return chat


def writable_chat(world: world.World, params: contents.Params) -> model.Chat:
    """Return the chat if the bot may write there. Errors: 400, and 403 in Telegram's words."""
    chat = chat_named(world, params)
    if chat.kind == "private":
        if chat.bot_status == "new":
            raise errors.forbidden("bot can't initiate conversation with a user")
        if chat.bot_status == "kicked":
            raise errors.forbidden("bot was blocked by the user")
    elif chat.bot_status == "kicked":
        raise errors.forbidden(f"bot was kicked from the {chat.kind} chat")
    elif chat.bot_status != "member":
        raise errors.forbidden(f"bot is not a member of the {chat.kind} chat")
    return chat


async def send_message(world: world.World, params: contents.Params) -> model.Json:
    """`sendMessage`."""
    chat = writable_chat(world, params)
    return _send(world, chat, params, contents.text_of(params))


def file_sender(kind: str) -> Callable[[world.World, contents.Params], Awaitable[model.Json]]:
    """`sendPhoto`, sendDocument, sendVideo and the like: an upload or a file_id."""

    async def send_file(world: world.World, params: contents.Params) -> model.Json:
        chat = writable_chat(world, params)
        caption = contents.caption_of(params)
        media = contents.media_of(world.files, kind, params, kind)
        return _send(world, chat, params, media | caption)

    return send_file


def _send(
    world: world.World, chat: model.Chat, params: contents.Params, content: model.Json
) -> model.Json:
    """Post checked content within the limits. Errors: 400, 429."""
    topic = params.number("message_thread_id")
    if topic and topic not in chat.topics:
        raise errors.bad_request("message thread not found")
    options = model.topic_options(topic)
    if params.flag("disable_notification"):
        options["disable_notification"] = True
    preview = params.json("link_preview_options", "link preview options")
    if preview is not None and not isinstance(preview, Mapping):
        raise errors.bad_request("object expected as link preview options")
    if preview:
        options["link_preview_options"] = dict(preview)
    draft = model.Draft(content, contents.inline_keyboard(params.markup()), options)
    if wait := world.limiter.take(chat.id, world.now(), group=chat.is_group):
        raise errors.too_many(wait)
    return world.post(chat, world.bot, draft).json()


# Editing and deleting.

DELETABLE_SECONDS = 48 * 60 * 60
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly "
    "the same as a current content and reply markup of the message"
)
_CAPTION = ("caption", "caption_entities")


async def edit_message_text(world: world.World, params: contents.Params) -> model.Json | bool:
    """`editMessageText`, of a message in a chat or by inline_message_id."""
    message = _editable(world, params)
    text = contents.text_of(params)
    if "text" not in message.content:
        raise errors.bad_request("there is no text in the message to edit")
    return _revise(world, params, message, text)


async def edit_message_caption(world: world.World, params: contents.Params) -> model.Json | bool:
    """`editMessageCaption`; an empty caption removes it."""
    message = _editable(world, params)
    if "text" in message.content:
        raise errors.bad_request("there is no caption in the message to edit")
    media = {name: value for name, value in message.content.items() if name not in _CAPTION}
    return _revise(world, params, message, media | contents.caption_of(params))


async def edit_message_media(world: world.World, params: contents.Params) -> model.Json | bool:
    """`editMessageMedia`: another photo or document, and its caption."""
    message = _editable(world, params)
    kind, item = contents.described_media(params.json("media", "InputMedia"), params)
    uploaded = item.upload("media") or item.text("media").startswith("attach://")
    if message.inline_message_id and uploaded:
        raise errors.bad_request("wrong file identifier/HTTP URL specified")
    caption = contents.caption_of(item)
    media = contents.media_of(world.files, kind, item, "media")
    return _revise(world, params, message, media | caption)


async def edit_message_reply_markup(
    world: world.World, params: contents.Params
) -> model.Json | bool:
    """`editMessageReplyMarkup`; without a markup the keyboard is removed."""
    message = _editable(world, params)
    return _revise(world, params, message, message.content)


async def delete_message(world: world.World, params: contents.Params) -> bool:
    """`deleteMessage`: own messages, in private chats all messages, up to 48 hours old."""
    chat = chat_named(world, params)
    message = chat.messages.get(params.number("message_id"))
    if not message or message.deleted:
        raise errors.bad_request("message to delete not found")
    if not _is_own(world, message) and chat.kind != "private":
        raise errors.bad_request("message can't be deleted")
    if world.now() - message.date > DELETABLE_SECONDS:
        raise errors.bad_request("message can't be deleted for everyone")
    world.remove(message)
    return True


def _editable(world: world.World, params: contents.Params) -> model.Message:
    if inline_id := params.text("inline_message_id"):
        found = world.inline_messages.get(inline_id)
        if not found:
            raise errors.bad_request("MESSAGE_ID_INVALID")
        return found
    chat = writable_chat(world, params)
    if not params.text("message_id"):
        raise errors.bad_request("message identifier is not specified")
    message = chat.messages.get(params.number("message_id"))
    if not message or message.deleted:
        raise errors.bad_request("message to edit not found")
    if not _is_own(world, message) or message.via_bot:
        raise errors.bad_request("message can't be edited")
    return message


def _is_own(world: world.World, message: model.Message) -> bool:
    return message.sender.id == world.bot.id


def _revise(
    world: world.World, params: contents.Params, message: model.Message, content: model.Json
) -> model.Json | bool:
    markup: Any = contents.inline_keyboard(params.markup())
    if (content, markup) == (message.content, message.markup):
        raise errors.bad_request(NOT_MODIFIED)
    if message.inline_message_id:
        wait = world.limiter.take_inline(message.inline_message_id, world.now())
    else:
        chat = message.chat
        wait = world.limiter.take(chat.id, world.now(), group=chat.is_group)
    if wait:
        raise errors.too_many(wait)
    world.revise(message, model.Draft(content, markup))
    return True if message.inline_message_id else message.json()


# Answers to buttons and inline queries.

CALLBACK_SECONDS = 30
"""Seconds to answer a button press. Telegram publishes no figure; reports range from ten seconds to
a minute."""

INLINE_SECONDS = 15
ANSWER_CHARACTERS = 200
MOST_RESULTS = 50
RESULT_ID_BYTES = range(1, 65)
OFFSET_BYTES = 64
CACHE_SECONDS = 300

TOO_OLD = "query is too old and response timeout expired or query ID is invalid"


async def answer_callback_query(world: world.World, params: contents.Params) -> bool:
    """`answerCallbackQuery`, once for each press, within half a minute. Errors: 400."""
    query = world.callbacks.get(params.text("callback_query_id"))
    if len(params.text("text")) > ANSWER_CHARACTERS:
        raise errors.bad_request("MESSAGE_TOO_LONG")
    if not query or query.answer is not None or world.now() - query.date > CALLBACK_SECONDS:
        raise errors.bad_request(TOO_OLD)
    alert, address = params.flag("show_alert"), params.text("url")
    # only the bot's deep links, since it has no game
    name = re.escape(world.bot.username)
    links = rf"(https?://)?t\.me/{name}\?start=[\w-]{{1,64}}|tg://resolve\?domain={name}&start=[\w-]{{1,64}}"
    if address and not re.fullmatch(links, address, re.IGNORECASE | re.ASCII):
        raise errors.bad_request("URL_INVALID")
    query.answer = {"text": params.text("text"), "show_alert": alert, "url": address}
    world.bell.ring()
    return True


async def answer_inline_query(world: world.World, params: contents.Params) -> bool:
    """`answerInlineQuery`: at most 50 results, each valid as a message. Errors: 400."""
    results = params.json("results", "inline query results")
    if not isinstance(results, list):
        raise errors.bad_request("expected an Array of InlineQueryResult")
    if len(results) > MOST_RESULTS:
        raise errors.bad_request("RESULTS_TOO_MUCH")
    drafts = [_draft(world, result) for result in results]
    ids = [str(result.get("id", "")) for result in results]
    if any(len(one.encode()) not in RESULT_ID_BYTES for one in ids):
        raise errors.bad_request("RESULT_ID_INVALID")
    if len(set(ids)) < len(ids):
        raise errors.bad_request("RESULT_ID_DUPLICATE")
    query = world.inline_queries.get(params.text("inline_query_id"))
    if not query or query.answered or world.now() - query.date > INLINE_SECONDS:
        raise errors.bad_request(TOO_OLD)
    query.results, query.drafts = results, dict(zip(ids, drafts, strict=True))
    query.button = _button(params)
    next_offset = params.text("next_offset")
    if len(next_offset.encode()) > OFFSET_BYTES:
        raise errors.bad_request("NEXT_OFFSET_INVALID")
    query.next_offset, query.answered = next_offset, True
    # As Telegram does, the answer is cached for everybody unless `is_personal`.
    owner = query.sender.id if params.flag("is_personal") else 0
    until = world.now() + params.number("cache_time", CACHE_SECONDS)
    world.inline_cache[query.query, query.offset, owner] = until, query
    world.bell.ring()
    return True


def _draft(world: world.World, result: Any) -> model.Draft:
    if not isinstance(result, Mapping):
        raise errors.bad_request("can't parse inline query result: must be an object")
    if result.get("type") == "article" and formatting.blank(str(result.get("title", ""))):
        raise errors.bad_request("can't parse inline query result: Can't find field \"title\"")
    thumbnail = str(result.get("thumbnail_url") or "")
    if thumbnail and not formatting.web_address(thumbnail):
        raise errors.bad_request("WEBDOCUMENT_URL_INVALID")
    markup = contents.inline_keyboard(result.get("reply_markup"))
    return model.Draft(contents.inline_content(world.files, result), markup)


def _button(params: contents.Params) -> model.Json | None:
    button = params.json("button", "InlineQueryResultsButton")
    if button is None:
        return None
    if not isinstance(button, Mapping) or formatting.blank(str(button.get("text", ""))):
        raise errors.bad_request("InlineQueryResultsButton must be an Object")
    payload = str(button.get("start_parameter", ""))
    if not model.START_PAYLOAD.fullmatch(payload):
        raise errors.bad_request("START_PARAM_INVALID" if payload else "START_PARAM_EMPTY")
    return dict(button)
