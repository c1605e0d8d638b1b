"""HTTP to other servers, and to applications of this process.

The work is httpx's, which the rooms above use only through this module. No redirect is followed, no
cookie is kept, and answers are requested uncompressed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import os
import socket
import ssl
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    MutableMapping,
)
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
import structlog

from bot.core import errors

log = structlog.get_logger()

if find_spec("sniffio") is None:
    # httpcore looks for it four times in each call, which would take a fifth of the call's time.
    sys.modules["sniffio"] = None  # type: ignore[assignment]

Transport: TypeAlias = httpx.AsyncBaseTransport

Event: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[
    [Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]
]
"""An ASGI application."""

HEADERS = {
    "User-Agent": "payment-request-bot",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # a compressed answer may be a thousand times as large
}
"""Sent with every call, unless the call has others."""

KEPT_SECONDS = 4.0
"""How long an idle connection is reused. Servers typically close idle connections after 5 seconds,
and a call sent at that moment is lost."""


MOST_CONNECTIONS = 4
"""Connections of a transport, which serves one call at a time: one to each server called last."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """Names may be looked up in any case."""
    body: bytes


class Answer:
    """An answer whose head has arrived; leaving its `async with` block ends the call."""

    def __init__(self, response: httpx.Response, release: Callable[[], Awaitable[None]]) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._release = release

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()
        await self._release()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives. Raises Unreachable."""
        with _our_errors():
            async for chunk in self._response.aiter_raw():
                yield chunk

    async def read(self) -> bytes:
        """Return the whole body, however long; decompressed. Raises Unreachable."""
        with _our_errors():
            return await self._response.aread()

    def certificate(self) -> Mapping[str, Any]:
        """Return the server's certificate, as `ssl.SSLSocket.getpeercert`; empty without TLS."""
        stream = self._response.extensions.get("network_stream")
        tls = stream.get_extra_info("ssl_object") if stream is not None else None
        return (tls.getpeercert() or {}) if tls is not None else {}


MOST_IDLE = 64
"""Idle transports of a client, each with a few connections."""


class HttpClient:
    """Makes calls with persistent connections; each simultaneous call has its own transport.

    httpcore compares all connections of a pool at each call, and lets calls that begin together try
    the same connection: a pool of 32 busy connections takes three times the processor time of 32
    pools. `make` returns a new transport. `connect_seconds` limits the time to connect more than a
    call's own limit.
    """

    def __init__(self, make: Callable[[], Transport], *, connect_seconds: float = math.inf) -> None:
        self._make = make
        self._idle: list[Transport] = []
        self._connect_seconds = connect_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().aclose()

    async def call(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] | None = None,
        *,
        seconds: float,
    ) -> Reply:
        """Make a call to a trusted server, like `send`; return its whole answer."""
        async with await self.send(method, url, headers, body, seconds=seconds) as answer:
            return Reply(answer.status, answer.headers, await answer.read())

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterator[bytes] | None = None,
        *,
        seconds: float,
    ) -> Answer:
        """Make a call; return its answer once the head has arrived.

        `seconds` limit each wait for another server, and the whole call of an application. A call
        is never repeated. Raises ForbiddenAddress, NotReached if nothing was sent, BrokenOff if the
        connection ended or the answer isn't HTTP, and Unreachable if there was no answer in time;
        the text begins with the kind of the problem, such as ConnectError or ReadTimeout.
        """
        limits = httpx.Timeout(seconds, connect=min(seconds, self._connect_seconds))
        request = httpx.Request(
            method,
            _parse(url),
            headers={**HEADERS, **headers},
            content=body,
            extensions={"timeout": limits.as_dict()},
        )
        transport = self._idle.pop() if self._idle else self._make()
        release = partial(self._release, transport)
        try:
            with _our_errors():
                response = await transport.handle_async_request(request)
        except BaseException:
            await release()
            raise
        return Answer(response, release)

    async def _release(self, transport: Transport) -> None:
        self._idle.append(transport)
        if len(self._idle) > MOST_IDLE:
            await self._idle.pop(0).aclose()


