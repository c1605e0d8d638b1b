"""Routes that FastAPI documents and Starlette serves."""

from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import request_response


class PlainRoute(APIRoute):
    """A route whose endpoint takes only the request, and reads its parameters from it.

    FastAPI's own reading of parameters takes longer than the endpoints of these routes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app = request_response(self.endpoint)
