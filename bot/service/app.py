"""The service as an ASGI application, and its OpenAPI document.

The composition root adds its other routers to the application.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from bot.core import errors
from bot.service.api import (
    checkout_routes,
    delivery_routes,
    goods_routes,
    request_routes,
)
from bot.service.http import callers, openapi, responses, routes
from bot.service.pages import (
    email_routes,
    page_cache,
    page_texts,
    pay_routes,
    receipt,
    render,
    site_routes,
)
from bot.service.wire import body_parsing

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig
    from starlette.requests import Request
    from starlette.responses import Response

# `/openapi.json`, the contract for machines.


openapi_router = APIRouter(include_in_schema=False)


@lru_cache(maxsize=4)
def openapi_document(public_url: str) -> dict[str, Any]:
    """Build the OpenAPI document at a public address; cached."""
    routers = (
        request_routes.quick,
        request_routes.router,
        goods_routes.router,
        goods_routes.files_router,
        checkout_routes.payout_router,
        checkout_routes.router,
        checkout_routes.hint_router,
        delivery_routes.router,
        request_routes.public_router,
        goods_routes.public_router,
    )
    return openapi.document(routers, public_url)


@openapi_router.get("/openapi.json")
async def show_openapi(service: callers.ServiceDep) -> responses.TextResponse:
    text = _openapi_text(service.public_url)
    return responses.TextResponse(text, 200, responses.HEADERS, JSONResponse.media_type)


@lru_cache(maxsize=1)
def _openapi_text(public_url: str) -> responses.Text:
    document = JSONResponse(openapi_document(public_url))
    return responses.Text.of(bytes(document.body).decode())


# The application.


PAGES = ("/pay/", "/email/", "/privacy")
"""Addresses for people, whose errors are pages."""

PROGRAMS = (
    "/v3",
    "/openapi.json",
    "/hints",
    "/webhooks",
    "/telegram",
    "/metrics",
    "/livez",
    "/readyz",
)
"""Addresses for programs, whose errors are JSON whatever they accept."""

ROUTERS = (
    request_routes.quick,
    pay_routes.router,
    pay_routes.checkout_router,
    receipt.file_router,
    receipt.receipt_router,
    email_routes.router,
    request_routes.public_router,
    request_routes.router,
    site_routes.privacy_router,
    delivery_routes.router,
    checkout_routes.payout_router,
    checkout_routes.router,
    goods_routes.files_router,
    goods_routes.router,
    goods_routes.public_router,
    checkout_routes.hint_router,
    openapi_router,
    site_routes.router,
    site_routes.docs_router(openapi_document),
)

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
"""Without this, the framework looks for OpenTelemetry providers at each call."""

REFUSALS: dict[type[Exception], Callable[[Any], errors.Refused]] = {
    errors.Refused: lambda refusal: refusal,
    RequestValidationError: lambda error: body_parsing.invalid_body(error.errors(), strip=1),
    errors.StorageError: lambda _: responses.Unavailable(),
    Exception: lambda _: responses.Internal(),
}
"""The answer to each exception; the last two are logged."""


def create_app(service: callers.Service) -> callers.ServiceApp:
    """Build the application: the interface, the pay pages and the documentation."""
    app = callers.ServiceApp(
        title="Payment requests",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.running = callers.ServiceState(service)
    app.state.live, app.state.page_cache = page_cache.LiveParts(), page_cache.PageCache(service)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # `include_router` costs each call as much again
    quick = [*request_routes.quick.routes, *pay_routes.router.routes]
    app.add_middleware(routes.QuickRoutes, routes=quick)
    app.add_exception_handler(HTTPException, _http_error)
    for kind, refusal_of in REFUSALS.items():
        app.add_exception_handler(kind, _handler(refusal_of))
    return app


def _answer(request: Request, refusal: errors.Refused, allow: str | None = None) -> Response:
    """Answer a refusal: with a page for people, with JSON for programs."""
    path, is_browser = request.url.path, "text/html" in request.headers.get("accept", "")
    is_missing_page = isinstance(refusal, errors.NotFound) and not path.startswith(PROGRAMS)
    if path.startswith(PAGES) or (is_browser and is_missing_page):
        looking = request.method == "GET"
        return render.refused(page_texts.locale_of(request), refusal, allow, looking=looking)
    return responses.refused(refusal, allow)


def _handler(refusal_of: Callable[[Any], errors.Refused]) -> Callable[..., Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        return _answer(request, refusal_of(error))

    return handle


async def _http_error(request: Request, error: Any) -> Response:
    """Answer the framework's own refusals in the same form as ours."""
    if error.status_code == HTTPStatus.NOT_FOUND:
        is_ours = request.url.path.startswith(PAGES)
        return _answer(request, errors.NotFound() if is_ours else errors.NoSuchAddress())
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allow = _allowed(request.url.path) or (error.headers or {}).get("Allow")
        return _answer(request, errors.MethodNotAllowed(), allow)
    answer = _answer(request, errors.InvalidBody(str(error.detail)))
    answer.status_code = error.status_code
    return answer


def _allowed(path: str) -> str:
    """Return the methods of all routes at an address; the framework lists one route's."""
    here = (
        route
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.match(path)
    )
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))
