"""All connections of strangers: how many there may be, and who makes room for others.

A hard number an address would shut out a venue whose browsers share one. So everybody may have as
many connections as there is room for, and when room runs out the address that has the most gives
up those that rest: a browser opens another one when it needs it.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from typing import Protocol

import structlog

log = structlog.get_logger()

MOST = 4096
"""Connections at a time, each some tens of KiB at worst."""

SHARE = 16
"""One part in so many is closed at a time, so that a flood of newcomers doesn't cost a search
each."""

MOST_BYTES = 16 * 1024 * 1024
"""Bytes of requests, bodies and unread answers that are kept for all clients together. Next to
none are kept for who sends a request, reads its answer and sends the next."""


REMIND_SECONDS = 30.0
"""Between two lines in the log about connections that make room."""


class Connection(Protocol):
    """What is to be known of a connection."""

    @property
    def owner(self) -> str:
        """Whose it is: the address of a payer, or of a proxy that asks nothing just now."""

    @property
    def is_resting(self) -> bool:
        """Whether the client, and not the application, is what it waits for."""

    @property
    def weight(self) -> int:
        """The bytes that are kept for it."""

    def abort(self, reason: str) -> None:
        """Close it at once."""


class Crowd:
    """Connections with the bytes kept for each, the one that asked last at the end."""

    def __init__(self) -> None:
        self._all: dict[Connection, int] = {}
        self._bytes = 0
        self._logged = float("-inf")

    def __len__(self) -> int:
        return len(self._all)

    def add(self, connection: Connection) -> None:
        """Note that it came, or that it asks for something."""
        self._all[connection] = self._all.pop(connection, 0)

    def remove(self, connection: Connection) -> None:
        """Forget one that has ended."""
        self._bytes -= self._all.pop(connection, 0)

    def make_room(self) -> bool:
        """Close connections that rest, of the address that has most; whether there were any."""
        seen: Counter[str] = Counter()
        resting: list[tuple[int, int, Connection]] = []
        for age, connection in enumerate(reversed(self._all)):
            owner = connection.owner
            seen[owner] += 1
            if connection.is_resting:
                resting.append((seen[owner], age, connection))
        for _, _, connection in heapq.nlargest(1 + len(self._all) // SHARE, resting):
            self.remove(connection)
            connection.abort("others need the room")
        if resting and time.monotonic() - self._logged >= REMIND_SECONDS:
            self._logged = time.monotonic()
            log.warning("connections closed to make room", open=len(self._all))
        return bool(resting)

    def weigh(self, connection: Connection) -> None:
        """Note how much is kept for a connection, and close the heaviest where it is too much."""
        if connection not in self._all:
            return
        weight = connection.weight
        self._bytes += weight - self._all[connection]
        self._all[connection] = weight
        if self._bytes > MOST_BYTES:
            self._lighten()

    def _lighten(self) -> None:
        """Close connections of the address for which most is kept."""
        self._all = {connection: connection.weight for connection in self._all}
        self._bytes = sum(self._all.values())
        owed: Counter[str] = Counter()
        for connection, weight in self._all.items():
            owed[connection.owner] += weight
        by_owner = sorted(self._all, key=lambda one: (owed[one.owner], self._all[one]))
        while self._bytes > MOST_BYTES * (SHARE - 1) // SHARE:
            connection = by_owner.pop()
            self.remove(connection)
            connection.abort("too much is kept for this client")
