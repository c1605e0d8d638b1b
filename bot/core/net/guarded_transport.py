"""Connections to permitted addresses only: the checked address is the dialled address.

A name is resolved once. If it were resolved again between the check and the connection, the DNS
could answer first with a public and then with a private address (DNS rebinding).

From the bottom up: streams that limit how much a peer sends, a name resolver, a dialler for
WebSockets, and the guarded transport for HTTP clients.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import httpcore
import httpx

from bot.core import errors
from bot.core.net import http_client, webhook_addresses

if TYPE_CHECKING:
    from httpcore import SOCKET_OPTION

    Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

T = TypeVar("T")

MOST_READ = 128 * 1024
"""Bytes that a peer may send after a request: more than any answer that we read completely.

Body limits don't cover the data before a body: a peer may send interim answers (RFC 9110 section
15.2) for as long as a call lasts, and the event loop parses each of them."""

ARRIVED = "arrived"
"""The extra information of a BoundedStream: the bytes read since the last write."""


class BoundedStream(httpcore.AsyncNetworkStream):
    """A stream that reads up to MOST_READ bytes after each write; then it raises ReadError."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._arrived = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        data = await self._stream.read(max_bytes, timeout)
        self._arrived += len(data)
        if self._arrived > MOST_READ:
            raise httpcore.ReadError("the peer sends without end")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's signature
        self._arrived = 0
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
        return self._arrived if info == ARRIVED else self._stream.get_extra_info(info)


LOOKUPS = 64
"""Simultaneous look-ups. They have their own threads, because the event loop has only a few."""

ZONE_LOOKUPS = 16
"""Simultaneous look-ups of names in one zone, whose owner can invent any number of names."""

LOOKUP_SECONDS = 5.0
"""The longest look-up; it leaves time for the webhook itself."""

FAILURE_SECONDS = 3.0
"""Seconds for which a failed look-up is not repeated. Retries wait longer, so a retry sees a name
that has been fixed."""


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
        now = self._now()
        self._failed = {host: one for host, one in self._failed.items() if one[0] > now}
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
        zone = self._zones.setdefault(webhook_addresses.zone_of(host), Semaphore(ZONE_LOOKUPS))
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


@contextmanager
def _slot(slots: Semaphore) -> Iterator[None]:
    """Hold one of the slots; wait for it no longer than the caller waits for the answer."""
    if not slots.acquire(timeout=LOOKUP_SECONDS):
        raise OSError("too many names are being looked up")
    try:
        yield
    finally:
        slots.release()


class GuardedDialler:
    """Dials permitted addresses; raises ForbiddenAddress for all others."""

    def __init__(
        self, allow: webhook_addresses.AllowList, resolver: Resolver | None = None
    ) -> None:
        self._allow = allow
        self._resolver = resolver or SystemResolver()

    async def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        """Return a connected, non-blocking socket. Raises as `dial`."""

        async def connect(address: str, share: float) -> socket.socket:
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            try:
                sock.setblocking(False)  # noqa: FBT003 - the signature of the standard library
                async with asyncio.timeout(share):
                    await asyncio.get_running_loop().sock_connect(sock, (address, port))
            except BaseException:
                sock.close()
                raise
            return sock

        return await self.dial(host, port, seconds, connect)

    async def dial(
        self, host: str, port: int, seconds: float, connect: Callable[[str, float], Awaitable[T]]
    ) -> T:
        """Return the connection to the first permitted address of a host that answers in time.

        `connect` gets an address, and its share of the seconds that are left. Raises
        ForbiddenAddress, socket.gaierror if the name has no address, TimeoutError for a slow
        look-up, and the error of the last address.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        async with asyncio.timeout_at(deadline):
            *others, last = await self._permitted(host, port)
        for tried, address in enumerate(others):
            share = (deadline - loop.time()) / (len(others) + 1 - tried)
            with suppress(OSError, httpcore.ConnectError, httpcore.ConnectTimeout):
                return await connect(str(address), max(share, 0))
        return await connect(str(last), max(deadline - loop.time(), 0))

    async def _permitted(self, host: str, port: int) -> list[webhook_addresses.Address]:
        """Return at least one address."""
        literal = webhook_addresses.literal_address(host)
        try:
            answers = [] if literal else await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise socket.gaierror(f"{host}: {error}") from error
        found = [literal] if literal else [*map(webhook_addresses.parse_address, answers)]
        if not found:
            raise socket.gaierror(f"{host} has no address")
        if self._allow.permits_host(host, port):
            return found
        permitted = [
            it for it in found if not webhook_addresses.is_forbidden(it, port, self._allow)
        ]
        if not permitted:
            listed = ", ".join(map(str, found))
            raise errors.ForbiddenAddress(
                f"{host} is {listed}: webhooks go to public addresses only"
            )
        return permitted


CONNECT_SECONDS = 15.0
"""The time to connect, if a call doesn't limit it."""


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Network access to permitted addresses, with streams that limit how much a peer sends.

    TLS still checks the certificate against the name: httpcore starts TLS above this layer.
    """

    def __init__(self, dialler: GuardedDialler) -> None:
        self._dialler = dialler
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

        async def connect(address: str, share: float) -> httpcore.AsyncNetworkStream:
            return await self._network.connect_tcp(
                address, port, share, local_address, socket_options
            )

        seconds = CONNECT_SECONDS if timeout is None else timeout
        try:
            return BoundedStream(await self._dialler.dial(host, port, seconds, connect))
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """A transport to addresses that webhooks may reach; the others raise ForbiddenAddress.

    Proxies from the environment are ignored, because a proxy would resolve the name again.
    """

    def __init__(
        self,
        allow: webhook_addresses.AllowList,
        *,
        resolver: Resolver | None = None,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        context = verify or http_client.ssl_context()
        super().__init__(verify=context)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=http_client.MOST_CONNECTIONS,
            keepalive_expiry=http_client.KEPT_SECONDS,
            network_backend=GuardedBackend(GuardedDialler(allow, resolver)),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make a call; an answer that arrived before the call is an error."""
        response = await super().handle_async_request(request)
        if not response.extensions["network_stream"].get_extra_info(ARRIVED):
            # It came behind the last answer, and httpcore had read it already.
            await response.aclose()
            raise httpx.RemoteProtocolError("an answer that nobody asked for")
        return response


def guarded_client(
    allow: webhook_addresses.AllowList,
    *,
    resolver: Resolver | None = None,
    verify: ssl.SSLContext | None = None,
) -> http_client.HttpClient:
    """Return a client that reaches only addresses that webhooks may reach."""
    resolver = resolver or SystemResolver()
    return http_client.HttpClient(
        partial(GuardedTransport, allow, resolver=resolver, verify=verify)
    )
