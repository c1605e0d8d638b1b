"""The HTTP client for wallets named by sellers, and shared code of their rails.

A misbehaving wallet doesn't harm other wallets. Hosts in RAIL_ALLOW may be private and may use
http; all other hosts must be public and use https. A wallet whose domain has moved may redirect
twice, to addresses under the same rules; a call that carries a key is never redirected.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from bot.core import errors, exact_json
from bot.core.net import guarded_transport, http_client, webhook_addresses
from bot.service.payouts import payout_account
from bot.service.rails import host_calls, rail

SECONDS = 10.0
"""Time limit in seconds of a call, and of all calls of one opening together, however slowly the
answer arrives.
"""

LONGEST_ANSWER = 64 * 1024  # bytes
MOST_CHUNKS = 1_000
"""Maximum chunks of an answer: chunks of a single byte cost a thousand times as much to read."""

MOST_REDIRECTS = 2
_BAD_LOCATION = "Invalid URL in location header"
"""The httpx error for an answer whose Location can't be read."""

LONGEST_URL = 2_000
"""Characters of a URL that a wallet names."""

DEPTH = 20
"""Nesting of an answer's JSON."""

CONNECTIONS = 600
"""More than the maximum number of simultaneous openings, polls and probes, which have their own
bounds. With fewer connections, silent wallets would block calls to other wallets.
"""

HEADERS = {
    "User-Agent": "payment-request-bot",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a compressed answer may be a thousand times as large
}
UNNAMED_SECONDS = 15
"""Seconds without a call after a 429 that names no time."""

FAILURES = (errors.PeerError, errors.ForbiddenAddress, errors.InvoiceError)
"""Errors of calls to a wallet; their messages contain no secret."""


class NoSuchHost(errors.NotReached):
    """No connection, because the name has no address."""


class NotSecure(errors.NotReached):
    """No connection, because there is no TLS or the certificate is invalid."""


class BrokenOff(errors.Unreachable):
    """The connection ended before the answer did."""


class Missing(errors.BadAnswer):
    """A 404 or 410 that is not a wallet's answer."""


class Denied(errors.BadAnswer):
    """Another 4xx that is not a wallet's answer."""


class Moved(errors.BadAnswer):
    """A redirect that isn't followed: one too many, or to a forbidden address."""


@dataclass(frozen=True, slots=True)
class WalletReply:
    """A JSON object with its HTTP status."""

    status: int
    fields: dict[str, Any]


class WalletHttp:
    """Calls wallets; `allow` is RAIL_ALLOW, `calls` has the budgets of hosts, if any."""

    def __init__(
        self, allow: webhook_addresses.AllowList, calls: host_calls.HostCalls | None = None
    ) -> None:
        self._allow = allow
        self._calls = calls
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=20)
        self._client = httpx.AsyncClient(
            transport=guarded_transport.GuardedTransport(
                allow, verify=http_client.ssl_context(), limits=limits
            ),
            timeout=SECONDS,
            follow_redirects=False,
            trust_env=False,
            # Cookies that wallets set are never sent.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers=HEADERS,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def permits(self, host: str) -> bool:
        """True if the operator has allowed the host by name, whatever it resolves to."""
        address = webhook_addresses.literal_address(host)
        listed = address is not None and self._allow.permits_address(address)
        return listed or self._allow.permits_host(host)

    def check(self, url: str) -> str:
        """Return the URL if it may be called. Raises ForbiddenAddress."""
        host = webhook_addresses.check_url(url, self._allow)
        if not url.lower().startswith("https:") and not self.permits(host):
            raise errors.ForbiddenAddress(f"{host} is not called over plain http")
        return url

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> WalletReply:
        """Return a JSON object. With `headers`, which may contain a key, no redirect is followed.

        Raises ForbiddenAddress and PeerError.
        """
        request = httpx.Request("GET", self.check(url), headers=headers)
        return await self._ask(request, 0 if headers else MOST_REDIRECTS)

    async def post(self, url: str, body: dict[str, Any], headers: Mapping[str, str]) -> WalletReply:
        """Send a JSON object and return another. Raises ForbiddenAddress and PeerError."""
        content = exact_json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **headers}
        request = httpx.Request("POST", self.check(url), content=content, headers=headers)
        return await self._ask(request)

    async def _ask(self, request: httpx.Request, redirects: int = 0) -> WalletReply:
        async with time_limit():
            answer = await self._send(request)
            for _ in range(redirects):
                if isinstance(answer, WalletReply):
                    break
                try:
                    answer = await self._send(httpx.Request("GET", self.check(answer)))
                except errors.ForbiddenAddress:
                    raise Moved(f"{lane(str(request.url))} redirects to a closed address") from None
        if isinstance(answer, WalletReply):
            return answer
        raise Moved(f"{lane(str(request.url))} redirects to another address")

    async def _send(self, request: httpx.Request) -> WalletReply | str:
        """Return a JSON object, or the target of a redirect."""
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
            raise errors.Unreachable(f"no answer of {server} in time") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            if isinstance(error, httpx.InvalidURL) or _BAD_LOCATION in str(error):
                return ""
            raise BrokenOff(f"{server} broke off: {type(error).__name__}") from None
        finally:
            if wait and self._calls:
                await self._calls.close(where.host, wait)
        return _parsed(server, response.status_code, body, wait)


