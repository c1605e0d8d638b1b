"""The Bot API over HTTP: token, method, parameters, faults, answer.

Source: core.telegram.org/bots/api#making-requests.
"""

import logging
import secrets
from collections.abc import Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.sandbox.bot_api import bot_methods, messages, params
from bot.sandbox.world import errors
from bot.sandbox.world.world import Call, World

log = logging.getLogger(__name__)

METHODS: dict[str, bot_methods.Method] = {
    "getMe": bot_methods.get_me,
    "getUpdates": bot_methods.get_updates,
    "setWebhook": bot_methods.set_webhook,
    "deleteWebhook": bot_methods.delete_webhook,
    "getWebhookInfo": bot_methods.get_webhook_info,
    "sendMessage": messages.send_message,
    "sendPhoto": messages.file_sender("photo"),
    "sendDocument": messages.file_sender("document"),
    "sendVideo": messages.file_sender("video"),
    "sendAnimation": messages.file_sender("animation"),
    "sendAudio": messages.file_sender("audio"),
    "sendVoice": messages.file_sender("voice"),
    "sendChatAction": messages.send_chat_action,
    "editMessageText": messages.edit_message_text,
    "editMessageCaption": messages.edit_message_caption,
    "editMessageMedia": messages.edit_message_media,
    "editMessageReplyMarkup": messages.edit_message_reply_markup,
    "deleteMessage": messages.delete_message,
    "answerCallbackQuery": messages.answer_callback_query,
    "answerInlineQuery": messages.answer_inline_query,
    "setMyCommands": bot_methods.set_my_commands,
    "getMyCommands": bot_methods.get_my_commands,
    "deleteMyCommands": bot_methods.delete_my_commands,
    "setMyName": bot_methods.setter("name"),
    "getMyName": bot_methods.getter("name"),
    "setMyDescription": bot_methods.setter("description"),
    "getMyDescription": bot_methods.getter("description"),
    "setMyShortDescription": bot_methods.setter("short_description"),
    "getMyShortDescription": bot_methods.getter("short_description"),
    "getChat": bot_methods.get_chat,
    "getChatMember": bot_methods.get_chat_member,
    "getUserProfilePhotos": bot_methods.get_user_profile_photos,
    "getFile": bot_methods.get_file,
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


def routes(world: World) -> list[Route]:
    """List the routes of the Bot API: methods and file downloads."""
    call = _caller(world)
    return [
        Route("/bot{token:str}/{method:str}", call, methods=["GET", "POST"]),
        Route("/file/bot{token:str}/{path:path}", _downloader(world), methods=["GET"]),
    ]


def _caller(world: World) -> Callable[[Request], Any]:
    async def call(request: Request) -> Response:
        try:
            _authorize(world, request)
            name = _method_named(request.path_params["method"])
            return await _answer(world, name, await params.params_of(request))
        except errors.ApiError as error:
            return _refusal(error)
        except ClientDisconnect:
            return Cut()

    return call


async def _answer(world: World, name: str, params: params.Params) -> Response:
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


def _method_named(name: str) -> str:
    known = _NAMES.get(name.lower())
    if known is None:
        raise errors.ApiError(404, "Not Found: method not found")
    return known


def _authorize(world: World, request: Request) -> None:
    token = request.path_params["token"]
    if not secrets.compare_digest(token.encode(), world.token.encode()):
        raise errors.ApiError(401, "Unauthorized")


def _downloader(world: World) -> Callable[[Request], Any]:
    async def download(request: Request) -> Response:
        try:
            _authorize(world, request)
        except errors.ApiError as error:
            return _refusal(error)
        stored = world.files.at(request.path_params["path"])
        if not stored:
            return _refusal(errors.ApiError(404, "Not Found"))
        return params.file_answer(await world.files.read(stored))

    return download
