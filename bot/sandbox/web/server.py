"""The sandbox as one ASGI application: Bot API, chat page and its control API."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.sandbox.bot_api import api, params
from bot.sandbox.web import control
from bot.sandbox.world import world

POLICY = b"content-security-policy"
NOBODY, OURSELVES = b"frame-ancestors 'none'", b"frame-ancestors 'self'"


class AllowOwnFrames:
    """ASGI middleware that lets only this server's own pages frame its pages.

    The chat page shows pay pages in the browser of a simulated phone. Only a server with a chat
    page uses this.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_widened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name, value.replace(NOBODY, OURSELVES) if name == POLICY else value)
                    for name, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_widened)


_STATIC = Path(__file__).with_name("static")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The page frames itself: the payer's phone next to the seller's phone is the same page."""

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MAIL_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""An email contains its styles. It loads nothing, runs no scripts and has an origin of its own."""

_FILES = {path.name: path.read_bytes() for path in _STATIC.iterdir()}
"""Kept in memory: a file being sent would stay open if the client disconnects."""

_PAGE = "chat.html"


def page_routes(world: world.World) -> list[BaseRoute]:
    """Return the routes of the chat page, its files, emails and pictures, below `/chat`."""
    return [
        Route("/chat", _index, methods=["GET"]),
        Route("/chat/assets/{name:str}", _asset, methods=["GET"]),
        Route("/chat/mails/{number:int}", _mail(world), methods=["GET"]),
        Route("/chat/files/{file_id:str}", _files(world), methods=["GET"]),
    ]


async def _index(_request: Request) -> Response:
    return Response(_FILES[_PAGE], headers=_HEADERS, media_type="text/html")


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    content = _FILES.get(name)
    if content is None or name == _PAGE:
        return Response("Not found", 404, _HEADERS)
    return Response(content, headers=_HEADERS, media_type=guess_type(name)[0])


def _mail(world: world.World) -> Callable[[Request], Any]:
    async def show(request: Request) -> Response:
        mail = world.mails.find(request.path_params["number"])
        if mail is None:
            return Response("Not found", 404, _HEADERS)
        headers = _HEADERS | {"Content-Security-Policy": _MAIL_POLICY}
        return Response(mail.html, headers=headers, media_type="text/html")

    return show


def _files(world: world.World) -> Callable[[Request], Any]:
    async def show(request: Request) -> Response:
        stored = world.files.get(request.path_params["file_id"])
        if stored is None:
            return Response("Not found", 404, _HEADERS)
        headers = dict(_HEADERS)
        if stored.kind != "photo":
            name = quote(str(stored.json["file_name"]), safe="")
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
        return params.file_answer(await world.files.read(stored), headers)

    return show


def routes(world: world.World) -> list[BaseRoute]:
    """Return every route of the sandbox, to be served alone or beside others."""
    return [*api.routes(world), *control.routes(world), *page_routes(world)]


def create_app(world: world.World) -> Starlette:
    """Serve `world` at `/bot{token}/…`, `/file/bot{token}/…` and `/chat`.

    Its lifespan closes the world; a server that mounts `routes` calls `world.close()` itself.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await world.close()

    return Starlette(routes=routes(world), lifespan=lifespan)
