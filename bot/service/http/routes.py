"""Routes that FastAPI documents but doesn't serve, because its own routing is slower."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

RAISED = "payments.raised"
"""Scope key for the exception raised by an endpoint that was already called."""

ID = "{id}"


class PlainRoute(APIRoute):
    """A route whose endpoint takes only the request and reads its parameters itself.

    FastAPI needs more time to read parameters than these endpoints need to answer. The
    application's exception handlers answer their exceptions.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app = self._respond

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        if raised := scope.get(RAISED):
            raise raised
        answer = await self.endpoint(Request(scope, receive, send))
        await answer(scope, receive, send)


class QuickRoutes:
    """ASGI middleware that finds plain routes in a table and calls them directly.

    The framework needs as much time to reach a route as the route needs to answer. The framework
    still serves all other routes, and handles the exceptions of these routes, which `PlainRoute`
    raises again.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._by_path: dict[tuple[str, str], Any] = {}
        """Endpoints by method and path."""

        self._by_folder: dict[tuple[str, str], Any] = {}
        """Endpoints by method and the part of the path before the id."""

        for route in routes:
            if isinstance(route, PlainRoute):
                self._add(route)

    def _add(self, route: PlainRoute) -> None:
        folder, _, last = route.path.rpartition("/")
        if "{" in folder or ("{" in last and last != ID):
            return
        table, key = (self._by_folder, folder) if last == ID else (self._by_path, route.path)
        table.update({(method, key): route.endpoint for method in route.methods or ()})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request or pass it to the framework."""
        found = self._find(scope)
        if found is None:
            await self._app(scope, receive, send)
            return
        endpoint, scope["path_params"] = found
        try:
            answer = await endpoint(Request(scope, receive, send))
        except Exception as error:  # noqa: BLE001 - the application's handlers get it
            scope[RAISED] = error
            await self._app(scope, receive, send)
            return
        await answer(scope, receive, send)

    def _find(self, scope: Scope) -> tuple[Any, dict[str, str]] | None:
        """Return the endpoint of an address and its parameters, None if no plain route matches."""
        if scope["type"] != "http":
            return None
        method, path = scope["method"], scope["path"]
        if endpoint := self._by_path.get((method, path)):
            return endpoint, {}
        folder, _, last = path.rpartition("/")
        endpoint = self._by_folder.get((method, folder))
        return (endpoint, {"id": last}) if endpoint and last else None
