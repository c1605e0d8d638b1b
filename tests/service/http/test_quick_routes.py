"""The short way to the most frequent routes answers as the framework's own way does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from starlette.responses import PlainTextResponse, Response

from bot.core.errors import NotFound, StorageError
from bot.service.app import create_app
from bot.service.http.routes import PlainRoute, QuickRoutes
from tests.support.service_harness import ServiceHarness, client, headers_of, make_service

if TYPE_CHECKING:
    import httpx


CALLS = [
    *[(method, "/pay/{id}") for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS")],
    *[("GET", path) for path in ("/pay/", "/pay", "/pay//", "/pay/{id}/", "/pay/{id}/live")],
    *[("GET", path) for path in ("/pay/%2F", "/pay/a%2Fb", "/pay/%00", "/pay/unknown", "/pay/é")],
    *[("GET", path) for path in ("/qr/{id}.png", "/pay/{id}/card", "/", "//pay/{id}")],
    *[("POST", path) for path in ("/v3/paymentRequests", "/v3/paymentRequests/", "/v3", "/pay/")],
    *[("GET", path) for path in ("/v3/paymentRequests", "/v3/paymentRequests/{id}")],
]
CHANGING = re.compile(rb"[0-9a-f]{24,32}")
"""What differs between two answers of one way."""


def long_way(app: FastAPI) -> FastAPI:
    """Leave the framework's own way alone."""
    short: Any = QuickRoutes
    app.user_middleware = [one for one in app.user_middleware if one.cls is not short]
    return app


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_every_call_has_the_answer_of_the_long_way(
    service: ServiceHarness, method: str, path: str
) -> None:
    made = await service.create()
    told: list[tuple[Any, ...]] = []
    for door in (create_app, lambda one: long_way(create_app(one))):
        app = door(make_service(service.db, service.clock, payer_key=b"k" * 32))
        async with client(app, headers_of(service.credentials)) as http:
            asked = path.replace("{id}", made["id"])
            answer = await http.request(method, asked, json={"product": {}})
        told.append((answer.status_code, shown(answer), CHANGING.sub(b"", answer.content)))
    assert told[0] == told[1]


def shown(answer: httpx.Response) -> list[tuple[str, str]]:
    """Return the headers, without what the random part of the cookie changes."""
    return [(name, value) for name, value in answer.headers.multi_items() if name != "set-cookie"]


@asynccontextmanager
async def calls(
    service: ServiceHarness, endpoint: Callable[[Request], Any]
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve `GET /quick/{id}` by both ways, the shorter one first."""
    app = create_app(make_service(service.db, service.clock))
    router = APIRouter(route_class=PlainRoute)
    router.add_api_route("/quick/{id}", endpoint, include_in_schema=False)
    app.router.routes.extend(router.routes)
    app.add_middleware(QuickRoutes, routes=router.routes)
    async with client(app) as http:
        yield http


@pytest.mark.parametrize(
    ("error", "status"), [(NotFound(), 404), (StorageError("disk"), 503), (KeyError("bug"), 500)]
)
async def test_an_exception_is_answered_by_the_applications_handlers_after_one_call(
    service: ServiceHarness, error: Exception, status: int
) -> None:
    asked = []

    async def endpoint(request: Request) -> Response:
        asked.append(request.path_params["id"])
        raise error

    async with calls(service, endpoint) as http:
        answer = await http.get("/quick/7")
    assert (answer.status_code, asked) == (status, ["7"])
    assert answer.json().keys() == {"code", "message", "info"}


async def test_a_plain_route_is_reached_without_the_framework(service: ServiceHarness) -> None:
    """The router would have noted its route in the scope."""

    async def endpoint(request: Request) -> Response:
        return PlainTextResponse(f"{request.path_params['id']} {'route' in request.scope}")

    async with calls(service, endpoint) as http:
        assert (await http.get("/quick/7")).text == "7 False"
