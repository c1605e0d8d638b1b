"""The web server and its listening sockets."""

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
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import uvicorn

from bot.app import connections, http_protocol
from bot.core import errors
from bot.core.database import database

if TYPE_CHECKING:
    from starlette.types import ASGIApp


# The accept loop, which survives a lack of file handles.
#
# Without free handles, uvloop's own server calls accept(2) in an endless loop without a log line,
# because libuv has no spare handle to close for its trick (`uv__emfile_trick`).


AT_ONCE = 64
"""Connections accepted before other tasks run."""

PAUSE_SECONDS = 1.0
"""Time for which new connections wait in the kernel's queue if handles have run out."""

RESERVE = 64
"""Handles reserved for the database and our own connections, at most a quarter of all handles."""

SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of accept(2) that mean a lack of resources; all others concern one connection."""

GONE = (BlockingIOError, InterruptedError, ConnectionAbortedError)
"""Errors of accept(2) if no client is waiting any longer."""


class Acceptor:
    """The accept loop of a listening socket, which starts at once.

    If there is no room for another connection, it closes idle connections of `connections`.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], http_protocol.BoundedProtocol],
        connections: connections.OpenConnections,
    ) -> None:
        listener.settimeout(0)
        # Connections inherit this option; otherwise the second part of an answer waits for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._listener = listener
        self._protocol = protocol
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._health = database.Health("connections are waiting", "connections are accepted again")
        self._resuming: asyncio.TimerHandle | None = None
        self._beginning: set[asyncio.Task[None]] = set()
        self._resume()

    def close(self) -> None:
        """Stop accepting; accepted connections stay open."""
        self._loop.remove_reader(self._listener)
        if self._resuming is not None:
            self._resuming.cancel()

    async def wait_closed(self) -> None:
        """Return at once: accepted connections belong to the server."""

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
            is_full = len(self._connections) >= connections.MOST
            if is_full or _is_short(connection.fileno()):
                if not self._make_room():
                    self._pause("few file handles left")
                return  # connections close only after this round of the event loop
            self._health.worked()

    def _make_room(self) -> bool:
        return self._connections.make_room()

    async def _begin(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        try:
            await self._loop.connect_accepted_socket(
                lambda: http_protocol.BoundedReader(self._protocol()), connection
            )
        except OSError:
            connection.close()


def _is_short(handle: int) -> bool:
    """True if few handles are left, because the system assigns the lowest free handle."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit != resource.RLIM_INFINITY and handle >= limit - min(RESERVE, limit // 4)


# Settings of the process: memory, open files, threads, signals.


SIGNALS = (signal.SIGTERM, signal.SIGINT)

SWITCH_SECONDS = 0.0005
"""A tenth of Python's default."""

MOST_FILES = 65_536
"""The limit of open files to request, as each connection uses one; the usual limit is 1,024."""

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Parameters of glibc's mallopt(3)."""

ARENAS = 1
"""Number of heaps. Nearly all allocations happen under the interpreter's lock, so a heap for each
thread gains nothing, and each heap keeps the most memory that its thread ever needed."""

MAPPED_BYTES = 256 * 1024
"""An allocation of at least this size has its own mapping, which is returned when it is freed."""


def shorten_switch_interval() -> None:
    """Shorten the time for which a busy thread keeps the interpreter's lock.

    The database threads release the lock at each SQLite call, and would then wait for a whole
    interval of the event loop's thread.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


def freeze_memory() -> None:
    """Hide all current objects from the garbage collector: they live as long as the process.

    Otherwise each full collection, several a minute under load, examines all these objects and
    stops the process for a tenth of a second. For the same reason, nothing is collected here: a
    start leaves hardly any garbage.
    """
    gc.freeze()


def return_freed_memory() -> None:
    """Make glibc return memory after peaks; other allocators are not changed.

    Call this before the process starts its first thread.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def raise_file_limit() -> None:
    """Raise the limit of open files up to MOST_FILES, as far as the system allows."""
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


BACKLOG = 2048
IDLE_SECONDS = 20
"""Time for which a connection may be idle. Clients close sooner (httpx after five seconds):
otherwise a call that is sent just when we close would lose its answer."""

SEVERAL = {"::": ("::", "0.0.0.0"), "localhost": ("127.0.0.1", "::1")}  # noqa: S104 - the operator's choice
"""Hosts that mean several addresses, regardless of `/etc/hosts`."""

OTHER_PORTS = (8081, 8082)
PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)


