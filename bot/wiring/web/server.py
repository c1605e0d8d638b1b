"""The web server, and the socket it listens on."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import logging
import os
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from bot.core.errors import ConfigError
from bot.wiring.web.accept_loop import Acceptor
from bot.wiring.web.connections import OpenConnections
from bot.wiring.web.fair_turns import FairTurns
from bot.wiring.web.protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

BACKLOG = 2048
IDLE_SECONDS = 20
"""For which a connection may be idle: longer than clients keep theirs (httpx five seconds), or a
call that is sent just when we close would lose its answer."""

SEVERAL = {"::": ("::", "0.0.0.0"), "localhost": ("127.0.0.1", "::1")}  # noqa: S104 - the operator's choice
"""Hosts that stand for several addresses, whatever `/etc/hosts` says."""

OTHER_PORTS = (8081, 8082)
PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)


class WebServer(uvicorn.Server):
    """uvicorn with bounded connections, and without its signal handlers, which end the process.

    `refused` is called with the status of each request that is refused before it can be read. The
    socket `own` is for our own calls, which never queue behind strangers: these get `public`
    instead of `app`, if that is given.
    """

    def __init__(
        self,
        app: ASGIApp,
        proxies: tuple[str, ...],
        patience: float,
        refused: Callable[[int], None] | None = None,
        own: socket.socket | None = None,
        *,
        public: ASGIApp | None = None,
    ) -> None:
        self._app = app
        self._refused = refused
        self._own = own
        self._connections = OpenConnections()
        super().__init__(
            uvicorn.Config(
                FairTurns(public or app),
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
        """Listen with our own accept loop, which survives a lack of file handles."""
        await super().startup([])
        acceptors = [
            Acceptor(one, partial(self._make_protocol, self._connections), self._connections)
            for one in sockets or ()
        ]
        if self._own is not None:
            acceptors.append(Acceptor(self._own, self._make_protocol))
        self.servers = acceptors  # type: ignore[assignment]  # they have the methods that uvicorn calls

    def _make_protocol(self, connections: OpenConnections | None = None) -> BoundedProtocol:
        made = BoundedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        made.refused, made.open_connections = self._refused, connections
        if connections is None:
            made.app = self._app
        return made

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop gracefully; cancelled calls of slow clients are no errors in the log."""
        logger = logging.getLogger("uvicorn.error")
        logger.addFilter(_lower_level)
        try:
            await super().shutdown(sockets)
        finally:
            if self._own is not None:
                self._own.close()
            logger.removeFilter(_lower_level)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signals: the application does."""
        yield


def _lower_level(record: logging.LogRecord) -> bool:
    """Reduce uvicorn's lines about cancelled calls to INFO; return whether to log them at all."""
    if record.getMessage().startswith("Cancel "):
        record.levelno, record.levelname = logging.INFO, "INFO"
    return logging.getLogger(record.name).isEnabledFor(record.levelno)


def _network(proxy: str) -> str:
    """Normalize a network for uvicorn, which takes 10.0.0.1/8 for a name and trusts no proxy."""
    return proxy if proxy == "*" else str(ipaddress.ip_network(proxy, strict=False))


def listen(host: str, port: int) -> list[socket.socket]:
    """Open a listening socket for each address of a host; `::` stands for those of IPv4 too.

    These have a socket of their own: on one for both, callers over IPv4 would look like IPv6 and no
    proxy would be trusted. Raises ConfigError if none can be used.
    """
    opened: list[socket.socket] = []
    for family, address in _addresses(host, port):
        try:
            opened.append(socket.create_server(address, family=family, backlog=BACKLOG))
        except OSError as error:
            if error.errno not in PORT_ERRORS:
                continue  # another machine's address, or one of IPv6 where there is none
            for one in opened:
                one.close()
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            reason = f"PORT: can't listen on {where} ({os.strerror(error.errno)})"
            other = next(one for one in OTHER_PORTS if one != port)
            raise ConfigError([f"{reason}: choose another port, such as PORT={other}"]) from error
    if not opened:
        raise ConfigError(
            [f"HOST: {host} is not an address of this machine: try 127.0.0.1 or 0.0.0.0"]
        )
    return opened


def _addresses(host: str, port: int) -> Iterator[tuple[socket.AddressFamily, Any]]:
    """Yield the addresses of a host, each once and with its family; none for an unknown name."""
    for name in SEVERAL.get(host, (host,)):
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue
        yield from dict.fromkeys((family, address) for family, _, _, _, address in found)
