"""What belongs to the process: its socket, its signals, its web server."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import gc
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn

from bot.core.errors import ConfigError
from bot.wiring.web.accept_loop import Acceptor
from bot.wiring.web.connections import Crowd
from bot.wiring.web.fair_turns import Turns
from bot.wiring.web.protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

SIGNALS = (signal.SIGTERM, signal.SIGINT)
BACKLOG = 2048
IDLE_SECONDS = 20
"""How long a connection may rest; longer than clients keep theirs, httpx for instance five
seconds, for a call that goes out just when we hang up has a lost answer."""

SWITCH_SECONDS = 0.0005
"""A tenth of Python's own interval."""

MOST_FILES = 65_536
"""Open files that we ask for, each connection being one; systems often grant 1,024 unasked."""

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Parameters of glibc's mallopt(3)."""

ARENAS = 1
"""Heaps of the process. Nearly all allocations are made under the interpreter's lock, so threads
gain nothing by heaps of their own, and each keeps the most that its thread ever needed."""

MAPPED_BYTES = 256 * 1024
"""From this size on an allocation is a mapping of its own, which is returned when it is freed."""

OF_THE_PORT = (errno.EADDRINUSE, errno.EACCES)


class WebServer(uvicorn.Server):
    """uvicorn without its own signal handlers, which would end the process by the signal.

    `refused` hears the status of each request that is refused before anybody could read it. What
    comes in at `own` are our own calls, which wait for no stranger's connection or request.
    """

    def __init__(
        self,
        app: ASGIApp,
        proxies: tuple[str, ...],
        patience: float,
        refused: Callable[[int], None] | None = None,
        own: socket.socket | None = None,
    ) -> None:
        self._app = app
        self._refused = refused
        self._own = own
        self._crowd = Crowd()
        super().__init__(
            uvicorn.Config(
                Turns(app),
                lifespan="off",
                log_config=None,
                server_header=False,
                http=BoundedProtocol,
                ws="none",
                proxy_headers=True,
                forwarded_allow_ips=[_network(proxy) for proxy in proxies],
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=int(patience),
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen in our own way, which knows what to do without file handles."""
        await super().startup([])
        acceptors = [Acceptor(one, self._stranger, self._crowd) for one in sockets or ()]
        if self._own is not None:
            acceptors.append(Acceptor(self._own, self._ourselves))
        self.servers = acceptors  # type: ignore[assignment]  # all that uvicorn asks of them

    def _stranger(self) -> BoundedProtocol:
        made = self._connection()
        made.crowd = self._crowd
        return made

    def _ourselves(self) -> BoundedProtocol:
        made = self._connection()
        made.app = self._app
        return made

    def _connection(self) -> BoundedProtocol:
        made = BoundedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        made.refused = self._refused
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop gracefully; that slow clients are given up is no trouble for the operator."""
        logger = logging.getLogger("uvicorn.error")
        logger.addFilter(_as_information)
        try:
            await super().shutdown(sockets)
        finally:
            if self._own is not None:
                self._own.close()
            logger.removeFilter(_as_information)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the application."""
        yield


def _as_information(record: logging.LogRecord) -> bool:
    """Lower what uvicorn says of the calls that its stop cancels; whether it is still wanted."""
    if record.getMessage().startswith("Cancel "):
        record.levelno, record.levelname = logging.INFO, "INFO"
    return logging.getLogger(record.name).isEnabledFor(record.levelno)


def _network(proxy: str) -> str:
    """Write a network as uvicorn reads it, which takes 10.0.0.1/8 for a name and trusts nobody."""
    return proxy if proxy == "*" else str(ipaddress.ip_network(proxy, strict=False))


def switch_often() -> None:
    """Let the thread that writes have the interpreter soon again after each statement.

    SQLite's calls give it up, and a busy event loop keeps it for a whole interval each time.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


def settle_memory() -> None:
    """Take what there is at the start out of the garbage collector's sight: it stays anyway.

    Else each full collection, some a minute under load, looks through all of it and everybody
    waits a tenth of a second. Nothing is collected here, for the same reason: starting leaves
    next to no garbage.
    """
    gc.freeze()


def return_memory() -> None:
    """Make glibc return what a peak needed; elsewhere the allocator's own ways stay.

    Must be called before the process starts its first thread.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def open_many_files() -> None:
    """Let this process have as many open files as it may ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGTERM and SIGINT while the block runs."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. Raises ConfigError where the address can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno in OF_THE_PORT:
            told = f"PORT: {host}:{port} can't be listened on ({os.strerror(error.errno)}):"
            problem = f"{told} choose another, as in PORT=8081"
        else:
            problem = f"HOST: {host} is no address of this machine: try 127.0.0.1 or 0.0.0.0"
        raise ConfigError([problem]) from error


def loopback(host: str) -> str:
    """Give the address under which a listener on `host` is reached from its own machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"  # noqa: PLR2004 - IP versions
