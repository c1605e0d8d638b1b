"""The web server, its listening sockets, fair turns of requests, and settings of the process."""

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
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import h11
import uvicorn

from bot.core import errors
from bot.core.database import database
from bot.core.net import rates

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


# Settings of the process: memory, open files, threads, signals.


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Each stops the process. SIGHUP comes when its terminal closes."""

SWITCH_SECONDS: dict[database.Engine, float] = {"sqlite": 0.0005, "postgresql": 0.0001}
"""Python's default is 0.005. A transaction on a server waits for the lock after each of its round
trips, on SQLite only after its commit."""

MOST_FILES = 65_536
"""The limit of open files to request, as each connection uses one; the usual limit is 1,024."""

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Parameters of glibc's mallopt(3)."""

ARENAS = 1
"""Number of heaps. Nearly all allocations happen under the interpreter's lock, so a heap for each
thread gains nothing, and each heap keeps the most memory that its thread ever needed."""

MAPPED_BYTES = 256 * 1024
"""An allocation of at least this size has its own mapping, which is returned when it is freed."""


def shorten_switch_interval(engine: database.Engine) -> None:
    """Shorten the time for which a busy thread keeps the interpreter's lock.

    The database threads release the lock at each call of the engine, and would then wait a whole
    interval of the event loop's thread.
    """
    sys.setswitchinterval(SWITCH_SECONDS[engine])


NEW_OBJECTS = 10_000
"""New objects after which the youngest are collected. A call leaves hundreds until it ends: with
Python's 700, the collector runs in the middle of each call and takes a twentieth of its time."""


def spare_collections() -> None:
    """Collect less often, and hide all current objects from the garbage collector.

    They live as long as the process. Otherwise each full collection, several a minute under load,
    examines all of them and stops the process for a tenth of a second. For the same reason,
    nothing is collected here: a start leaves hardly any garbage.
    """
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


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
    """Call `stop` on each of SIGNALS while the block runs.

    Under `nohup`, SIGHUP is ignored from the start and stays so: the process outlives its terminal.
    """
    loop = asyncio.get_running_loop()
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    heard = [one for one in SIGNALS if not (outlives and one is signal.SIGHUP)]
    for number in heard:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


# The server: uvicorn as it comes. The proxy (deploy/) times out clients that are slow.


MAX_HEAD = 32 * 1024
"""Bytes of a request line with its headers that wait for the rest."""

IDLE_SECONDS = 20
"""Time for which a connection may be idle. Clients and the proxies of deploy/ close sooner: a call
that is sent just when we close would lose its answer."""

EXPECTED = ("Cancel ", "Invalid HTTP request", "Unsupported upgrade", "No supported WebSocket")
"""How uvicorn's warnings and errors about clients begin: calls that a stop cancels, bytes that
aren't HTTP, upgrades."""

TOO_LATE = "can't handle event type"
"""How h11's error begins if a message doesn't fit the state of the connection."""


class WebServer(uvicorn.Server):
    """uvicorn, except that the application handles the signals.

    uvicorn would stop serving as soon as a signal arrives, and end the process by that signal.
    """

    def __init__(self, app: ASGIApp, proxies: tuple[str, ...], patience: float) -> None:
        """Prepare a server that trusts the addresses that `proxies` forward.

        When it stops, unfinished requests have `patience` seconds.
        """
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).addFilter(lower_level)
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",  # reads a pipeline request by request; httptools reads all of it
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=True,
                forwarded_allow_ips=[_network(proxy) for proxy in proxies],
                h11_max_incomplete_event_size=MAX_HEAD,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=int(patience),
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signals."""
        yield


def lower_level(record: logging.LogRecord) -> bool:
    """Filter of loggers: what clients cause is one line at INFO. Return False for lines to drop.

    uvicorn answers 400 to bytes that aren't HTTP even if an answer has begun; then h11 raises.
    """
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, h11.LocalProtocolError) and str(error).startswith(TOO_LATE):
        record.msg, record.args, record.exc_info = "client broke HTTP", (), None
    elif not record.getMessage().startswith(EXPECTED):
        return True
    record.levelno, record.levelname = logging.INFO, "INFO"
    return logging.getLogger(record.name).isEnabledFor(logging.INFO)


def _network(proxy: str) -> str:
    """Normalize a network: uvicorn takes 10.0.0.1/8 for a name, and would trust no proxy."""
    return proxy if proxy == "*" else str(ipaddress.ip_network(proxy, strict=False))


# The listening sockets.


BACKLOG = 2048

ACCEPTED = 16
"""Connections of a socket that are accepted in a round of the event loop."""

SEVERAL = {"::": ("::", "0.0.0.0"), "localhost": ("127.0.0.1", "::1")}  # noqa: S104 - the operator's choice
"""Hosts that mean several addresses, regardless of `/etc/hosts`."""

OTHER_PORTS = (8081, 8082)
PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)


def listen(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for each address of a host; `::` includes the IPv4 addresses.

    IPv4 has its own socket: on a shared socket, IPv4 callers would look like IPv6, and no proxy
    would be trusted. Raises ConfigError if no address can be used.
    """
    opened: list[socket.socket] = []
    for family, address in _addresses(host, port):
        try:
            listener = socket.create_server(address, family=family, backlog=BACKLOG)
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
        # Connections inherit this option: without it, an answer that is written in two parts may
        # wait 40 ms for the client's acknowledgement of the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.append(listener)
    if not opened:
        raise errors.ConfigError(
            [f"HOST: {host} is not an address of this machine: try 127.0.0.1 or 0.0.0.0"]
        )
    return opened


