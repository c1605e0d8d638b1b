"""A transport that reaches permitted addresses only: it dials the very address that it checked.

A name is resolved once. With a second look-up between the check and the connection, a name could
answer with a public address first and a private one then (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import math
import socket
import time
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

import anyio
import httpcore
import httpx

from bot.core.errors import ForbiddenAddress
from bot.core.net.bounded_stream import BoundedStream
from bot.core.net.webhook_addresses import (
    Address,
    AllowList,
    is_forbidden,
    literal_address,
    parse_address,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from httpcore import SOCKET_OPTION

    Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


LOOKUPS = 64
"""Simultaneous look-ups, in threads of their own: those of the event loop are few."""

ZONE_LOOKUPS = 16
"""Of these, for names with the same last two labels: the owner of a zone can invent names."""

LOOKUP_SECONDS = 5.0
"""Limit of a look-up, which leaves time for the webhook itself."""

FAILURE_SECONDS = 3.0
"""For which a failed look-up is not repeated; less than the wait before a second attempt, which
should find a name that was fixed meanwhile."""


class NameNotFound(httpcore.ConnectError):
    """A name that can't be resolved to an address; the cause of an httpx.ConnectError."""


def ask_system(host: str) -> list[str]:
    """Resolve a name by the system, best address first. Raises OSError and UnicodeError."""
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))


class SystemResolver:
    """A resolver with threads of its own, so that a slow name delays no other.

    Simultaneous calls for one name share a look-up. A system call can't be cancelled: its thread
    runs until the system gives up, as a daemon, so that the process can end before. Answers are
    not remembered, failures for FAILURE_SECONDS.
    """

    def __init__(
        self,
        ask: Callable[[str], list[str]] = ask_system,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._now = now
        self._slots = Semaphore(LOOKUPS)
        self._zones: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()
        self._under_way: dict[str, Future[list[str]]] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    async def __call__(self, host: str, _port: int) -> list[str]:
        """Resolve a name, best address first. Raises OSError and UnicodeError."""
        self._forget()
        if host in self._failed:
            raise OSError(self._failed[host][1])
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await asyncio.wrap_future(self._under_way.get(host) or self._start(host))
        except TimeoutError:
            self._fail(host, f"no answer to its look-up within {LOOKUP_SECONDS:g} seconds")
            raise OSError(self._failed[host][1]) from None
        except OSError as error:
            self._fail(host, str(error))
            raise

    def _start(self, host: str) -> Future[list[str]]:
        future: Future[list[str]] = Future()
        future.set_running_or_notify_cancel()  # now nobody can cancel it for the others
        self._under_way[host] = future
        zone = self._zones.setdefault(".".join(host.split(".")[-2:]), Semaphore(ZONE_LOOKUPS))
        thread = Thread(target=self._work, args=(host, zone, future), name="look-up", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no more threads
            del self._under_way[host]
            raise OSError(str(error)) from error
        return future

    def _work(self, host: str, zone: Semaphore, future: Future[list[str]]) -> None:
        try:
            with _slot(zone), _slot(self._slots):
                answers = self._ask(host)
        except Exception as error:  # noqa: BLE001 - raised again where the future is awaited
            self._under_way.pop(host)
            future.set_exception(error)
        else:
            self._under_way.pop(host)
            future.set_result(answers)

    def _fail(self, host: str, why: str) -> None:
        self._failed[host] = (self._now() + FAILURE_SECONDS, why)

    def _forget(self) -> None:
        now = self._now()
        self._failed = {host: one for host, one in self._failed.items() if one[0] > now}


@contextmanager
def _slot(slots: Semaphore) -> Iterator[None]:
    """Hold one of the slots; wait for it no longer than the caller waits for the answer."""
    if not slots.acquire(timeout=LOOKUP_SECONDS):
        raise OSError("too many names are being looked up")
    try:
        yield
    finally:
        slots.release()


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Network access to permitted addresses; raises ForbiddenAddress for others.

    TLS still checks the certificate of the name: httpcore starts it above this layer.
    """

    def __init__(self, allow: AllowList, resolver: Resolver) -> None:
        self._allow = allow
        self._resolver = resolver
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect within `timeout` seconds, including the look-up."""
        deadline = anyio.current_time() + (math.inf if timeout is None else timeout)
        *others, last = map(str, await self.permitted(host, port, deadline))

        async def dial(address: str, tries: int) -> httpcore.AsyncNetworkStream:
            share = max(deadline - anyio.current_time(), 0) / tries
            stream = await self._network.connect_tcp(
                address,
                port,
                timeout=None if timeout is None else share,
                local_address=local_address,
                socket_options=socket_options,
            )
            return BoundedStream(stream)

        for tried, address in enumerate(others):
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return await dial(address, len(others) + 1 - tried)
        return await dial(last, 1)

    async def permitted(self, host: str, port: int, deadline: float) -> list[Address]:
        """Return the permitted addresses of the host, at least one.

        Raises ForbiddenAddress, and httpcore's ConnectError and ConnectTimeout.
        """
        literal = literal_address(host)
        found = [literal] if literal else await self._resolve(host, port, deadline)
        if self._allow.permits_host(host):
            return found
        permitted = [address for address in found if not is_forbidden(address, self._allow)]
        if not permitted:
            listed = ", ".join(map(str, found))
            raise ForbiddenAddress(f"{host} is {listed}: webhooks go to public addresses only")
        return permitted

    async def _resolve(self, host: str, port: int, deadline: float) -> list[Address]:
        with anyio.CancelScope(deadline=deadline) as scope:
            try:
                answers = await self._resolver(host, port)
            except (OSError, UnicodeError) as error:
                raise NameNotFound(f"{host}: {error}") from error
        if scope.cancelled_caught:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time")
        if not answers:
            raise NameNotFound(f"{host} has no address")
        return [parse_address(answer) for answer in answers]

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Transport of an `httpx.AsyncClient` that reaches only what webhooks may reach.

    The client's calls raise ForbiddenAddress; everything else is httpx's own. Redirects are not
    followed by default, and no proxy of the environment is used.
    """

    def __init__(
        self,
        allow: AllowList,
        *,
        resolver: Resolver | None = None,
        verify: ssl.SSLContext | bool = True,
        limits: httpx.Limits | None = None,
    ) -> None:
        limits = limits or httpx.Limits(max_connections=100, max_keepalive_connections=20)
        context = httpx.create_ssl_context(verify=verify)
        super().__init__(verify=context)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=GuardedBackend(allow, resolver or SystemResolver()),
        )
