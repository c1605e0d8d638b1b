"""Bot API methods that change or remove what was sent."""

from typing import Any

from bot.sandbox.bot_api.contents import caption_of, described_media, media_of, text_of
from bot.sandbox.bot_api.keyboards import inline
from bot.sandbox.bot_api.params import Params
from bot.sandbox.bot_api.sending import chat_named, writable_chat
from bot.sandbox.world.errors import bad_request, too_many
from bot.sandbox.world.model import Draft, Json, Message
from bot.sandbox.world.world import World

DELETABLE_SECONDS = 48 * 60 * 60
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly "
    "the same as a current content and reply markup of the message"
)
_CAPTION = ("caption", "caption_entities", "show_caption_above_media")


async def edit_message_text(world: World, params: Params) -> Json | bool:
    """`editMessageText`, of a message in a chat or by inline_message_id."""
    message = _editable(world, params)
    text = text_of(params)
    if "text" not in message.content:
        raise bad_request("there is no text in the message to edit")
    return _revise(world, params, message, text)


async def edit_message_caption(world: World, params: Params) -> Json | bool:
    """`editMessageCaption`; an empty caption removes it."""
    message = _editable(world, params)
    if "text" in message.content:
        raise bad_request("there is no caption in the message to edit")
    media = {name: value for name, value in message.content.items() if name not in _CAPTION}
    return _revise(world, params, message, media | caption_of(params))


async def edit_message_media(world: World, params: Params) -> Json | bool:
    """`editMessageMedia`: another photo or document, and its caption."""
    message = _editable(world, params)
    kind, item = described_media(params.json("media", "InputMedia"), params)
    uploaded = item.upload("media") or item.text("media").startswith("attach://")
    if message.inline_message_id and uploaded:
        raise bad_request("wrong file identifier/HTTP URL specified")
    caption = caption_of(item)
    media = await media_of(world.files, kind, item, "media")
    return _revise(world, params, message, media | caption)


async def edit_message_reply_markup(world: World, params: Params) -> Json | bool:
    """`editMessageReplyMarkup`; none removes the keyboard."""
    message = _editable(world, params)
    return _revise(world, params, message, message.content)


async def delete_message(world: World, params: Params) -> bool:
    """`deleteMessage`: the bot's own, or in a private chat anyone's, for 48 hours."""
    chat = chat_named(world, params)
    message = chat.messages.get(params.number("message_id"))
    if not message or message.deleted:
        raise bad_request("message to delete not found")
    if not _is_own(world, message) and chat.kind != "private":
        raise bad_request("message can't be deleted")
    if world.now() - message.date > DELETABLE_SECONDS:
        raise bad_request("message can't be deleted for everyone")
    world.remove(message)
    return True


def _editable(world: World, params: Params) -> Message:
    inline_id = params.text("inline_message_id")
    if inline_id:
        found = world.inline_messages.get(inline_id)
        if not found:
            raise bad_request("MESSAGE_ID_INVALID")
        return found
    chat = writable_chat(world, params)
    if not params.text("message_id"):
        raise bad_request("message identifier is not specified")
    message = chat.messages.get(params.number("message_id"))
    if not message or message.deleted:
        raise bad_request("message to edit not found")
    if not _is_own(world, message) or message.via_bot:
        raise bad_request("message can't be edited")
    return message


def _is_own(world: World, message: Message) -> bool:
    return message.sender.id == world.bot.id


def _count(world: World, message: Message) -> None:
    if message.inline_message_id:
        wait = world.limiter.take_inline(message.inline_message_id, world.now())
    else:
        chat = message.chat
        wait = world.limiter.take(chat.id, world.now(), group=chat.is_group)
    if wait:
        raise too_many(wait)


def _revise(world: World, params: Params, message: Message, content: Json) -> Json | bool:
    markup: Any = inline(params.markup())
    if (content, markup) == (message.content, message.markup):
        raise bad_request(NOT_MODIFIED)
    _count(world, message)
    world.revise(message, Draft(content, markup))
    return True if message.inline_message_id else message.json()