def several(sockets: list[socket.socket]) -> list[socket.socket]:
    """Return each socket ACCEPTED times, because uvloop accepts one connection of each in a round.

    Otherwise payers would wait for seconds behind a crowd of new connections.
    """
    return [*sockets, *(one.dup() for one in sockets for _ in range(ACCEPTED - 1))]


def _addresses(host: str, port: int) -> Iterator[tuple[socket.AddressFamily, Any]]:
    """Yield each address of a host once, with its family; nothing for an unknown name."""
    for name in SEVERAL.get(host, (host,)):
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue
        yield from dict.fromkeys((family, address) for family, _, _, _, address in found)


# Fair turns of requests: few are active at a time, and every address gets its share.
#
# The event loop runs each active request for a moment in turn. With a thousand requests, such a
# round takes a second, and alerts, which need many rounds, are minutes late.

AT_ONCE = 64
EACH = 32
"""The most active requests: in all, and of one address."""

TICK_SECONDS = 0.02
"""Seconds between two checks of the active requests, while others wait."""

TURN_TICKS = 5
"""Ticks for which a request counts as active. After that, it waits for its client or a timer, not
for the event loop. If the limit were in seconds, a busy loop would expire requests that have not
run yet."""


class FairTurns:
    """ASGI middleware that limits the number of active requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._active: dict[object, tuple[str, int]] = {}
        self._ticks = 0
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[object]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        key = rates.subscriber_key(client[0]) if client else ""
        is_free = not self._waiting and self._has_room(key)
        turn = self._begin(key) if is_free else await self._wait(key)
        try:
            await self._app(scope, receive, send)
        finally:
            # Ended in the next round: most requests never wait, so otherwise all of them would fit
            # in one round.
            asyncio.get_running_loop().call_soon(self._end, turn)

    def _has_room(self, key: str) -> bool:
        return len(self._active) < AT_ONCE and self._counts[key] < EACH

    def _begin(self, key: str) -> object:
        turn = object()
        self._active[turn] = key, self._ticks
        self._counts[key] += 1
        return turn

    async def _wait(self, key: str) -> object:
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[object] = loop.create_future()
        self._waiting.setdefault(key, deque()).append(mine)
        self._admit()
        if self._timer is None:
            self._timer = loop.call_later(TICK_SECONDS, self._expire)
        try:
            return await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._end(mine.result())
            raise

    def _end(self, turn: object) -> None:
        self._forget(turn)
        self._admit()

    def _forget(self, turn: object) -> None:
        """Stop counting a request, if it still counts."""
        if turn not in self._active:
            return
        key, _ = self._active.pop(turn)
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def _admit(self) -> None:
        """While there is room, start waiting requests, one of each address in turn."""
        admitted = True
        while admitted and self._waiting:
            admitted = False
            for key, turns in tuple(self._waiting.items()):
                if len(self._active) >= AT_ONCE:
                    return
                if self._has_room(key):
                    admitted = True
                    mine = turns.popleft()
                    if not mine.done():  # else it was cancelled
                        mine.set_result(self._begin(key))
                    del self._waiting[key]
                    if turns:
                        self._waiting[key] = turns  # the last address now

    def _expire(self) -> None:
        """Stop counting requests that have been active for long, if others wait."""
        self._timer = None
        self._ticks += 1
        before = self._ticks - TURN_TICKS
        for turn in [one for one, (_, began) in self._active.items() if began <= before]:
            self._forget(turn)
        self._admit()
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(TICK_SECONDS, self._expire)
