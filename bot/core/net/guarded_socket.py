"""A plain socket to a permitted address, for clients without a transport of httpx."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

import httpcore

from bot.core.net.guarded_transport import GuardedBackend, SystemResolver

if TYPE_CHECKING:
    from bot.core.net.guarded_transport import Resolver
    from bot.core.net.webhook_addresses import Address, AllowList


class GuardedDialler:
    """Connects to the very address that was checked, like `GuardedTransport` does for HTTP."""

    def __init__(self, allow: AllowList, resolver: Resolver | None = None) -> None:
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


async def _dial(address: Address, port: int, seconds: float) -> socket.socket:
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
