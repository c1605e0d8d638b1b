"""The chat page: one HTML file, its scripts and styles, and the pictures it shows."""

from collections.abc import Callable
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.sandbox.bot_api.file_answers import file_answer
from bot.sandbox.world.world import World

_STATIC = Path(__file__).with_name("static")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The page frames itself: the payer's phone beside the seller's is the same page once more."""

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
"""An email brings its styles along, as all do; it loads nothing, runs nothing, is nobody."""

_FILES = {path.name: path.read_bytes() for path in _STATIC.iterdir()}
"""Small enough to be held: a file that is open while its reader goes away stays open."""

_PAGE = "chat.html"


def routes(world: World) -> list[BaseRoute]:
    """List the routes of the page below `/chat`."""
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


def _mail(world: World) -> Callable[[Request], Any]:
    async def show(request: Request) -> Response:
        mail = world.mails.find(request.path_params["number"])
        if mail is None:
            return Response("Not found", 404, _HEADERS)
        headers = _HEADERS | {"Content-Security-Policy": _MAIL_POLICY}
        return Response(mail.html, headers=headers, media_type="text/html")

    return show


def _files(world: World) -> Callable[[Request], Any]:
    async def show(request: Request) -> Response:
        stored = world.files.get(request.path_params["file_id"])
        if stored is None:
            return Response("Not found", 404, _HEADERS)
        headers = dict(_HEADERS)
        if stored.kind != "photo":
            name = quote(str(stored.json["file_name"]), safe="")
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
        return file_answer(await world.files.read(stored), headers)

    return show
