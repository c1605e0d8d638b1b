"""The accept loop, which survives a lack of file handles.

Without handles, uvloop's own server calls accept(2) again at once, endlessly and without a log
line: libuv then has no spare handle to close for its trick (`uv__emfile_trick`).
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from typing import TYPE_CHECKING

from bot.core.health import Health
from bot.wiring.web.connections import MOST
from bot.wiring.web.protocol import BoundedReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.wiring.web.connections import OpenConnections
    from bot.wiring.web.protocol import BoundedProtocol

AT_ONCE = 64
"""Connections accepted before other tasks run."""

PAUSE_SECONDS = 1.0
"""For which new connections wait in the kernel's queue once handles have run out."""

RESERVE = 64
"""Handles left for the database and our own calls, at most a quarter of all."""

SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of accept(2) for a lack of resources; all others concern one connection."""

GONE = (BlockingIOError, InterruptedError, ConnectionAbortedError)
"""Errors of accept(2) if no client is there, or no longer."""


class Acceptor:
    """The accept loop of a listening socket, which starts at once.

    If there is no room for one more, it closes idle ones of `connections`; None for our own socket,
    which has no limit.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], BoundedProtocol],
        connections: OpenConnections | None = None,
    ) -> None:
        listener.settimeout(0)
        # Connections inherit it; otherwise the second piece of an answer waits for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._listener = listener
        self._protocol = protocol
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._health = Health("connections are waiting", "connections are accepted again")
        self._resuming: asyncio.TimerHandle | None = None
        self._beginning: set[asyncio.Task[None]] = set()
        self._resume()

    def close(self) -> None:
        """Stop accepting; accepted connections stay open."""
        self._loop.remove_reader(self._listener)
        if self._resuming is not None:
            self._resuming.cancel()

    async def wait_closed(self) -> None:
        """Wait for nothing: accepted connections belong to the server."""

    def _resume(self) -> None:
        self._resuming = None
        self._loop.add_reader(self._listener, self._take)

    def _pause(self, reason: str) -> None:
        self._health.failed(reason)
        self._loop.remove_reader(self._listener)
        self._resuming = self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _take(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except GONE:
                return
            except OSError as error:
                if error.errno in SHORT and not self._make_room():
                    self._pause(error.strerror or "no file handles")
                return
            task = self._loop.create_task(self._begin(connection))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)
            is_full = self._connections is not None and len(self._connections) >= MOST
            if is_full or _is_short(connection.fileno()):
                if not self._make_room():
                    self._pause("few file handles left")
                return  # connections close only after this round of the event loop
            self._health.worked()

    def _make_room(self) -> bool:
        return self._connections is not None and self._connections.make_room()

    async def _begin(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        try:
            await self._loop.connect_accepted_socket(
                lambda: BoundedReader(self._protocol()), connection
            )
        except OSError:
            connection.close()


def _is_short(handle: int) -> bool:
    """Return whether few handles are left: the system assigns the lowest that is free."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit != resource.RLIM_INFINITY and handle >= limit - min(RESERVE, limit // 4)
