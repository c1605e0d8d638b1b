"""Request bodies as text, of the one media type that an address takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import InvalidBody, UnsupportedMediaType
from bot.core.net import request_body

if TYPE_CHECKING:
    from starlette.requests import Request


async def read(request: Request, media_type: str) -> str:
    """Give the body as text.

    Raises UnsupportedMediaType, InvalidBody for what is not UTF-8, and what `core.bodies` raises.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise UnsupportedMediaType(f"Send the body as {media_type}.")
    try:
        return (await request_body.read(request)).decode()
    except UnicodeDecodeError:
        raise InvalidBody("The body is not UTF-8.") from None
