"""A connection whose peer can't send without end: beyond a bound, reading fails.

Limits of an answer's body don't see what comes before it: a peer may send interim answers (RFC 9110
section 15.2) for as long as a call lasts, each of which is parsed in the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    import ssl

MOST_READ = 128 * 1024
"""Bytes that a peer may send after a request: no answer that is read to its end has more."""


class BoundedStream(httpcore.AsyncNetworkStream):
    """A stream with `MOST_READ` bytes to read after each write; raises ReadError beyond."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left = MOST_READ

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        data = await self._stream.read(max_bytes, timeout)
        self._left -= len(data)
        if self._left < 0:
            raise httpcore.ReadError("the peer sends without end")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        self._left = MOST_READ
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        return BoundedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
