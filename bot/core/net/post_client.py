"""A client that posts to untrusted addresses over persistent connections.

httpx takes a millisecond of processor time per call, most of it in layers that such a post doesn't
need. Here httptools (llhttp) parses the answers, and each connection carries one post at a time
(HTTP/1.1). It raises httpx's errors, follows no redirects and keeps no cookies.
"""

from __future__ import annotations

import asyncio
import os
import select
import ssl
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

import httptools
import httpx

from bot.core.net import guarded_transport

KEPT_SECONDS = 4.0
"""How long an idle connection is kept. Servers typically close idle connections after 5 seconds,
and a post sent at that moment is lost."""

PORTS = {"http": 80, "https": 443}
FIRST_FINAL = 200
"""The first status that isn't interim (RFC 9110 section 15.2)."""

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port of a connection."""


@dataclass(frozen=True, slots=True)
class Target:
    """The origin of a URL, and the first lines of a post to this URL."""

    origin: Origin
    lines: bytes


@lru_cache(maxsize=256)
def _target(url: str) -> Target:
    """Raise InvalidURL, UnsupportedProtocol and ValueError."""
    parsed = httpx.URL(url)
    _ = parsed.host  # decoded only now: `xn--a` is invalid
    host = parsed.raw_host.decode("ascii")
    if parsed.scheme not in PORTS or not host:
        raise httpx.UnsupportedProtocol("not the address of a web server")
    lines = b"POST %b HTTP/1.1\r\nHost: %b\r\n" % (parsed.raw_path, parsed.netloc)
    return Target((parsed.scheme, host, parsed.port or PORTS[parsed.scheme]), lines)


class _Exchange:
    """A post and its answer so far; the parser calls the `on_` methods."""

    def __init__(self, longest: int) -> None:
        loop = asyncio.get_running_loop()
        self.head: asyncio.Future[None] = loop.create_future()
        self.end: asyncio.Future[None] = loop.create_future()
        self.status = 0
        self.keeps = False
        """True if the answer is complete and its connection can be reused."""
        self.headers: dict[str, str] = {}
        self.body = b""
        self._longest, self._unread = longest, guarded_transport.MOST_READ
        self._parser: Any = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse received data; an endless answer fails."""
        self._unread -= len(data)
        if self._unread < 0:
            self.fail(httpx.ReadError("the peer sends without end"))
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.keeps = False
        except httptools.HttpParserError as error:
            self.fail(httpx.RemoteProtocolError(str(error)))

    def fail(self, error: httpx.HTTPError) -> None:
        """End the exchange with an error; an answer whose head has arrived stays unchanged."""
        self.keeps = False
        if not self.head.done():
            self.head.set_exception(error)
        self._finish()

    def stop(self) -> None:
        """Drop the parser, which refers to this exchange."""
        self._parser = None

    def on_message_begin(self) -> None:
        if self.end.done():
            raise ValueError("an answer that nobody asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self._is_final() and not self.head.done():
            self.head.set_result(None)

    def on_body(self, data: bytes) -> None:
        self.body += data[: self._longest - len(self.body)]
        if len(self.body) == self._longest:
            self._finish()

    def on_message_complete(self) -> None:
        if not self._is_final():
            self.headers.clear()
        else:
            self.keeps = self._parser.should_keep_alive()
            self._finish()

    def _is_final(self) -> bool:
        return self.status >= FIRST_FINAL or self._parser.should_upgrade()

    def _finish(self) -> None:
        if not self.end.done():
            self.end.set_result(None)


class _Connection(asyncio.Protocol):
    """A connection with one exchange at a time."""

    def __init__(self, origin: Origin, kept: defaultdict[Origin, list[_Connection]]) -> None:
        self._origin, self._kept = origin, kept
        self._transport: asyncio.Transport | None = None
        self._exchange: _Exchange | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._incoming = select.poll()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._incoming.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self._transport = cast("asyncio.Transport", transport)  # uvloop's class isn't a subclass

    def data_received(self, data: bytes) -> None:
        if self._exchange is None:
            self.close()
        else:
            self._exchange.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.leave()
        if self._exchange is not None:
            lost = "" if exc else "Server disconnected without sending a response."
            self._exchange.fail(httpx.ReadError("") if exc else httpx.RemoteProtocolError(lost))

    def send(self, message: bytes, longest: int) -> _Exchange:
        """Send a post; read at most `longest` bytes of the answer's body."""
        self._exchange = _Exchange(longest)
        if self._transport is None:
            self._exchange.fail(httpx.ReadError(""))
        else:
            self._transport.write(message)
        return self._exchange

    def keep(self) -> None:
        """Keep the connection for the next post to its origin."""
        self._stop()
        if self._transport is not None:
            self._kept[self._origin].append(self)
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(KEPT_SECONDS, self.close)

    def leave(self) -> None:
        """Stop keeping the connection."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
            self._kept[self._origin].remove(self)
            if not self._kept[self._origin]:
                del self._kept[self._origin]

    def is_quiet(self) -> bool:
        """True if the socket has no unread data or end of stream."""
        return not self._incoming.poll(0)

    def close(self) -> None:
        """Close the connection immediately."""
        self.leave()
        self._stop()
        if self._transport is not None:
            self._transport.abort()

    def _stop(self) -> None:
        if self._exchange is not None:
            self._exchange.stop()
            self._exchange = None


class Reply:
    """The answer to a post: its head has arrived, and its body may still be arriving."""

    def __init__(self, connection: _Connection, exchange: _Exchange) -> None:
        self._connection, self._exchange = connection, exchange
        self.status, self.headers = exchange.status, exchange.headers

    async def read(self, seconds: float) -> bytes:
        """Return the part of the body that arrived in time, and end the exchange."""
        try:
            if not self._exchange.end.done():
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._exchange.end
        finally:
            if self._exchange.keeps:
                self._connection.keep()
            else:
                self._connection.close()
        return self._exchange.body


class PostClient:
    """Posts to addresses that `dialler` permits, and reads at most `longest` bytes of an answer.

    `headers` are sent with every post; `seconds` limits the time to connect.
    """

    def __init__(
        self,
        dialler: guarded_transport.GuardedDialler,
        context: ssl.SSLContext,
        headers: Mapping[str, str],
        *,
        seconds: float,
        longest: int,
    ) -> None:
        self._dialler, self._context = dialler, context
        self._seconds, self._longest = seconds, longest
        self._headers = _written(headers)
        self._kept: defaultdict[Origin, list[_Connection]] = defaultdict(list)
        context.set_alpn_protocols(["http/1.1"])

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send a post; return its answer once the head has arrived.

        Raises ForbiddenAddress, httpx's errors, TimeoutError, and ValueError for an invalid URL.
        """
        target = _target(url)
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        message = b"".join((target.lines, self._headers, _written(headers), length, body))
        connection = self._take(target.origin) or await self._dial(target.origin)
        try:
            exchange = connection.send(message, self._longest)
            await exchange.head
        except BaseException:
            connection.close()
            raise
        return Reply(connection, exchange)

    async def close(self) -> None:
        """Close all kept connections."""
        for connection in [one for kept in self._kept.values() for one in kept]:
            connection.close()

    def _take(self, origin: Origin) -> _Connection | None:
        """Return the most recently kept connection that its server has not closed."""
        while origin in self._kept:
            connection = self._kept[origin][-1]
            connection.leave()
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    async def _dial(self, origin: Origin) -> _Connection:
        scheme, host, port = origin
        secure = scheme == "https"
        try:
            sock = await self._dialler.connect(host, port, self._seconds)
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(origin, self._kept),
                sock=sock,
                ssl=self._context if secure else None,
                server_hostname=host if secure else None,
            )
        except TimeoutError:
            raise
        except ssl.SSLError as error:
            raise httpx.ConnectError(str(error)) from error
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise httpx.ConnectError(reason) from error
        return connection


def _written(headers: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("ascii")
