"""The page of the cluster: `/cluster`, its state and its acts as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from demo_cluster.cluster import Cluster
from demo_cluster.payers import Payers

if TYPE_CHECKING:
    from starlette.requests import Request


OWN_PAGES = (None, "same-origin")
"""What Sec-Fetch-Site says of our own page's requests; None from clients that are no browser."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
FILES = {path.name: path.read_bytes() for path in Path(__file__).with_name("static").iterdir()}


def routes(cluster: Cluster, payers: Payers) -> list[BaseRoute]:
    """List the routes of the page."""
    return [
        Route("/", _home),
        Route("/cluster", _index),
        Route("/cluster/state", _state(cluster, payers)),
        Route("/cluster/acts", _acts(cluster, payers), methods=["POST"]),
        Route("/cluster/{name:str}", _asset),
    ]


async def _home(_request: Request) -> Response:
    return RedirectResponse("/cluster")


async def _index(_request: Request) -> Response:
    return Response(FILES["cluster.html"], headers=HEADERS, media_type="text/html")


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response("Not found", 404, HEADERS)
    return Response(FILES[name], headers=HEADERS, media_type=guess_type(name)[0])


def _state(cluster: Cluster, payers: Payers) -> Callable[[Request], Awaitable[Response]]:
    async def show(_request: Request) -> Response:
        return JSONResponse(view(cluster, payers), headers=HEADERS)

    return show


def _acts(cluster: Cluster, payers: Payers) -> Callable[[Request], Awaitable[Response]]:
    async def act(request: Request) -> Response:
        if request.headers.get("sec-fetch-site") not in OWN_PAGES:
            return JSONResponse({"error": "asked from another site"}, 403)
        try:
            wanted = await request.json()
            if wanted["act"] == "payers":
                payers.is_on = bool(wanted["on"])
            else:
                await cluster.act(str(wanted["act"]), int(wanted.get("replica", 0)))
        except (LookupError, TypeError, ValueError):
            return JSONResponse({"error": "no such act"}, 400)
        return JSONResponse(view(cluster, payers), headers=HEADERS)

    return act


def view(cluster: Cluster, payers: Payers) -> dict[str, Any]:
    """Return all that the page shows, as JSON."""
    return {
        "replicas": [
            {
                "number": each.number,
                "state": each.state,
                "pid": each.process.pid if each.process and each.is_running else None,
                "answered": each.upstream.answered,
            }
            for each in cluster.replicas
        ],
        "database": cluster.has_database,
        "payers": {
            "on": payers.is_on,
            "link": payers.link(),
            "paid": payers.paid,
            "refused": payers.refused,
            "repeated": payers.repeated,
            "givenUp": payers.given_up,
        },
        "events": [{"at": at, "text": text} for at, text in cluster.events],
    }
