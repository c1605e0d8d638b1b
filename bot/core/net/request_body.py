"""Bodies and paths of incoming HTTP requests, with limits on size, time and depth.

The web server reads the rest of a body that is rejected early, and drops it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect

from bot.core import errors, exact_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send


MIB = 1024 * 1024
MAX_BODY = 64 * 1024
"""Bytes; our own limit, because the interface sets none (section 8)."""

BODY_SECONDS = 20.0
"""Seconds for a whole body: enough for a form on a slow line, but finite for a stalled sender."""

PART_SECONDS = 30.0
"""Seconds for each part of a body that is read in parts."""

PARTS_SECONDS = 3_600.0
"""Seconds for all parts of such a body."""

LATE, BROKEN = "The body did not arrive in time.", "The body broke off."


async def read(request: Request, most: int = MAX_BODY) -> bytes:
    """Read the body.

    Raises BodyTooLarge as soon as the body exceeds `most` bytes, and InvalidBody if it breaks off
    or has not arrived within BODY_SECONDS.
    """
    announced(request, most)
    body = bytearray()
    until = asyncio.get_running_loop().time() + BODY_SECONDS
    if await _fill(body, request.stream(), most + 1, until):
        raise _too_large(most)
    return bytes(body)


def announced(request: Request, most: int) -> int:
    """Return the announced length of the body, or `most` if there is none. Raises BodyTooLarge."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        return most
    size = int(length[:20])
    if size > most:
        raise _too_large(most)
    return size


async def parts(request: Request, size: int, most: int) -> AsyncIterator[bytes]:
    """Yield the body in parts of `size` bytes, without ever holding all of it in memory.

    The last part may be shorter. Raises BodyTooLarge beyond `most` bytes, and InvalidBody if the
    body breaks off, a part takes longer than PART_SECONDS, or all parts longer than PARTS_SECONDS.
    """
    chunks, part, total = request.stream(), bytearray(), 0
    loop = asyncio.get_running_loop()
    end = loop.time() + PARTS_SECONDS
    more = True
    while more:
        more = await _fill(part, chunks, size, min(loop.time() + PART_SECONDS, end))
        while len(part) >= size or (part and not more):
            found = bytes(part[:size])
            del part[:size]
            total += len(found)
            if total > most:
                raise _too_large(most)
            yield found


async def _fill(part: bytearray, chunks: AsyncIterator[bytes], size: int, until: float) -> bool:
    """Read until there are `size` bytes; return False at the end of the body."""
    try:
        async with asyncio.timeout_at(until):
            async for chunk in chunks:
                part += chunk
                if len(part) >= size:
                    return True
    except TimeoutError:
        raise errors.InvalidBody(LATE) from None
    except ClientDisconnect:
        raise errors.InvalidBody(BROKEN) from None
    return False


def _too_large(most: int) -> errors.BodyTooLarge:
    if most % MIB == 0:
        return errors.BodyTooLarge(f"The body is larger than {most // MIB} MiB.")
    return errors.BodyTooLarge(f"The body is larger than {most // 1024} KiB.")


def parse(body: bytes) -> dict[str, Any]:
    """Parse a JSON object that another server sent. Raises InvalidBody."""
    try:
        data = exact_json.loads(body)
    except exact_json.JsonError as error:
        raise errors.InvalidBody(str(error)) from None
    if not isinstance(data, dict):
        raise errors.InvalidBody("The body is not a JSON object.")
    return data


NUL, ESCAPED_NUL = "\0", "%00"


class EscapeNul:
    """ASGI middleware that keeps `%00` in a path undecoded.

    No id contains `%00`, so every route answers as for an unknown id. With a decoded NUL the query
    would fail, because PostgreSQL rejects text with a NUL character.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if NUL in scope.get("path", ""):
            scope = {**scope, "path": scope["path"].replace(NUL, ESCAPED_NUL)}
        await self._app(scope, receive, send)
