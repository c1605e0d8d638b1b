"""Bodies of incoming HTTP requests, with limits on size, time and depth.

The web server closes a connection whose body was refused before its end, see `wiring.web.protocol`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect

from bot.core import exact_json
from bot.core.errors import BodyTooLarge, InvalidBody
from bot.core.exact_json import JsonError

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY = 64 * 1024
"""Bytes; our own limit, the interface names none (section 8)."""

BODY_SECONDS = 20.0
"""Seconds for a whole body: enough for a form on a bad line, an end for a sender that stalls."""


async def read(request: Request, most: int = MAX_BODY) -> bytes:
    """Read the body.

    Raises BodyTooLarge as soon as it is longer than `most` bytes, and InvalidBody if it breaks off
    or has not arrived within BODY_SECONDS.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise _too_large(most)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    break
    except TimeoutError:
        raise InvalidBody("The body did not arrive in time.") from None
    except ClientDisconnect:
        raise InvalidBody("The body broke off.") from None
    if len(body) > most:
        raise _too_large(most)
    return bytes(body)


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {most // 1024} KiB.")


def parse(body: bytes) -> dict[str, Any]:
    """Read the JSON object that another server sent. Raises InvalidBody."""
    try:
        data = exact_json.loads(body)
    except JsonError as error:
        raise InvalidBody(str(error)) from None
    if not isinstance(data, dict):
        raise InvalidBody("The body is not a JSON object.")
    return data