def _asked_wait(response: httpx.Response) -> int:
    """Return the seconds that a host asks to wait; dates are relative to the host's clock."""
    if response.status_code not in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        return 0
    now = http_client.read_date(response.headers.get("date")) or time.time()
    wait = http_client.read_retry_after(response.headers.get("retry-after"), int(now * 1000))
    if not wait and response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return UNNAMED_SECONDS
    return wait


@asynccontextmanager
async def time_limit() -> AsyncIterator[None]:
    """Limit the block to SECONDS. Raises Unreachable."""
    try:
        async with asyncio.timeout(SECONDS):
            yield
    except TimeoutError:
        raise errors.Unreachable(f"no answer within {SECONDS:g} seconds") from None


def lane(url: str) -> str:
    """Return the host and port of a URL; a slow host delays no other."""
    where = webhook_addresses.endpoint(url)
    return f"{where.host}:{where.port}"


async def _read(response: httpx.Response) -> bytes:
    body, chunks = b"", 0
    async for chunk in response.aiter_raw():
        body, chunks = body + chunk, chunks + 1
        if chunks > MOST_CHUNKS:
            raise errors.BadAnswer(f"the answer comes in more than {MOST_CHUNKS} pieces")
        if len(body) > LONGEST_ANSWER:
            raise errors.BadAnswer(f"the answer is longer than {LONGEST_ANSWER} bytes")
    return body


def _target(request: httpx.Request, response: httpx.Response) -> str:
    """Return the target of a redirect; "", which may not be called, if it can't be read."""
    location = response.headers.get("location", "")
    try:
        return str(request.url.join(location)) if 0 < len(location) <= LONGEST_URL else ""
    except (httpx.InvalidURL, ValueError):
        return ""


