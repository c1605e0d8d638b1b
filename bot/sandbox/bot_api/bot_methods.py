"""Bot API methods about the bot itself, chats, members, files, and how the bot receives updates."""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from bot.sandbox.bot_api import messages, params
from bot.sandbox.world import errors, files, model, profile, world

Method = Callable[[world.World, params.Params], Awaitable[Any]]

MOST_PROFILE_PHOTOS = 100
"""The most photos of one answer."""

_GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription")
_NO_GIFTS = dict.fromkeys((*_GIFTS, "gifts_from_channels"), False)


async def get_me(world: world.World, _params: params.Params) -> model.Json:
    """`getMe`."""
    return world.bot.json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": True,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


async def set_my_commands(world: world.World, params: params.Params) -> bool:
    """`setMyCommands` for one scope and language. Errors: 400."""
    commands = profile.commands_of(params.json("commands", "commands"))
    world.profile.commands[_commands_key(world, params)] = commands
    _announce(world)
    return True


async def get_my_commands(world: world.World, params: params.Params) -> list[model.Json]:
    """`getMyCommands` of exactly this scope and language."""
    return world.profile.commands.get(_commands_key(world, params), [])


async def delete_my_commands(world: world.World, params: params.Params) -> bool:
    """`deleteMyCommands` of exactly this scope and language."""
    world.profile.commands.pop(_commands_key(world, params), None)
    _announce(world)
    return True


def setter(kind: str) -> Method:
    """`setMyName`, setMyDescription or setMyShortDescription. Errors: 400 too long."""

    async def set_text(world: world.World, params: params.Params) -> bool:
        language = profile.language_of(params.text("language_code"))
        world.profile.set_text(kind, language, params.text(kind).strip())
        _announce(world)
        return True

    return set_text


def getter(kind: str) -> Method:
    """`getMyName`, getMyDescription or getMyShortDescription."""

    async def get_text(world: world.World, params: params.Params) -> model.Json:
        text = world.profile.text(kind, profile.language_of(params.text("language_code")))
        return {kind: text or (world.bot.first_name if kind == "name" else "")}

    return get_text


async def get_chat(world: world.World, params: params.Params) -> model.Json:
    """`getChat`: a ChatFullInfo."""
    full = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _NO_GIFTS}
    return messages.chat_named(world, params).json() | full


async def get_chat_member(world: world.World, params: params.Params) -> model.Json:
    """`getChatMember`: a member (possibly the bot) or a former member. Errors: 400."""
    chat = messages.chat_named(world, params)
    user_id = params.number("user_id")
    user = world.bot if user_id == world.bot.id else world.users.get(user_id)
    if user is None:
        raise errors.bad_request("user not found")
    if user is world.bot:
        status = "left" if chat.bot_status == "new" else chat.bot_status
        until = {"until_date": 0} if status == "kicked" else {}
        return {"user": user.json(), "status": status} | until
    return {"user": user.json(), "status": "member" if user_id in chat.members else "left"}


async def get_user_profile_photos(world: world.World, params: params.Params) -> model.Json:
    """`getUserProfilePhotos`: the photos that a person shows to bots, newest first. Errors: 400."""
    user_id, offset = params.number("user_id"), max(0, params.number("offset"))
    if user_id not in world.users:
        raise errors.bad_request("user not found")
    most = min(MOST_PROFILE_PHOTOS, max(1, params.number("limit", MOST_PROFILE_PHOTOS)))
    photos = world.profile_photos.get(user_id, [])
    return {"total_count": len(photos), "photos": photos[offset : offset + most]}


async def get_file(world: world.World, params: params.Params) -> model.Json:
    """`getFile`: the path for `/file/bot{token}/{path}`. Errors: 400 unknown, above 20 MB."""
    stored = world.files.get(params.text("file_id"))
    if not stored:
        raise errors.bad_request("wrong file_id or the file is temporarily unavailable")
    data = (await world.files.read(stored)).data
    if len(data) > files.DOWNLOAD_BYTES:
        raise errors.bad_request("file is too big")
    named = {name: stored.json[name] for name in ("file_id", "file_unique_id")}
    return named | {"file_size": len(data), "file_path": stored.path}


def _commands_key(world: world.World, params: params.Params) -> tuple[tuple[str, int, int], str]:
    scope = profile.scope_of(params.json("scope", "BotCommandScope"))
    if scope[1] and world.chat_of_bot(scope[1]) is None:
        raise errors.bad_request("chat not found")
    return scope, profile.language_of(params.text("language_code"))


def _announce(world: world.World) -> None:
    """Notify the chat page that the bot's texts or commands changed."""
    world.feed.add("profile", 0)
    world.bell.ring()


# How the bot receives updates.


MOST_UPDATES = 100
POLL_SECONDS = 50

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_WEBHOOK_ACTIVE = (
    "can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
_OTHER_POLL = (
    "terminated by other getUpdates request; make sure that only one bot instance is running"
)


async def get_updates(world: world.World, params: params.Params) -> list[model.Json]:
    """`getUpdates`: confirms the updates before `offset`, waits up to `timeout` seconds.

    Errors: 409 while a webhook is set, or when another getUpdates begins meanwhile.
    """
    if world.webhook.url:
        raise errors.conflict(_WEBHOOK_ACTIVE)
    limit = params.number("limit", MOST_UPDATES)
    limit = limit if 1 <= limit <= MOST_UPDATES else MOST_UPDATES
    world.updates.allow(_kinds(params))
    if params.text("offset"):
        world.updates.confirm(params.number("offset"))
    world.polls += 1
    poll = world.polls
    world.bell.ring()
    seconds = min(max(params.number("timeout"), 0), POLL_SECONDS)
    await world.bell.until(lambda: world.updates.pending or _ended(world, poll), seconds)
    if world.polls != poll:
        raise errors.conflict(_OTHER_POLL)
    if world.webhook.url:
        raise errors.conflict("terminated by setWebhook request")
    return world.updates.first(limit)


def _ended(world: world.World, poll: int) -> bool:
    return world.polls != poll or bool(world.webhook.url)


async def set_webhook(world: world.World, params: params.Params) -> bool:
    """`setWebhook`; an empty address removes it. Errors: 400 for an invalid address or secret.

    Any port and plain http are accepted, like on a local Bot API server but unlike Telegram's own.
    """
    url, secret = params.text("url").strip(), params.text("secret_token")
    if url and not re.match(r"https?://[^\s/]+", url):
        raise errors.bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if secret and not _SECRET.fullmatch(secret):
        raise errors.bad_request("secret token contains unallowed characters")
    world.updates.allow(_kinds(params))
    _drop_pending(world, params)
    world.webhook.set(url, secret, params.number("max_connections", 40))
    world.bell.ring()
    return True


async def delete_webhook(world: world.World, params: params.Params) -> bool:
    """`deleteWebhook`."""
    _drop_pending(world, params)
    world.webhook.set("", "", 0)
    return True


async def get_webhook_info(world: world.World, _params: params.Params) -> model.Json:
    """`getWebhookInfo`."""
    return world.webhook.json()


def _drop_pending(world: world.World, params: params.Params) -> None:
    if params.flag("drop_pending_updates"):
        world.updates.pending.clear()


def _kinds(params: params.Params) -> Iterable[str] | None:
    kinds: Any = params.json("allowed_updates", "allowed_updates")
    return kinds if isinstance(kinds, list) else None
