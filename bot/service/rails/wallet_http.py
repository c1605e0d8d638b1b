"""The HTTP client for wallets named by sellers, and shared code of their rails.

A misbehaving wallet doesn't harm other wallets. Hosts in RAIL_ALLOW may be private and may use
http, at every port unless the entry has one; all other hosts must be public and use https. A wallet
whose domain has moved may redirect twice, to addresses under the same rules; a call that carries a
key is never redirected.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

from bot.core import errors, exact_json
from bot.core.net import guarded_transport, http_client, webhook_addresses
from bot.interface import vocabulary
from bot.service.rails import host_calls, rail

DetailError = vocabulary.DetailError

SECONDS = 10.0
"""Time limit in seconds of a call, and of all calls of one opening together, however slowly the
answer arrives.
"""

LONGEST_ANSWER = 64 * 1024  # bytes
MOST_CHUNKS = 1_000
"""Maximum chunks of an answer: chunks of a single byte cost a thousand times as much to read."""

MOST_REDIRECTS = 2
LONGEST_URL = 2_000
"""Characters of a URL that a wallet names."""

DEPTH = 20
"""Nesting of an answer's JSON."""

HEADERS = {"Accept": "application/json"}
UNNAMED_SECONDS = 15
"""Seconds without a call after a 429 that names no time."""

FAILURES = (errors.PeerError, errors.ForbiddenAddress, errors.InvoiceError)
"""Errors of calls to a wallet; their messages contain no secret."""


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


PROBLEMS: dict[type[errors.Unreachable], str] = {
    errors.NoSuchHost: "{server} is not known to the name servers",
    errors.NotSecure: "no secure connection to {server}",
    errors.NotReached: "no connection to {server}",
    errors.BrokenOff: "{server} broke off: {kind}",
    errors.Unreachable: "no answer of {server} in time",
}


class WalletHttp:
    """Calls wallets; `allow` is RAIL_ALLOW, `calls` has the budgets of hosts, if any."""

    def __init__(
        self, allow: webhook_addresses.AllowList, calls: host_calls.HostCalls | None = None
    ) -> None:
        self._allow = allow
        self._calls = calls
        self._http = guarded_transport.guarded_client(allow)

    async def close(self) -> None:
        await self._http.close()

    def permits(self, host: str, port: int) -> bool:
        """True if the operator has allowed the host at this port, whatever it resolves to."""
        address = webhook_addresses.literal_address(host)
        listed = address is not None and self._allow.permits_address(address, port)
        return listed or self._allow.permits_host(host, port)

    def check(self, url: str) -> str:
        """Return the URL if it may be called. Raises ForbiddenAddress."""
        host = webhook_addresses.check_url(url, self._allow)
        where = webhook_addresses.endpoint(url)
        if where.scheme != "https" and not self.permits(host, where.port):
            raise errors.ForbiddenAddress(f"{host} is not called over plain http")
        return url

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> WalletReply:
        """Return a JSON object. With `headers`, which may contain a key, no redirect is followed.

        Raises ForbiddenAddress and PeerError.
        """
        self.check(url)
        async with time_limit():
            answer = await self._send("GET", url, headers or {})
            for _ in range(0 if headers else MOST_REDIRECTS):
                if isinstance(answer, WalletReply):
                    break
                try:
                    answer = await self._send("GET", self.check(answer), {})
                except errors.ForbiddenAddress:
                    raise Moved(f"{lane(url)} redirects to a closed address") from None
        return _not_moved(url, answer)

    async def post(self, url: str, body: dict[str, Any], headers: Mapping[str, str]) -> WalletReply:
        """Send a JSON object and return another. Raises ForbiddenAddress and PeerError."""
        self.check(url)
        content = exact_json.dumps(body).encode()
        async with time_limit():
            answer = await self._send(
                "POST", url, {"Content-Type": "application/json", **headers}, content
            )
        return _not_moved(url, answer)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> WalletReply | str:
        """Return a JSON object, or the target of a redirect."""
        where = webhook_addresses.endpoint(url)
        server = f"{where.host}:{where.port}"
        if self._calls:
            await self._calls.take(where.host)
        wait = 0
        try:
            async with await self._http.send(
                method, url, {**HEADERS, **headers}, content, seconds=SECONDS
            ) as answer:
                wait = _asked_wait(answer)
                if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
                    return _target(url, answer)
                body = await _read(answer)
        except errors.Unreachable as error:
            kind = http_client.kind_of(error)
            problem = PROBLEMS[type(error)].format(server=server, kind=kind)
            raise type(error)(problem) from None
        finally:
            if wait and self._calls:
                await self._calls.close(where.host, wait)
        fields = None
        if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
            with suppress(exact_json.JsonError):
                fields = exact_json.loads(body, depth=DEPTH)
        if not isinstance(fields, dict):
            raise failure(server, answer.status, wait)
        return WalletReply(answer.status, fields)


