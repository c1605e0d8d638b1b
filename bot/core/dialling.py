"""Dialling where webhooks may go: the name is resolved once, judged, and that very address dialled.

A second look-up between judging and dialling would let a name answer with a public address first
and a private one then (DNS rebinding), so there is none.
"""

from __future__ import annotations

import math
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import anyio
import httpcore
import httpx

from bot.core.addresses import (
    Address,
    AllowList,
    is_forbidden,
    literal_address,
    parse_address,
)
from bot.core.errors import ForbiddenAddress

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from httpcore import SOCKET_OPTION

    Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
    InternalHosts: TypeAlias = Mapping[str, Callable[[], tuple[str, int]]]


async def system_resolver(host: str, port: int) -> list[str]:
    """Addresses of a name, best first, as the system answers. Raises OSError."""
    answers = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to permitted addresses only; raises ForbiddenAddress for others.

    `internal` maps a host to where it listens at this moment, past the guard and the port
    of the URL. TLS still asks for the certificate of the name: httpcore starts it above this.
    """

    def __init__(self, allow: AllowList, resolver: Resolver, internal: InternalHosts) -> None:
        self._allow = allow
        self._resolver = resolver
        self._internal = internal
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect within `timeout` seconds, the look-up included."""
        deadline = anyio.current_time() + (math.inf if timeout is None else timeout)
        if host in self._internal:
            inside, port = self._internal[host]()
            *others, last = [inside]
        else:
            *others, last = map(str, await self._permitted(host, port, deadline))

        async def dial(address: str, tries: int) -> httpcore.AsyncNetworkStream:
            share = max(deadline - anyio.current_time(), 0) / tries
            return await self._network.connect_tcp(
                address,
                port,
                timeout=None if timeout is None else share,
                local_address=local_address,
                socket_options=socket_options,
            )

        for tried, address in enumerate(others):
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return await dial(address, len(others) + 1 - tried)
        return await dial(last, 1)

    async def _permitted(self, host: str, port: int, deadline: float) -> list[Address]:
        """Addresses of the host that may be dialled, at least one."""
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
                raise httpcore.ConnectError(f"{host}: {error}") from error
        if scope.cancelled_caught:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time")
        if not answers:
            raise httpcore.ConnectError(f"{host} has no address")
        return [parse_address(answer) for answer in answers]

    async def sleep(self, seconds: float) -> None:
        """Wait before httpcore's own retries."""
        await self._network.sleep(seconds)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Transport for an `httpx.AsyncClient` that reaches only what webhooks may reach.

    ForbiddenAddress comes out of the client's call; everything else is httpx's own. The client does
    not follow redirects unless told to, and takes no proxy from the environment.
    """

    def __init__(
        self,
        allow: AllowList,
        *,
        resolver: Resolver = system_resolver,
        internal: InternalHosts | None = None,
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
            network_backend=GuardedBackend(allow, resolver, internal or {}),
        )