class WebServer(uvicorn.Server):
    """uvicorn with bounded connections, and without its signal handlers, which end the process.

    `refused` is called with the status of each request that is refused before it can be read.
    """

    def __init__(
        self,
        app: ASGIApp,
        proxies: tuple[str, ...],
        patience: float,
        refused: Callable[[int], None] | None = None,
    ) -> None:
        self._refused = refused
        self._connections = connections.OpenConnections()
        super().__init__(
            uvicorn.Config(
                connections.FairTurns(app),
                lifespan="off",
                log_config=None,
                server_header=False,
                http=http_protocol.BoundedProtocol,
                ws="none",
                proxy_headers=True,
                forwarded_allow_ips=[_network(proxy) for proxy in proxies],
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=int(patience),
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen with our own accept loop, which survives a lack of file handles."""
        await super().startup([])
        acceptors = [Acceptor(one, self._make_protocol, self._connections) for one in sockets or ()]
        self.servers = acceptors  # type: ignore[assignment]  # they have the methods that uvicorn calls

    def _make_protocol(self) -> http_protocol.BoundedProtocol:
        made = http_protocol.BoundedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        made.refused, made.open_connections = self._refused, self._connections
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop gracefully; cancelled calls of slow clients are not logged as errors."""
        logger = logging.getLogger("uvicorn.error")
        logger.addFilter(_lower_level)
        try:
            await super().shutdown(sockets)
        finally:
            logger.removeFilter(_lower_level)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signals: the application handles them."""
        yield


def _lower_level(record: logging.LogRecord) -> bool:
    """Lower uvicorn's lines about cancelled calls to INFO; return False for lines to drop."""
    if record.getMessage().startswith("Cancel "):
        record.levelno, record.levelname = logging.INFO, "INFO"
    return logging.getLogger(record.name).isEnabledFor(record.levelno)


def _network(proxy: str) -> str:
    """Normalize a network: uvicorn takes 10.0.0.1/8 for a name, and would trust no proxy."""
    return proxy if proxy == "*" else str(ipaddress.ip_network(proxy, strict=False))


def listen(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for each address of a host; `::` includes the IPv4 addresses.

    IPv4 has its own socket: on a shared socket, IPv4 callers would look like IPv6, and no proxy
    would be trusted. Raises ConfigError if no address can be used.
    """
    opened: list[socket.socket] = []
    for family, address in _addresses(host, port):
        try:
            opened.append(socket.create_server(address, family=family, backlog=BACKLOG))
        except OSError as error:
            if error.errno not in PORT_ERRORS:
                continue  # another machine's address, or an IPv6 address on a machine without IPv6
            for one in opened:
                one.close()
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            reason = f"PORT: can't listen on {where} ({os.strerror(error.errno)})"
            other = next(one for one in OTHER_PORTS if one != port)
            raise errors.ConfigError(
                [f"{reason}: choose another port, such as PORT={other}"]
            ) from error
    if not opened:
        raise errors.ConfigError(
            [f"HOST: {host} is not an address of this machine: try 127.0.0.1 or 0.0.0.0"]
        )
    return opened


def _addresses(host: str, port: int) -> Iterator[tuple[socket.AddressFamily, Any]]:
    """Yield each address of a host once, with its family; nothing for an unknown name."""
    for name in SEVERAL.get(host, (host,)):
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue
        yield from dict.fromkeys((family, address) for family, _, _, _, address in found)
