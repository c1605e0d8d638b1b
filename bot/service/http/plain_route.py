"""Routes that FastAPI documents and Starlette serves."""

from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

RAISED = "payments.raised"
"""Key of a scope: the exception of an endpoint that was called already."""


class PlainRoute(APIRoute):
    """A route whose endpoint takes only the request, and reads its parameters from it.

    FastAPI's own reading of parameters takes longer than the endpoints of these routes. Their
    exceptions are answered by the application's handlers.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app = self._respond

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        if raised := scope.get(RAISED):
            raise raised
        answer = await self.endpoint(Request(scope, receive, send))
        await answer(scope, receive, send)
