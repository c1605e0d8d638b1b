"""Ports of this machine that no other test gets."""

from __future__ import annotations

import atexit
import itertools
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below those that systems give to outgoing connections."""

PORTS = 150
"""Ports of one process of tests; it listens on the first and takes the others in turn."""


@cache
def _ports() -> Iterator[int]:
    """Return ports of this process alone: those that follow the first one it could listen on."""
    for first in range(FIRST_PORT, LAST_PORT, PORTS):
        with suppress(OSError):
            held = socket.create_server(("127.0.0.1", first))
            atexit.register(held.close)
            return itertools.cycle(range(first + 1, first + PORTS))
    raise AssertionError("nobody may have so many processes of tests")


def free_port() -> str:
    """Return a port on which nobody listens and that no other test gets."""
    for port in _ports():
        if not is_listened_to(port) and not _taken(port):
            return str(port)
    raise AssertionError


def is_listened_to(port: int) -> bool:
    """Return whether somebody accepts connections to a port of this machine."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return not probe.connect_ex(("127.0.0.1", port))


def _taken(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return True
    return False
