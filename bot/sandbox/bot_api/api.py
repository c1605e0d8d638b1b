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

from bot.sandbox.bot_api import about, answers, editing, intake, sending
from bot.sandbox.bot_api.file_answers import file_answer
from bot.sandbox.bot_api.params import Params, params_of
from bot.sandbox.world.errors import ApiError
from bot.sandbox.world.faults import Fault
from bot.sandbox.world.world import Call, World

log = logging.getLogger(__name__)

METHODS: dict[str, about.Method] = {
    "getMe": about.get_me,
    "getUpdates": intake.get_updates,
    "setWebhook": intake.set_webhook,
    "deleteWebhook": intake.delete_webhook,
    "getWebhookInfo": intake.get_webhook_info,
    "sendMessage": sending.send_message,
    "sendPhoto": sending.file_sender("photo"),
    "sendDocument": sending.file_sender("document"),
    "sendVideo": sending.file_sender("video"),
    "sendAnimation": sending.file_sender("animation"),
    "sendAudio": sending.file_sender("audio"),
    "sendVoice": sending.file_sender("voice"),
    "sendChatAction": sending.send_chat_action,
    "editMessageText": editing.edit_message_text,
    "editMessageCaption": editing.edit_message_caption,
    "editMessageMedia": editing.edit_message_media,
    "editMessageReplyMarkup": editing.edit_message_reply_markup,
    "deleteMessage": editing.delete_message,
    "answerCallbackQuery": answers.answer_callback_query,
    "answerInlineQuery": answers.answer_inline_query,
    "setMyCommands": about.set_my_commands,
    "getMyCommands": about.get_my_commands,
    "deleteMyCommands": about.delete_my_commands,
    "setMyName": about.setter("name"),
    "getMyName": about.getter("name"),
    "setMyDescription": about.setter("description"),
    "getMyDescription": about.getter("description"),
    "setMyShortDescription": about.setter("short_description"),
    "getMyShortDescription": about.getter("short_description"),
    "getChat": about.get_chat,
    "getChatMember": about.get_chat_member,
    "getUserProfilePhotos": about.get_user_profile_photos,
    "getFile": about.get_file,
}
_NAMES = {name.lower(): name for name in METHODS}


class Cut(Response):
    """An answer that ends too early, so that the server closes the connection.

    The client can't tell whether its call was taken.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send fewer bytes than Content-Length promises."""
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
            return await _answer(world, name, await params_of(request))
        except ApiError as error:
            return _refusal(error)
        except ClientDisconnect:
            return Cut()

    return call


async def _answer(world: World, name: str, params: Params) -> Response:
    """Run one call with the fault planned for it, and record how it went."""
    fault = world.faults.take(name.lower(), params.chat_id)
    if fault and fault.kind == "drop":
        return Cut()
    time = world.now()
    try:
        if fault and fault.kind in ("error", "picture") and not fault.accepted:
            raise fault.refusal()
        result = await METHODS[name](world, params)
    except ApiError as error:
        refused = Call(name, params.values, time, error.code, error.description)
        world.refused.append(refused)
        world.bell.ring()
        return _refusal(error)
    world.calls.append(Call(name, params.values, time))
    world.bell.ring()
    return await _accepted(world, fault, result)


async def _accepted(world: World, fault: Fault | None, result: Any) -> Response:
    if fault and fault.kind == "cut":
        return Cut()
    if fault and fault.kind == "error":
        return _refusal(fault.refusal())
    if fault and fault.kind == "delay":
        await world.bell.pause(fault.seconds)
    return JSONResponse({"ok": True, "result": result})


def _refusal(error: ApiError) -> JSONResponse:
    wait = error.parameters.get("retry_after")
    headers = {"Retry-After": str(wait)} if wait else None
    return JSONResponse(error.json(), error.code, headers)


def _method_named(name: str) -> str:
    """Spell a method as the documentation does, from any case of letters."""
    known = _NAMES.get(name.lower())
    if known is None:
        raise ApiError(404, "Not Found: method not found")
    return known


def _authorize(world: World, request: Request) -> None:
    token = request.path_params["token"]
    if not secrets.compare_digest(token.encode(), world.token.encode()):
        raise ApiError(401, "Unauthorized")


def _downloader(world: World) -> Callable[[Request], Any]:
    async def download(request: Request) -> Response:
        try:
            _authorize(world, request)
        except ApiError as error:
            return _refusal(error)
        stored = world.files.at(request.path_params["path"])
        if not stored:
            return _refusal(ApiError(404, "Not Found"))
        return file_answer(await world.files.read(stored))

    return download
