"""The service as an ASGI application: its routes, and refusals as pages or JSON.

The composition root adds its other routers to the application.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Route

from bot.core import errors
from bot.interface import refusals
from bot.service.api import (
    callers,
    calls,
    checkout_routes,
    goods_routes,
    request_routes,
)
from bot.service.pages import (
    email_routes,
    page_cache,
    page_texts,
    pay_routes,
    receipt,
    render,
    site_routes,
)

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

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

ROUTES: tuple[BaseRoute, ...] = (
    *pay_routes.page_router.routes,
    *request_routes.public_router.routes,
    *request_routes.router.routes,
    *pay_routes.router.routes,
    *receipt.router.routes,
    *email_routes.router.routes,
    *request_routes.delivery_router.routes,
    *checkout_routes.payout_router.routes,
    *checkout_routes.router.routes,
    *goods_routes.files_router.routes,
    *goods_routes.router.routes,
    *goods_routes.public_router.routes,
    *checkout_routes.hint_router.routes,
    *site_routes.ROUTES,
)
"""In the order in which they are tried: the frequent ones first."""

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
"""Without this, the framework looks for OpenTelemetry providers at each call."""

REFUSALS: dict[type[Exception], Callable[[Any], errors.Refused]] = {
    errors.Refused: lambda refusal: refusal,
    RequestValidationError: lambda error: refusals.invalid_body(error.errors(), strip=1),
    errors.StorageError: lambda _: errors.Unavailable(),
    Exception: lambda _: errors.Internal(),
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
    app.router.routes.extend(ROUTES)  # `include_router` costs each call as much again
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
    return calls.refused(refusal, allow)


def _handler(refusal_of: Callable[[Any], errors.Refused]) -> Callable[..., Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        return _answer(request, refusal_of(error))

    return handle


async def _http_error(request: Request, error: Any) -> Response:
    """Answer the framework's own refusals in the same form as ours."""
    if error.status_code == HTTPStatus.NOT_FOUND:
        if address := _without_slash(request):
            return RedirectResponse(address, HTTPStatus.PERMANENT_REDIRECT, render.HEADERS)
        is_ours = request.url.path.startswith(PAGES)
        return _answer(request, errors.NotFound() if is_ours else errors.NoSuchAddress())
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allow = _allowed(request.url.path) or (error.headers or {}).get("Allow")
        return _answer(request, errors.MethodNotAllowed(), allow)
    answer = _answer(request, errors.InvalidBody(str(error.detail)))
    answer.status_code = error.status_code
    return answer


def _without_slash(request: Request) -> str | None:
    """Return the address of a page without the slash at its end; None if no page is there."""
    path = request.scope["path"]
    shorter = path.rstrip("/")
    if shorter == path or path.startswith(PROGRAMS):
        return None
    scope = {**request.scope, "path": shorter}
    if all(route.matches(scope)[0] is Match.NONE for route in request.app.router.routes):
        return None
    query = request.url.query
    return quote(shorter) + (f"?{query}" if query else "")


def _allowed(path: str) -> str:
    """Return the methods of all routes at an address; the framework lists one route's."""
    here = (route for route in ROUTES if isinstance(route, Route) and route.path_regex.match(path))
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))
