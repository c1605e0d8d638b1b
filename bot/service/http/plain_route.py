"""Routes that FastAPI documents and Starlette serves."""

from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import request_response


class PlainRoute(APIRoute):
    """A route whose endpoint takes the request alone, and reads from it what it needs.

    To let FastAPI find and check the parameters takes longer than what is done with them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.app = request_response(self.endpoint)