@lru_cache(maxsize=256)  # parsing takes longer than connecting to this machine
def _parse(url: str) -> httpx.URL:
    """Parse the URL of a web server. Raises NotReached."""
    with _our_errors():
        parsed = httpx.URL(url)
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            raise httpx.UnsupportedProtocol("not the address of a web server")
    return parsed


NOT_SENT = (
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    ValueError,  # a host that can't be decoded, such as `xn--a`
)


@contextmanager
def _our_errors() -> Iterator[None]:
    """Raise our errors for those of httpx."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        kind: type[errors.Unreachable] = errors.BrokenOff
        text = str(error)
        if isinstance(error, httpx.ConnectError):
            kind, text = _connect_problem(error)
        elif isinstance(error, NOT_SENT):
            kind = errors.NotReached
        elif isinstance(error, httpx.TimeoutException):
            kind = errors.Unreachable
        raise kind(f"{type(error).__name__}: {text}".removesuffix(": ")) from error


def _connect_problem(error: Exception) -> tuple[type[errors.NotReached], str]:
    """Return the kind of a connection's problem and its text, which doesn't name the address.

    A name that the operator allows may stand for a private address.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return errors.NoSuchHost, str(error)
        if isinstance(cause, ssl.SSLError):
            return errors.NotSecure, str(error)
        if isinstance(cause, OSError) and cause.errno:
            return errors.NotReached, os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return errors.NotReached, str(error)


def kind_of(error: errors.Unreachable) -> str:
    """Return the kind of a failed call, such as ConnectError, without the rest of the text."""
    return str(error).partition(":")[0]


class AppTransport(httpx.AsyncBaseTransport):
    """Calls an ASGI application of this process: HTTP without a socket.

    `httpx.ASGITransport` has no time limits, and runs the application in the caller's task. Here it
    has a task of its own, which is cancelled when the caller gives up. If it raises, the answer is
    a 500.
    """

    def __init__(self, app: App) -> None:
        self._inner = httpx.ASGITransport(app, client=("127.0.0.1", 0))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make a call; `request` has the time limit of the whole call as that of reading."""
        task = asyncio.create_task(self._answer(request))
        try:
            await asyncio.wait({task}, timeout=request.extensions["timeout"]["read"])
            if not task.done():
                raise httpx.ReadTimeout("", request=request)
            return task.result()
        finally:
            task.cancel()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._inner.handle_async_request(request)
        except Exception:
            log.exception("application failed", path=request.url.path)
            return httpx.Response(500, stream=httpx.ByteStream(b""))


def app_client(app: App) -> HttpClient:
    """Return a client that calls an application of this process."""
    return HttpClient(lambda: AppTransport(app))


def web_client(proxy: str | None = None, *, connect_seconds: float = math.inf) -> HttpClient:
    """Return a client for servers that the operator has chosen, at any address."""
    limits = httpx.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEPT_SECONDS)
    make = partial(httpx.AsyncHTTPTransport, verify=ssl_context(), proxy=proxy, limits=limits)
    return HttpClient(make, connect_seconds=connect_seconds)


@cache
def ssl_context() -> ssl.SSLContext:
    """Return the context of all clients.

    It is shared, because loading the certificates takes 20 ms and 1 MiB.
    """
    return new_ssl_context()


def new_ssl_context(*, verify: bool = True) -> ssl.SSLContext:
    """Return a context with certifi's certificates or those of SSL_CERT_FILE."""
    return httpx.create_ssl_context(verify=verify)


def may_use_proxy(url: str) -> bool:
    """True if a proxy from the environment may be used for `url`.

    Local and private addresses are always reached directly, whatever NO_PROXY says.
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return host != "localhost"


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for `url`, None if it is reached directly."""
    parts = urlsplit(url)
    if not may_use_proxy(url) or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def read_retry_after(header: str | None, now: int) -> int:
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3); 0 if unusable."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    at = read_date(text)
    return 0 if at is None else max(0, at - now // 1000)


def read_date(header: str | None) -> int | None:
    """Return the Unix seconds of an HTTP date (RFC 9110 section 5.6.7); None if it isn't a date."""
    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
