"""Connections in, as long as there are file handles for them.

Out of handles, uvloop's own server asks the kernel again at once, without end and without a line
in the log: libuv has then no handle left to give up for its trick (`uv__emfile_trick`).
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from typing import TYPE_CHECKING

from bot.core.health import Health
from bot.wiring.web.connections import MOST
from bot.wiring.web.protocol import Inlet

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.wiring.web.connections import Crowd
    from bot.wiring.web.protocol import BoundedProtocol

AT_ONCE = 64
"""Connections taken before everybody else has a turn."""

PAUSE_SECONDS = 1.0
"""How long whoever comes waits in the kernel's queue, once handles have run short."""

RESERVE = 64
"""Handles that connections leave for the database and for our own calls, each a quarter at most."""

SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""What accept(2) says where something is short; whatever else is about one connection alone."""

GONE = (BlockingIOError, InterruptedError, ConnectionAbortedError)
"""Nobody is there, or not any more."""


class Acceptor:
    """Takes the connections of a listening socket and gives each a protocol; begins at once.

    Where there is no room for one more, others of the `crowd` are closed; None for our own.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], BoundedProtocol],
        crowd: Crowd | None = None,
    ) -> None:
        listener.settimeout(0)
        # Connections take it over; an answer in two pieces would else wait for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._listener = listener
        self._protocol = protocol
        self._crowd = crowd
        self._loop = asyncio.get_running_loop()
        self._health = Health("connections wait", "connections are taken again")
        self._resuming: asyncio.TimerHandle | None = None
        self._beginning: set[asyncio.Task[None]] = set()
        self._resume()

    def close(self) -> None:
        """Take no more; whoever was taken stays."""
        self._loop.remove_reader(self._listener)
        if self._resuming is not None:
            self._resuming.cancel()

    async def wait_closed(self) -> None:
        """Wait for nothing: who was taken is the server's."""

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
                if error.errno in SHORT and not self._makes_room():
                    self._pause(error.strerror or "no file handle")
                return
            task = self._loop.create_task(self._begin(connection))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)
            if self._is_full() or _is_short(connection.fileno()):
                if not self._makes_room():
                    self._pause("few file handles are left")
                return  # what was closed is gone only after this turn of the loop
            self._health.worked()

    def _is_full(self) -> bool:
        return self._crowd is not None and len(self._crowd) >= MOST

    def _makes_room(self) -> bool:
        return self._crowd is not None and self._crowd.make_room()

    async def _begin(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        try:
            await self._loop.connect_accepted_socket(self._make_inlet, connection)
        except OSError:
            connection.close()

    def _make_inlet(self) -> Inlet:
        return Inlet(self._protocol())


def _is_short(handle: int) -> bool:
    """Whether few handles are left beside this one: systems give the lowest that is free."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit != resource.RLIM_INFINITY and handle >= limit - min(RESERVE, limit // 4)