def _not_moved(url: str, answer: WalletReply | str) -> WalletReply:
    if isinstance(answer, WalletReply):
        return answer
    raise Moved(f"{lane(url)} redirects to another address")


def _asked_wait(answer: http_client.Answer) -> int:
    """Return the seconds that a host asks to wait; dates are relative to the host's clock."""
    if answer.status not in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        return 0
    now = http_client.read_date(answer.headers.get("date")) or time.time()
    wait = http_client.read_retry_after(answer.headers.get("retry-after"), int(now * 1000))
    if not wait and answer.status == HTTPStatus.TOO_MANY_REQUESTS:
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


async def _read(answer: http_client.Answer) -> bytes:
    body, count = b"", 0
    async for chunk in answer.chunks():
        body, count = body + chunk, count + 1
        if count > MOST_CHUNKS:
            raise errors.BadAnswer(f"the answer comes in more than {MOST_CHUNKS} pieces")
        if len(body) > LONGEST_ANSWER:
            raise errors.BadAnswer(f"the answer is longer than {LONGEST_ANSWER} bytes")
    return body


def _target(url: str, answer: http_client.Answer) -> str:
    """Return the target of a redirect; "", which may not be called, if it can't be read."""
    location = answer.headers.get("location", "")
    try:
        return urljoin(url, location) if 0 < len(location) <= LONGEST_URL else ""
    except ValueError:
        return ""


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


class HttpRail(rail.Rail):
    """A rail that asks the wallet at `details.url`; `allow` is RAIL_ALLOW, `now` in epoch ms.

    `calls` has the budgets of hosts; None means no budgets.
    """

    def __init__(
        self,
        allow: webhook_addresses.AllowList,
        now: Callable[[], int],
        calls: host_calls.HostCalls | None = None,
    ) -> None:
        self._http = WalletHttp(allow, calls)
        self._now = now

    async def close(self) -> None:
        await self._http.close()

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the wallet's host and port."""
        return lane(details["url"])

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


_HOST_PROBLEMS: dict[type[Exception], tuple[DetailError, str]] = {
    errors.ForbiddenAddress: (
        DetailError.HOST_PRIVATE,
        "{server} can't be used: it isn't a public address.",
    ),
    errors.PeerRefusal: (DetailError.HOST_SAYS, "{server} says: {error}"),
    errors.NoSuchHost: (
        DetailError.HOST_UNKNOWN,
        "There's no server at {server}. Check the spelling.",
    ),
    errors.NotSecure: (
        DetailError.HOST_UNSAFE,
        "{server} has no valid certificate, so it can't be trusted. Ask whoever runs it.",
    ),
    errors.NotReached: (
        DetailError.HOST_CLOSED,
        "{server} can't be reached: it takes no connections. Try again later.",
    ),
    errors.BrokenOff: (
        DetailError.HOST_BROKEN,
        "{server} ended the connection without an answer. Try again later.",
    ),
    errors.Unreachable: (
        DetailError.HOST_SILENT,
        "{server} didn't answer in time. Try again later.",
    ),
    errors.Throttled: (DetailError.HOST_BUSY, "{server} is busy. Wait a minute, then try again."),
    errors.Overloaded: (
        DetailError.HOST_BROKEN,
        "{server} has a problem of its own: {error}. Try again later.",
    ),
    Denied: (DetailError.HOST_DENIES, "{server} lets nobody ask for it: {error}."),
    Moved: (
        DetailError.HOST_MOVED,
        (
            "{server} redirects to an address that can't be used."
            " Ask your wallet for your current address."
        ),
    ),
}
"""The first matching class counts, so subclasses come first."""


def host_problem(server: str, error: Exception) -> tuple[DetailError, str] | None:
    """Return what a seller can do about an error of a wallet's server, or None if unknown."""
    for kind, (problem, message) in _HOST_PROBLEMS.items():
        if isinstance(error, kind):
            return problem, message.format(server=server, error=error)
    return None
