"""The Bot API over HTTP: token, method, parameters, faults, answer; and its methods about the bot.

Source: core.telegram.org/bots/api#making-requests.
"""

import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.sandbox.web import contents, messages
from bot.sandbox.world import errors, files, model, world
from bot.sandbox.world.world import Call

Method = Callable[[world.World, contents.Params], Awaitable[Any]]

# The bot itself: its name, commands and descriptions; what it may look up.

MOST_COMMANDS = 100
COMMAND_DESCRIPTION = range(1, 257)
TEXT_LIMITS = {"description": 512, "short_description": 120}
MOST_PROFILE_PHOTOS = 100
"""The most photos of one answer."""

_COMMAND = re.compile(r"[a-z0-9_]{1,32}")


async def get_me(world: world.World, _params: contents.Params) -> model.Json:
    """`getMe`."""
    return world.bot.json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": False,
        "supports_inline_queries": True,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


async def set_my_commands(world: world.World, params: contents.Params) -> bool:
    """`setMyCommands` of a language, in the default scope. Errors: 400."""
    commands = params.json("commands", "commands")
    if not isinstance(commands, list):
        raise errors.bad_request("can't parse commands: expected an Array of BotCommand")
    if len(commands) > MOST_COMMANDS:
        raise errors.bad_request("BOT_COMMANDS_TOO_MUCH")
    world.profile.commands[_language(params)] = [_command(command) for command in commands]
    _announce(world)
    return True


def _command(command: object) -> model.Json:
    """Check a BotCommand; a leading slash is dropped. Errors: 400."""
    if not isinstance(command, Mapping):
        raise errors.bad_request("can't parse commands: BotCommand must be an Object")
    name = str(command.get("command", "")).removeprefix("/")
    description = str(command.get("description", "")).strip()
    if not _COMMAND.fullmatch(name):
        raise errors.bad_request("BOT_COMMAND_INVALID")
    if len(description) not in COMMAND_DESCRIPTION:
        raise errors.bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    return {"command": name, "description": description}


async def get_my_commands(world: world.World, params: contents.Params) -> list[model.Json]:
    """`getMyCommands` of exactly this language."""
    return world.profile.commands.get(_language(params), [])


def setter(kind: str) -> Method:
    """`setMyDescription` or setMyShortDescription. Errors: 400 too long."""

    async def set_text(world: world.World, params: contents.Params) -> bool:
        language, text = _language(params), params.text(kind).strip()
        if len(text) > TEXT_LIMITS[kind]:
            raise errors.bad_request(f"bot {kind.replace('_', ' ')} is too long")
        world.profile.texts[kind, language] = text
        _announce(world)
        return True

    return set_text


def getter(kind: str) -> Method:
    """`getMyDescription` or getMyShortDescription."""

    async def get_text(world: world.World, params: contents.Params) -> model.Json:
        return {kind: world.profile.text(kind, _language(params))}

    return get_text


def _language(params: contents.Params) -> str:
    """Return a two-letter language code, "" for everybody. Errors: 400."""
    code = params.text("language_code")
    if not re.fullmatch(r"([a-z]{2})?", code):
        raise errors.bad_request("invalid language code specified")
    return code


def _announce(world: world.World) -> None:
    """Notify the chat page that the bot's texts or commands changed."""
    world.feed.add("profile", 0)
    world.bell.ring()


async def get_user_profile_photos(world: world.World, params: contents.Params) -> model.Json:
    """`getUserProfilePhotos`: the photos that a person shows to bots, newest first. Errors: 400."""
    user_id, offset = params.number("user_id"), max(0, params.number("offset"))
    if user_id not in world.users:
        raise errors.bad_request("user not found")
    most = min(MOST_PROFILE_PHOTOS, max(1, params.number("limit", MOST_PROFILE_PHOTOS)))
    photos = world.profile_photos.get(user_id, [])
    return {"total_count": len(photos), "photos": photos[offset : offset + most]}


async def get_file(world: world.World, params: contents.Params) -> model.Json:
    """`getFile`: the path for `/file/bot{token}/{path}`. Errors: 400 unknown, above 20 MB."""
    stored = world.files.get(params.text("file_id"))
    if not stored:
        raise errors.bad_request("wrong file_id or the file is temporarily unavailable")
    data = (await world.files.read(stored)).data
    if len(data) > files.DOWNLOAD_BYTES:
        raise errors.bad_request("file is too big")
    named = {name: stored.json[name] for name in ("file_id", "file_unique_id")}
    return named | {"file_size": len(data), "file_path": stored.path}


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


async def get_updates(world: world.World, params: contents.Params) -> list[model.Json]:
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

    def is_over() -> bool:
        return bool(world.updates.pending or world.polls != poll or world.webhook.url)

    await world.bell.until(is_over, seconds)
    if world.polls != poll:
        raise errors.conflict(_OTHER_POLL)
    if world.webhook.url:
        raise errors.conflict("terminated by setWebhook request")
    return world.updates.first(limit)


