"""The service as an ASGI application; the composition root adds its other routers to it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from bot.core import errors
from bot.core.errors import Refused, StorageError
from bot.service.api import (
    checkout_routes,
    delivery_routes,
    goods_routes,
    hint_route,
    openapi_route,
    payout_routes,
    request_routes,
)
from bot.service.http import responses
from bot.service.http.quick_routes import QuickRoutes
from bot.service.http.responses import Internal, Unavailable
from bot.service.http.service import ServiceApp, ServiceState
from bot.service.page import (
    docs_page,
    email_routes,
    forms,
    pay_routes,
    payer_checkout_routes,
    privacy_route,
    render,
    site_routes,
)
from bot.service.page.downloads import file_route
from bot.service.page.page_cache import LiveParts, PageCache
from bot.service.page.receipt import receipt_route
from bot.service.wire import body_parsing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi.telemetry import TelemetryConfig
    from starlette.requests import Request
    from starlette.responses import Response

    from bot.service.http.service import Service

PAGES = ("/pay/", "/email/", "/privacy")
"""Addresses for people, whose errors are pages too."""

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
    payer_checkout_routes.router,
    file_route.router,
    receipt_route.router,
    email_routes.router,
    request_routes.public_router,
    request_routes.router,
    privacy_route.router,
    delivery_routes.router,
    payout_routes.router,
    checkout_routes.router,
    goods_routes.files_router,
    goods_routes.router,
    goods_routes.public_router,
    hint_route.router,
    openapi_route.router,
    site_routes.router,
    docs_page.docs_router(openapi_route.spec),
)

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
"""Without it the framework looks for OpenTelemetry's providers at each call."""

REFUSALS: dict[type[Exception], Callable[[Any], Refused]] = {
    Refused: lambda refusal: refusal,
    RequestValidationError: lambda error: body_parsing.invalid_body(error.errors(), strip=1),
    StorageError: lambda _: Unavailable(),
    Exception: lambda _: Internal(),
}
"""The answer to each exception; the log has a line about the last two."""


def create_app(service: Service) -> ServiceApp:
    """Build the application: the interface, the pay pages, their documentation."""
    app = ServiceApp(
        title="Payment requests",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.running = ServiceState(service)
    app.state.live, app.state.page_cache = LiveParts(), PageCache(service)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # `include_router` costs each call as much again
    quick = [*request_routes.quick.routes, *pay_routes.router.routes]
    app.add_middleware(QuickRoutes, routes=quick)
    app.add_exception_handler(HTTPException, _http_error)
    for kind, refusal_of in REFUSALS.items():
        app.add_exception_handler(kind, _handler(refusal_of))
    return app


def _answer(request: Request, refusal: Refused, allow: str | None = None) -> Response:
    if request.url.path.startswith(PAGES) or _is_lost(request, refusal):
        looking = request.method == "GET"
        return render.refused(forms.reader(request), refusal, allow, looking=looking)
    return responses.refused(refusal, allow)


def _is_lost(request: Request, refusal: Refused) -> bool:
    """Return whether a person has opened an address that does not exist."""
    is_browser = "text/html" in request.headers.get("accept", "")
    for_people = is_browser and not request.url.path.startswith(PROGRAMS)
    return for_people and isinstance(refusal, errors.NotFound)


def _handler(refusal_of: Callable[[Any], Refused]) -> Callable[..., Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        return _answer(request, refusal_of(error))

    return handle


async def _http_error(request: Request, error: Any) -> Response:
    """Answer the framework's own refusals in the form of ours."""
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
    """Return the methods of all routes at an address; the framework names only the first one's."""
    here = (
        route
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and route.path_regex.match(path)
    )
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))
