"""Bot API methods about the bot itself, chats, members and files."""

from collections.abc import Awaitable, Callable
from typing import Any

from bot.sandbox.bot_api.params import Params
from bot.sandbox.bot_api.sending import chat_named
from bot.sandbox.world.errors import bad_request
from bot.sandbox.world.files import DOWNLOAD_BYTES
from bot.sandbox.world.model import Json
from bot.sandbox.world.profile import commands_of, language_of, scope_of
from bot.sandbox.world.world import World

Method = Callable[[World, Params], Awaitable[Any]]

MOST_PROFILE_PHOTOS = 100
"""In one answer."""

_GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription")
_NO_GIFTS = dict.fromkeys((*_GIFTS, "gifts_from_channels"), False)


async def get_me(world: World, _params: Params) -> Json:
    """`getMe`."""
    return world.bot.json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": True,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


async def set_my_commands(world: World, params: Params) -> bool:
    """`setMyCommands` for one scope and language. Errors: 400."""
    commands = commands_of(params.json("commands", "commands"))
    world.profile.commands[_commands_key(world, params)] = commands
    _announce(world)
    return True


async def get_my_commands(world: World, params: Params) -> list[Json]:
    """`getMyCommands` of exactly this scope and language."""
    return world.profile.commands.get(_commands_key(world, params), [])


async def delete_my_commands(world: World, params: Params) -> bool:
    """`deleteMyCommands` of exactly this scope and language."""
    world.profile.commands.pop(_commands_key(world, params), None)
    _announce(world)
    return True


def setter(kind: str) -> Method:
    """`setMyName`, setMyDescription or setMyShortDescription. Errors: 400 too long."""

    async def set_text(world: World, params: Params) -> bool:
        language = language_of(params.text("language_code"))
        world.profile.set_text(kind, language, params.text(kind).strip())
        _announce(world)
        return True

    return set_text


def getter(kind: str) -> Method:
    """`getMyName`, getMyDescription or getMyShortDescription."""

    async def get_text(world: World, params: Params) -> Json:
        text = world.profile.text(kind, language_of(params.text("language_code")))
        return {kind: text or (world.bot.first_name if kind == "name" else "")}

    return get_text


async def get_chat(world: World, params: Params) -> Json:
    """`getChat`: a ChatFullInfo."""
    full = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _NO_GIFTS}
    return chat_named(world, params).json() | full


async def get_chat_member(world: World, params: Params) -> Json:
    """`getChatMember`: a plain member, the bot included, or one who left."""
    chat = chat_named(world, params)
    user_id = params.number("user_id")
    user = world.bot if user_id == world.bot.id else world.users.get(user_id)
    if user is None:
        raise bad_request("user not found")
    if user is world.bot:
        status = "left" if chat.bot_status == "new" else chat.bot_status
        until = {"until_date": 0} if status == "kicked" else {}
        return {"user": user.json(), "status": status} | until
    return {"user": user.json(), "status": "member" if user_id in chat.members else "left"}


async def get_user_profile_photos(world: World, params: Params) -> Json:
    """`getUserProfilePhotos`: those that the person shows to bots, newest first. Errors: 400."""
    user_id, offset = params.number("user_id"), max(0, params.number("offset"))
    if user_id not in world.users:
        raise bad_request("user not found")
    most = min(MOST_PROFILE_PHOTOS, max(1, params.number("limit", MOST_PROFILE_PHOTOS)))
    photos = world.profile_photos.get(user_id, [])
    return {"total_count": len(photos), "photos": photos[offset : offset + most]}


async def get_file(world: World, params: Params) -> Json:
    """`getFile`: the path for `/file/bot{token}/{path}`. Errors: 400 unknown, above 20 MB."""
    stored = world.files.get(params.text("file_id"))
    if not stored:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    data = (await world.files.read(stored)).data
    if len(data) > DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    named = {name: stored.json[name] for name in ("file_id", "file_unique_id")}
    return named | {"file_size": len(data), "file_path": stored.path}


def _commands_key(world: World, params: Params) -> tuple[tuple[str, int, int], str]:
    scope = scope_of(params.json("scope", "BotCommandScope"))
    if scope[1] and world.chat_of_bot(scope[1]) is None:
        raise bad_request("chat not found")
    return scope, language_of(params.text("language_code"))


def _announce(world: World) -> None:
    """Notify the chat page that the bot's texts or commands changed."""
    world.feed.add("profile", 0)
    world.bell.ring()