def _unconnected(server: str, error: BaseException) -> errors.NotReached:
    """Return why there is no connection, from the first known cause."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, guarded_transport.NameNotFound):
            return NoSuchHost(f"{server} is not known to the name servers")
        if isinstance(cause, ssl.SSLError):
            return NotSecure(f"no secure connection to {server}")
        cause = cause.__cause__ or cause.__context__
    return errors.NotReached(f"no connection to {server}")


def failure(server: str, status: int, wait: int = 0) -> errors.PeerError:
    """Return the error for an answer that no wallet gives; the host asks to wait `wait` seconds."""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return errors.Throttled(f"{server} answers 429: too many calls", wait)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.Overloaded(f"{server} answers {status}", wait)
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return Missing(f"{server} answers {status}")
    if status >= HTTPStatus.BAD_REQUEST:
        return Denied(f"{server} answers {status}")
    return errors.BadAnswer(f"{server} answers {status} without a JSON object")


def _parsed(server: str, status: int, body: bytes, wait: int) -> WalletReply:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise failure(server, status, wait)
    try:
        fields = exact_json.loads(body, depth=DEPTH)
    except exact_json.JsonError:
        fields = None
    if isinstance(fields, dict):
        return WalletReply(status, fields)
    raise failure(server, status, wait)


class HttpRail(ABC):
    """A rail that asks the wallet at `details.url`; `allow` is RAIL_ALLOW, `now` in epoch ms.

    `calls` has the budgets of hosts; None means no budgets.
    """

    test_money = False

    def __init__(
        self,
        allow: webhook_addresses.AllowList,
        now: Callable[[], int],
        calls: host_calls.HostCalls | None = None,
    ) -> None:
        self._http = WalletHttp(allow, calls)
        self._now = now

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the wallet's host and port."""
        return lane(details["url"])

    def open_offline(self, charge: rail.Charge) -> rail.Opened | None:
        """Return None, because the wallet must be called."""
        del charge
        return None

    async def open(self, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        """Ask the wallet for an invoice, within the time limit of all calls together."""
        try:
            async with time_limit():
                return await self._open(charge)
        except errors.InvoiceError as error:
            return rail.Unavailable("lied", str(error))
        except errors.Throttled as error:  # the call changed nothing
            return rail.Unavailable("slow", str(error), errors.requested_wait(error))
        except FAILURES as error:
            slow = isinstance(error, errors.Unreachable | errors.Overloaded)
            return rail.Unavailable("slow" if slow else "refused", str(error))

    @abstractmethod
    async def _open(self, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        """Ask for the invoice. Raises one of FAILURES."""


def unanswered(error: Exception) -> rail.Waiting:
    """Return the result of a failed poll."""
    again_in = errors.requested_wait(error) if isinstance(error, errors.Throttled) else None
    return rail.Waiting(str(error), again_in=again_in)


_HOST_PROBLEMS: dict[type[Exception], tuple[payout_account.DetailError, str]] = {
    errors.ForbiddenAddress: (
        payout_account.DetailError.HOST_PRIVATE,
        "{server} can't be used: it isn't a public address.",
    ),
    errors.PeerRefusal: (payout_account.DetailError.HOST_SAYS, "{server} says: {error}"),
    NoSuchHost: (
        payout_account.DetailError.HOST_UNKNOWN,
        "There's no server at {server}. Check the spelling.",
    ),
    NotSecure: (
        payout_account.DetailError.HOST_UNSAFE,
        "{server} has no valid certificate, so it can't be trusted. Ask whoever runs it.",
    ),
    errors.NotReached: (
        payout_account.DetailError.HOST_CLOSED,
        "{server} can't be reached: it takes no connections. Try again later.",
    ),
    BrokenOff: (
        payout_account.DetailError.HOST_BROKEN,
        "{server} ended the connection without an answer. Try again later.",
    ),
    errors.Unreachable: (
        payout_account.DetailError.HOST_SILENT,
        "{server} didn't answer in time. Try again later.",
    ),
    errors.Throttled: (
        payout_account.DetailError.HOST_BUSY,
        "{server} is busy. Wait a minute, then try again.",
    ),
    errors.Overloaded: (
        payout_account.DetailError.HOST_BROKEN,
        "{server} has a problem of its own: {error}. Try again later.",
    ),
    Denied: (payout_account.DetailError.HOST_DENIES, "{server} lets nobody ask for it: {error}."),
    Moved: (
        payout_account.DetailError.HOST_MOVED,
        (
            "{server} redirects to an address that can't be used."
            " Ask your wallet for your current address."
        ),
    ),
}
"""The first matching class counts, so subclasses come first."""


def host_problem(server: str, error: Exception) -> tuple[payout_account.DetailError, str] | None:
    """Return what a seller can do about an error of a wallet's server, or None if unknown."""
    for kind, (problem, message) in _HOST_PROBLEMS.items():
        if isinstance(error, kind):
            return problem, message.format(server=server, error=error)
    return None
