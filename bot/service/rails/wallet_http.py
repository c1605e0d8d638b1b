"""The HTTP client for wallets that sellers name; nothing that a wallet does can harm more than it.

Hosts of RAIL_ALLOW may be private and may use http; all others are public and use https. A wallet
whose domain has moved may redirect twice, to another such address; a call that carries a key is
never redirected.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

import httpx

from bot.core import exact_json
from bot.core.errors import (
    BadAnswer,
    ForbiddenAddress,
    InvoiceError,
    NotReached,
    Overloaded,
    PeerError,
    Throttled,
    Unreachable,
)
from bot.core.net import http_client, webhook_addresses
from bot.core.net.guarded_transport import GuardedTransport, NameNotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bot.core.net.webhook_addresses import AllowList
    from bot.service.rails.host_calls import HostCalls

SECONDS = 10.0
"""Limit of a call, and of all calls of one opening together, however slowly the answer drips."""

LONGEST_ANSWER = 64 * 1024  # bytes
MOST_PIECES = 1_000
"""Chunks of an answer: one of a byte each costs a thousand times as much to read."""

MOST_REDIRECTS = 2
_BAD_LOCATION = "Invalid URL in location header"
"""How httpx refuses an answer for a Location that it can't read."""

LONGEST_URL = 2_000
"""Characters of an address that a wallet names."""

DEPTH = 20
CONNECTIONS = 600
"""More than there are openings, looks and probes at once, which have bounds of their own: with
fewer, wallets that stay silent would hold the connections that others' calls wait for."""

HEADERS = {
    "User-Agent": "payment-request-bot",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a compressed answer may be a thousand times as large
}
UNNAMED_SECONDS = 15
"""Seconds without a call after a 429 that names no time."""

FAILURES = (PeerError, ForbiddenAddress, InvoiceError)
"""What a wallet can do wrong; the messages hold no secret."""


class NoSuchHost(NotReached):
    """No connection: the name has no address."""


class NotSecure(NotReached):
    """No connection: no TLS, or a certificate that is not valid."""


class BrokenOff(Unreachable):
    """The connection ended before the answer did."""


class Missing(BadAnswer):
    """404 or 410, without the answer of a wallet."""


class Denied(BadAnswer):
    """Another 4xx, without the answer of a wallet."""


class Moved(BadAnswer):
    """A redirect that is not followed: one too many, or to an address that may not be called."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object with its HTTP status."""

    status: int
    fields: dict[str, Any]


