"""Limits on the open connections of clients, and the choice of connections to close.

A fixed limit per address would shut out a venue whose browsers share an address. So an address may
have as many connections as there is room for. When room runs out, idle connections of the address
with the most are closed; a browser opens a new connection when it needs one.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Protocol

import structlog

from bot.core.net import rates

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


log = structlog.get_logger()

MOST = 4096
"""The most simultaneous connections; each takes some tens of KiB at most."""

SHARE = 16
"""One in this many connections is closed at once, so that a flood of new connections doesn't cost a
search for each."""

MOST_BYTES = 16 * 1024 * 1024
"""The most bytes of requests, bodies and unread answers in memory, for all clients together. A
client that reads each answer before it sends the next request needs hardly any memory."""

REMIND_SECONDS = 30.0
"""Seconds between two log lines about connections closed to make room."""


class Connection(Protocol):
    """The part of a connection that the limits use."""

    @property
    def owner(self) -> str:
        """Return the client's address; the proxy's address if there is no request yet."""

    @property
    def is_idle(self) -> bool:
        """True if the connection waits for the client and not for the application."""

    @property
    def size(self) -> int:
        """Return the number of bytes in memory for the connection."""

    def abort(self, reason: str) -> None:
        """Close the connection at once."""


class OpenConnections:
    """The open connections with their bytes in memory, in the order of their last requests."""

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
        """Close idle connections of the addresses with the most; return True if any were closed."""
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
        """Update a connection's size; free memory if all connections together are too large."""
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
                    self._admit_one(key, turns)
                    admitted = True

    def _admit_one(self, key: str, turns: deque[asyncio.Future[object]]) -> None:
        """Start an address's first request, unless it was cancelled; queue the address last."""
        del self._waiting[key]
        mine = turns.popleft()
        if not mine.done():
            mine.set_result(self._begin(key))
        if turns:
            self._waiting[key] = turns

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
