"""Request bodies as they come in: bounded while they are read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.core.errors import BodyTooLarge, InvalidBody, UnsupportedMediaType

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY = 64 * 1024  # bytes; ours, the interface shows none (section 8)
BODY_SECONDS = 20.0  # for all of it: a form on a bad line has a chance, a sender that stalls ends


async def read(request: Request, media_type: str) -> str:
    """Give the body as text.

    Raises UnsupportedMediaType, BodyTooLarge as soon as it is, and InvalidBody for what is
    not UTF-8 or not here within BODY_SECONDS.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        raise UnsupportedMediaType(f"Send the body as {media_type}.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > MAX_BODY:
        raise BodyTooLarge
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return (await _bounded(request)).decode()
    except TimeoutError:
        raise InvalidBody("The body did not arrive in time.") from None
    except UnicodeDecodeError:
        raise InvalidBody("The body is not UTF-8.") from None


async def _bounded(request: Request) -> bytearray:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise BodyTooLarge
    return body