class WalletHttp:
    """Calls wallets; `allow` is RAIL_ALLOW, `calls` has the budgets of hosts, None without any."""

    def __init__(self, allow: AllowList, calls: HostCalls | None = None) -> None:
        self._allow = allow
        self._calls = calls
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=20)
        self._client = httpx.AsyncClient(
            transport=GuardedTransport(allow, verify=http_client.ssl_context(), limits=limits),
            timeout=SECONDS,
            follow_redirects=False,
            trust_env=False,
            # A cookie that a wallet sets is never sent to it or to another one.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers=HEADERS,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def permits(self, host: str) -> bool:
        """Return whether the operator has allowed the host as written, whatever it resolves to."""
        address = webhook_addresses.literal_address(host)
        listed = address is not None and self._allow.permits_address(address)
        return listed or self._allow.permits_host(host)

    def check(self, url: str) -> str:
        """Return the address if it may be called. Raises ForbiddenAddress."""
        host = webhook_addresses.check_url(url, self._allow)
        if not url.lower().startswith("https:") and not self.permits(host):
            raise ForbiddenAddress(f"{host} is not called over plain http")
        return url

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return a JSON object; redirects are followed where no `headers` could carry a key along.

        Raises ForbiddenAddress and PeerError.
        """
        request = httpx.Request("GET", self.check(url), headers=headers)
        return await self._ask(request, 0 if headers else MOST_REDIRECTS)

    async def post(self, url: str, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        """Send a JSON object and return another. Raises ForbiddenAddress and PeerError."""
        content = exact_json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **headers}
        request = httpx.Request("POST", self.check(url), content=content, headers=headers)
        return await self._ask(request)

    async def _ask(self, request: httpx.Request, redirects: int = 0) -> Answer:
        async with time_limit():
            answer = await self._send(request)
            for _ in range(redirects):
                if isinstance(answer, Answer):
                    break
                try:
                    answer = await self._send(httpx.Request("GET", self.check(answer)))
                except ForbiddenAddress:
                    raise Moved(f"{lane(str(request.url))} redirects to a closed address") from None
        if isinstance(answer, Answer):
            return answer
        raise Moved(f"{lane(str(request.url))} redirects to another address")

    async def _send(self, request: httpx.Request) -> Answer | str:
        """Return a JSON object, or where a redirect leads."""
        where = webhook_addresses.endpoint(str(request.url))
        server = f"{where.host}:{where.port}"
        if self._calls:
            await self._calls.take(where.host)
        for name, value in HEADERS.items():
            request.headers.setdefault(name, value)
        wait = 0
        try:
            response = await self._client.send(request, stream=True)
            async with aclosing(response):
                wait = _asked_wait(response)
                if HTTPStatus.MULTIPLE_CHOICES <= response.status_code < HTTPStatus.BAD_REQUEST:
                    return _target(request, response)
                body = await _read(response)
        except httpx.ConnectError as error:
            raise _unconnected(server, error) from None
        except httpx.TimeoutException:
            raise Unreachable(f"no answer of {server} in time") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            if isinstance(error, httpx.InvalidURL) or _BAD_LOCATION in str(error):
                return ""
            raise BrokenOff(f"{server} broke off: {type(error).__name__}") from None
        finally:
            if wait and self._calls:
                await self._calls.close(where.host, wait)
        return _parsed(server, response.status_code, body, wait)


def _asked_wait(response: httpx.Response) -> int:
    """Return the seconds for which a host asks for no calls; a date counts by the host's clock."""
    if response.status_code not in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        return 0
    now = http_client.read_date(response.headers.get("date")) or time.time()
    wait = http_client.read_retry_after(response.headers.get("retry-after"), int(now * 1000))
    return wait or (
        UNNAMED_SECONDS if response.status_code != HTTPStatus.SERVICE_UNAVAILABLE else 0
    )


@asynccontextmanager
async def time_limit() -> AsyncIterator[None]:
    """Limit what happens inside to SECONDS. Raises Unreachable."""
    try:
        async with asyncio.timeout(SECONDS):
            yield
    except TimeoutError:
        raise Unreachable(f"no answer within {SECONDS:g} seconds") from None


def lane(url: str) -> str:
    """Return the host and port of an address: calls there delay no other's."""
    where = webhook_addresses.endpoint(url)
    return f"{where.host}:{where.port}"


async def _read(response: httpx.Response) -> bytes:
    body, pieces = b"", 0
    async for chunk in response.aiter_raw():
        body, pieces = body + chunk, pieces + 1
        if pieces > MOST_PIECES:
            raise BadAnswer(f"the answer comes in more than {MOST_PIECES} pieces")
        if len(body) > LONGEST_ANSWER:
            raise BadAnswer(f"the answer is longer than {LONGEST_ANSWER} bytes")
    return body


def _target(request: httpx.Request, response: httpx.Response) -> str:
    """Return where a redirect leads; '' for nowhere, which may not be called."""
    location = response.headers.get("location", "")
    try:
        return str(request.url.join(location)) if 0 < len(location) <= LONGEST_URL else ""
    except (httpx.InvalidURL, ValueError):
        return ""


def _unconnected(server: str, error: BaseException) -> NotReached:
    """Return why there is no connection, which is the first cause that is known."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NameNotFound):
            return NoSuchHost(f"{server} is not known to the name servers")
        if isinstance(cause, ssl.SSLError):
            return NotSecure(f"no secure connection to {server}")
        cause = cause.__cause__ or cause.__context__
    return NotReached(f"no connection to {server}")


def failure(server: str, status: int, wait: int = 0) -> PeerError:
    """Return what an answer that is not a wallet's means; `wait` in seconds, as the host asks."""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Throttled(f"{server} answers 429: too many calls", wait)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Overloaded(f"{server} answers {status}", wait)
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return Missing(f"{server} answers {status}")
    if status >= HTTPStatus.BAD_REQUEST:
        return Denied(f"{server} answers {status}")
    return BadAnswer(f"{server} answers {status} without a JSON object")


def _parsed(server: str, status: int, body: bytes, wait: int) -> Answer:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise failure(server, status, wait)
    try:
        fields = exact_json.loads(body, depth=DEPTH)
    except exact_json.JsonError:
        fields = None
    if isinstance(fields, dict):
        return Answer(status, fields)
    raise failure(server, status, wait)
