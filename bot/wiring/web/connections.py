"""The open connections of strangers: their limits, and which are closed to make room.

A fixed limit for each address would shut out a venue whose browsers share one. So an address may
have as many connections as there is room for; when room runs out, the address with the most loses
idle ones: a browser opens another one when it needs it.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from typing import Protocol

import structlog

log = structlog.get_logger()

MOST = 4096
"""Simultaneous connections, each of some tens of KiB at most."""

SHARE = 16
"""The divisor of the share that is closed at once, so that a flood of new connections doesn't
cost one search each."""

MOST_BYTES = 16 * 1024 * 1024
"""Bytes of requests, bodies and unread answers in memory, for all clients together. A client that
sends a request, reads the answer and sends the next needs hardly any."""

REMIND_SECONDS = 30.0
"""Between two log lines about connections closed to make room."""


class Connection(Protocol):
    """A connection, as the limits need it."""

    @property
    def owner(self) -> str:
        """Return the address of the payer, or of a proxy without a request."""

    @property
    def is_idle(self) -> bool:
        """Return whether it waits for the client and not for the application."""

    @property
    def size(self) -> int:
        """Return the bytes that are in memory for it."""

    def abort(self, reason: str) -> None:
        """Close it at once, for this reason."""


class OpenConnections:
    """The connections with their bytes in memory, in the order of their last requests."""

    def __init__(self) -> None:
        self._all: dict[Connection, int] = {}
        self._bytes = 0
        self._logged = float("-inf")

    def __len__(self) -> int:
        return len(self._all)

    def add(self, connection: Connection) -> None:
        """Add a connection, or move it to the end at a new request."""
        self._all[connection] = self._all.pop(connection, 0)

    def remove(self, connection: Connection) -> None:
        self._bytes -= self._all.pop(connection, 0)

    def make_room(self) -> bool:
        """Close idle connections of the addresses with the most; return whether there were any."""
        seen: Counter[str] = Counter()
        idle: list[tuple[int, int, Connection]] = []
        for age, connection in enumerate(reversed(self._all)):
            owner = connection.owner
            seen[owner] += 1
            if connection.is_idle:
                idle.append((seen[owner], age, connection))
        for _, _, connection in heapq.nlargest(1 + len(self._all) // SHARE, idle):
            self.remove(connection)
            connection.abort("room needed for others")
        if idle and time.monotonic() - self._logged >= REMIND_SECONDS:
            self._logged = time.monotonic()
            log.warning("connections closed to make room", open=len(self._all))
        return bool(idle)

    def update(self, connection: Connection) -> None:
        """Update the size of a connection, and close the largest if all are too large."""
        if connection not in self._all:
            return
        size = connection.size
        self._bytes += size - self._all[connection]
        self._all[connection] = size
        if self._bytes > MOST_BYTES:
            self._free_memory()

    def _free_memory(self) -> None:
        """Close connections of the address that takes the most memory."""
        self._all = {connection: connection.size for connection in self._all}
        self._bytes = sum(self._all.values())
        by_address: Counter[str] = Counter()
        for connection, size in self._all.items():
            by_address[connection.owner] += size
        largest_last = sorted(self._all, key=lambda one: (by_address[one.owner], self._all[one]))
        while self._bytes > MOST_BYTES * (SHARE - 1) // SHARE:
            connection = largest_last.pop()
            self.remove(connection)
            connection.abort("this client takes too much memory")