async def set_webhook(world: world.World, params: contents.Params) -> bool:
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


async def delete_webhook(world: world.World, params: contents.Params) -> bool:
    """`deleteWebhook`."""
    _drop_pending(world, params)
    world.webhook.set("", "", 0)
    return True


async def get_webhook_info(world: world.World, _params: contents.Params) -> model.Json:
    """`getWebhookInfo`."""
    return world.webhook.json()


def _drop_pending(world: world.World, params: contents.Params) -> None:
    if params.flag("drop_pending_updates"):
        world.updates.pending.clear()


def _kinds(params: contents.Params) -> Iterable[str] | None:
    kinds: Any = params.json("allowed_updates", "allowed_updates")
    return kinds if isinstance(kinds, list) else None


# Calls over HTTP.

METHODS: dict[str, Method] = {
    "getMe": get_me,
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "sendMessage": messages.send_message,
    "sendPhoto": messages.file_sender("photo"),
    "sendDocument": messages.file_sender("document"),
    "sendVideo": messages.file_sender("video"),
    "sendAnimation": messages.file_sender("animation"),
    "sendAudio": messages.file_sender("audio"),
    "sendVoice": messages.file_sender("voice"),
    "editMessageText": messages.edit_message_text,
    "editMessageCaption": messages.edit_message_caption,
    "editMessageMedia": messages.edit_message_media,
    "editMessageReplyMarkup": messages.edit_message_reply_markup,
    "deleteMessage": messages.delete_message,
    "answerCallbackQuery": messages.answer_callback_query,
    "answerInlineQuery": messages.answer_inline_query,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "setMyDescription": setter("description"),
    "getMyDescription": getter("description"),
    "setMyShortDescription": setter("short_description"),
    "getMyShortDescription": getter("short_description"),
    "getUserProfilePhotos": get_user_profile_photos,
    "getFile": get_file,
}
_NAMES = {name.lower(): name for name in METHODS}
"""Methods as the documentation spells them; a call may write them in any case of letters."""


class Cut(Response):
    """An answer with fewer bytes than its Content-Length, so that the server closes the connection.

    The client can't know whether its call was accepted.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})


def routes(world: world.World) -> list[Route]:
    """List the routes of the Bot API: methods and file downloads."""

    async def call(request: Request) -> Response:
        name = _NAMES.get(request.path_params["method"].lower())
        if name is None:
            raise errors.ApiError(404, "Not Found: method not found")
        return await _answer(world, name, await contents.params_of(request))

    async def download(request: Request) -> Response:
        stored = world.files.at(request.path_params["path"])
        if not stored:
            raise errors.ApiError(404, "Not Found")
        return contents.file_answer(await world.files.read(stored))

    return [
        Route("/bot{token:str}/{method:str}", _guarded(world, call), methods=["GET", "POST"]),
        Route("/file/bot{token:str}/{path:path}", _guarded(world, download), methods=["GET"]),
    ]


def _guarded(
    world: world.World, answer: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Check the token before `answer`, and answer its refusals."""

    async def handle(request: Request) -> Response:
        token = request.path_params["token"]
        try:
            if not secrets.compare_digest(token.encode(), world.token.encode()):
                return _refusal(errors.ApiError(401, "Unauthorized"))
            return await answer(request)
        except errors.ApiError as error:
            return _refusal(error)
        except ClientDisconnect:
            return Cut()

    return handle


async def _answer(world: world.World, name: str, params: contents.Params) -> Response:
    """Run a call with the fault that is planned for it, and record the outcome."""
    fault = world.faults.take(name.lower(), params.chat_id)
    if fault and fault.kind == "drop":
        return Cut()
    time = world.now()
    try:
        if fault and fault.kind in ("error", "picture") and not fault.accepted:
            raise fault.refusal()
        result = await METHODS[name](world, params)
    except errors.ApiError as error:
        refused = Call(name, params.values, time, error.code, error.description)
        world.refused.append(refused)
        world.bell.ring()
        return _refusal(error)
    world.calls.append(Call(name, params.values, time))
    world.bell.ring()
    if fault and fault.kind == "cut":
        return Cut()
    if fault and fault.kind == "error":
        return _refusal(fault.refusal())
    if fault and fault.kind == "delay":
        await world.bell.pause(fault.seconds)
    return JSONResponse({"ok": True, "result": result})


def _refusal(error: errors.ApiError) -> JSONResponse:
    wait = error.parameters.get("retry_after")
    headers = {"Retry-After": str(wait)} if wait else None
    return JSONResponse(error.json(), error.code, headers)
