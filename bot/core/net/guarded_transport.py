"""Connections to permitted addresses only: the checked address is the dialled address.

A name is resolved once. If it were resolved again between the check and the connection, the DNS
could answer first with a public and then with a private address (DNS rebinding).

From the bottom up: streams that limit how much a peer sends, a name resolver, the guarded network
for httpx clients, and a dialler for clients without httpx.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from ipaddress import IPv4Address
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

import anyio
import httpcore
import httpx

from bot.core import errors
from bot.core.net import webhook_addresses

if TYPE_CHECKING:
    from httpcore import SOCKET_OPTION

    Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

MOST_READ = 128 * 1024
"""Bytes that a peer may send after a request: more than any answer that we read completely.

Body limits don't cover the data before a body: a peer may send interim answers (RFC 9110 section
15.2) for as long as a call lasts, and the event loop parses each of them."""


class BoundedStream(httpcore.AsyncNetworkStream):
    """A stream that reads up to MOST_READ bytes after each write; then it raises ReadError."""

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


LOOKUPS = 64
"""Simultaneous look-ups. They have their own threads, because the event loop has only a few."""

ZONE_LOOKUPS = 16
"""Simultaneous look-ups of names with the same last two labels: the owner of a zone can invent any
number of names."""

LOOKUP_SECONDS = 5.0
"""The longest look-up; it leaves time for the webhook itself."""

FAILURE_SECONDS = 3.0
"""Seconds for which a failed look-up is not repeated. Retries wait longer, so a retry sees a name
that has been fixed."""


class NameNotFound(httpcore.ConnectError):
    """A name can't be resolved to an address; becomes the cause of an httpx.ConnectError."""


def ask_system(host: str) -> list[str]:
    """Resolve a name by the system, best address first. Raises OSError and UnicodeError."""
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))


class SystemResolver:
    """A resolver with its own threads, so that a slow name doesn't delay others.

    Simultaneous calls for one name share a look-up. A system call can't be cancelled, so its thread
    runs until the system gives up; it is a daemon thread, so the process can exit earlier. Failures
    are cached for FAILURE_SECONDS, answers are not cached.
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
        future.set_running_or_notify_cancel()  # a caller that gives up can't cancel it for others
        self._under_way[host] = future
        zone = self._zones.setdefault(".".join(host.split(".")[-2:]), Semaphore(ZONE_LOOKUPS))
        thread = Thread(target=self._work, args=(host, zone, future), name="look-up", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system can't start another thread
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
    """Network access to permitted addresses; raises ForbiddenAddress for all others.

    TLS still checks the certificate against the name: httpcore starts TLS above this layer.
    """

    def __init__(self, allow: webhook_addresses.AllowList, resolver: Resolver) -> None:
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

    async def permitted(
        self, host: str, port: int, deadline: float
    ) -> list[webhook_addresses.Address]:
        """Return the permitted addresses of the host, at least one.

        Raises ForbiddenAddress, and httpcore's ConnectError and ConnectTimeout.
        """
        literal = webhook_addresses.literal_address(host)
        found = [literal] if literal else await self._resolve(host, port, deadline)
        if self._allow.permits_host(host):
            return found
        permitted = [it for it in found if not webhook_addresses.is_forbidden(it, self._allow)]
        if not permitted:
            listed = ", ".join(map(str, found))
            raise errors.ForbiddenAddress(
                f"{host} is {listed}: webhooks go to public addresses only"
            )
        return permitted

    async def _resolve(
        self, host: str, port: int, deadline: float
    ) -> list[webhook_addresses.Address]:
        with anyio.CancelScope(deadline=deadline) as scope:
            try:
                answers = await self._resolver(host, port)
            except (OSError, UnicodeError) as error:
                raise NameNotFound(f"{host}: {error}") from error
        if scope.cancelled_caught:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time")
        if not answers:
            raise NameNotFound(f"{host} has no address")
        return [webhook_addresses.parse_address(answer) for answer in answers]

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Transport of an `httpx.AsyncClient` that reaches only addresses that webhooks may reach.

    The client's calls raise ForbiddenAddress; otherwise it behaves like httpx. Redirects are not
    followed by default, and proxies from the environment are ignored.
    """

    def __init__(
        self,
        allow: webhook_addresses.AllowList,
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


class GuardedDialler:
    """Connects plain sockets to permitted addresses, as `GuardedTransport` does for httpx."""

    def __init__(
        self, allow: webhook_addresses.AllowList, resolver: Resolver | None = None
    ) -> None:
        self._guard = GuardedBackend(allow, resolver or SystemResolver())

    async def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        """Return a connected, non-blocking socket within `seconds`.

        Raises ForbiddenAddress for an address that is not permitted, and OSError.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            addresses = await self._guard.permitted(host, port, deadline)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise OSError(str(error)) from error
        *others, last = addresses
        for tried, address in enumerate(others):
            share = (deadline - asyncio.get_running_loop().time()) / (len(addresses) - tried)
            try:
                return await _dial(address, port, share)
            except OSError:
                continue
        return await _dial(last, port, deadline - asyncio.get_running_loop().time())


async def _dial(address: webhook_addresses.Address, port: int, seconds: float) -> socket.socket:
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003 - the signature of the standard library
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock
