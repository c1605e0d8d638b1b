"""Bot API methods that send a message to a chat."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot.sandbox.bot_api.contents import caption_of, media_of, text_of
from bot.sandbox.bot_api.keyboards import checked
from bot.sandbox.bot_api.params import Params
from bot.sandbox.world.errors import bad_request, forbidden, too_many
from bot.sandbox.world.model import Chat, Draft, Json, Message
from bot.sandbox.world.world import World

ACTIONS = frozenset(
    {
        "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
        "upload_document", "choose_sticker", "find_location", "record_video_note",
        "upload_video_note",
    }
)  # fmt: skip
_FLAGS = ("disable_notification", "protect_content")


def chat_named(world: World, params: Params) -> Chat:
    """Find the chat that chat_id names. Errors: 400 not found, migrated."""
    name = params.text("chat_id").strip()
    if not name:
        raise bad_request("chat_id is empty")
    number = params.chat_id
    chat = world.username_chat(name) if number is None else world.chat_of_bot(number)
    if chat is None:
        raise bad_request("chat not found")
    if chat.migrated_to is not None:
        moved = "group chat was upgraded to a supergroup chat"
        raise bad_request(moved, migrate_to_chat_id=chat.migrated_to)
    return chat


def writable_chat(world: World, params: Params) -> Chat:
    """Find the chat, if the bot may write there. Errors: 400, and 403 as Telegram tells it."""
    chat = chat_named(world, params)
    if chat.kind == "private":
        if chat.bot_status == "new":
            raise forbidden("bot can't initiate conversation with a user")
        if chat.bot_status == "kicked":
            raise forbidden("bot was blocked by the user")
    elif chat.bot_status == "kicked":
        raise forbidden(f"bot was kicked from the {chat.kind} chat")
    elif chat.bot_status != "member":
        raise forbidden(f"bot is not a member of the {chat.kind} chat")
    return chat


async def send_message(world: World, params: Params) -> Json:
    """`sendMessage`."""
    chat = writable_chat(world, params)
    return _send(world, chat, params, text_of(params))


def file_sender(kind: str) -> Callable[[World, Params], Awaitable[Json]]:
    """`sendPhoto`, sendDocument, sendVideo and the like: an upload, a file_id or an address."""

    async def send_file(world: World, params: Params) -> Json:
        chat = writable_chat(world, params)
        caption = caption_of(params)
        media = await media_of(world.files, kind, params, kind)
        return _send(world, chat, params, media | caption)

    return send_file


async def send_chat_action(world: World, params: Params) -> bool:
    """`sendChatAction`."""
    chat = writable_chat(world, params)
    action = params.text("action")
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    world.changed("action", chat, action=action)
    return True


def _send(world: World, chat: Chat, params: Params, content: Json) -> Json:
    """Post what has been checked, within the limits. Errors: 400, 429."""
    draft = Draft(content, checked(params.markup()), _options(params))
    reply_to = _replied(chat, params)
    if wait := world.limiter.take(chat.id, world.now(), group=chat.is_group):
        raise too_many(wait)
    message = world.post(chat, world.bot, draft, reply_to=reply_to)
    _keep_keyboard(chat, draft.markup)
    return message.json()


def _keep_keyboard(chat: Chat, markup: Json | None) -> None:
    """Keep a reply keyboard for the chat until another takes its place or removes it."""
    if markup and "keyboard" in markup:
        chat.keyboard = markup
    elif markup and markup.get("remove_keyboard"):
        chat.keyboard = None


def _replied(chat: Chat, params: Params) -> Message | None:
    described = params.json("reply_parameters", "reply parameters")
    if described is None and params.text("reply_to_message_id"):
        described = {"message_id": params.number("reply_to_message_id")}
        described["allow_sending_without_reply"] = params.flag("allow_sending_without_reply")
    if described is None:
        return None
    if not isinstance(described, Mapping):
        raise bad_request("object expected as reply parameters")
    message = chat.messages.get(_whole(described.get("message_id")))
    if message and not message.deleted:
        return message
    if described.get("allow_sending_without_reply"):
        return None
    raise bad_request("message to be replied not found")


def _whole(value: Any) -> int:
    return int(value) if str(value).isdecimal() else 0


def _options(params: Params) -> Json:
    options: Json = {name: True for name in _FLAGS if params.flag(name)}
    if params.flag("protect_content"):
        options["has_protected_content"] = True
    if thread := params.number("message_thread_id"):
        options["message_thread_id"] = thread
    preview = params.json("link_preview_options", "link preview options")
    if preview is not None and not isinstance(preview, Mapping):
        raise bad_request("object expected as link preview options")
    return options | ({"link_preview_options": dict(preview)} if preview else {})
