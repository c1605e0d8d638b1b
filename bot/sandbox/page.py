"""The chat page: one HTML file, its scripts and styles, and the pictures it shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from bot.sandbox.world import World

_STATIC = Path(__file__).with_name("static")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_ASSETS = {path.name: path for path in _STATIC.iterdir() if path.suffix != ".html"}


def routes(world: World) -> list[BaseRoute]:
    """List the routes of the page below `/chat`."""
    return [
        Route("/chat", _index, methods=["GET"]),
        Route("/chat/assets/{name:str}", _asset, methods=["GET"]),
        Route("/chat/files/{file_id:str}", _files(world), methods=["GET"]),
    ]


async def _index(_request: Request) -> Response:
    return FileResponse(_STATIC / "chat.html", headers=_HEADERS)


async def _asset(request: Request) -> Response:
    path = _ASSETS.get(request.path_params["name"])
    if path is None:
        return Response("Not found", 404, _HEADERS)
    return FileResponse(path, headers=_HEADERS)


def _files(world: World) -> Callable[[Request], Any]:
    async def show(request: Request) -> Response:
        stored = world.files.get(request.path_params["file_id"])
        if stored is None:
            return Response("Not found", 404, _HEADERS)
        headers = dict(_HEADERS)
        if stored.kind != "photo":
            name = quote(str(stored.json["file_name"]), safe="")
            headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
        return Response(stored.data, headers=headers, media_type=stored.mime)

    return show
