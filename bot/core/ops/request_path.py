"""What reaches the routes as the path of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

NUL, ESCAPED = "\0", "%00"


class EscapeNul:
    """ASGI middleware that leaves `%00` in a path as it was sent.

    No id has it, so every route answers as for an unknown one. PostgreSQL takes no text with the
    character itself: a route that asks for it would fail.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if NUL in scope.get("path", ""):
            scope = {**scope, "path": scope["path"].replace(NUL, ESCAPED)}
        await self._app(scope, receive, send)
