"""The open connections of strangers: their limits, and which are closed to make room.

A fixed limit for each address would shut out a venue whose browsers share one. So an address may
have as many connections as there is room for; when room runs out, the address with the most loses
idle ones: a browser opens another one when it needs it.
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


# Fair turns of requests: few are active at a time, and every address gets its share.
#
# The event loop runs each active request for a moment, then all the others. A thousand of them
# make that round a second long, and alerts, which need many rounds, minutes late.


AT_ONCE = 64
EACH = 32
"""Active requests: all, and those of one address."""

TICK_SECONDS = 0.02
"""Between two checks of the active requests, while others wait."""

TURN_TICKS = 5
"""Ticks for which a request counts as active: after that it waits for its client or a timer, not
for the event loop. Measured in seconds, a busy loop would drop requests that have not run yet."""


class FairTurns:
    """ASGI middleware that passes on few requests at a time."""

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
            # In the next round: most requests never wait, so that all of them would fit in one.
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
        """Start waiting requests, one of each address in turn, while there is room."""
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
        """Start the first request of an address, unless it was cancelled; the others are next."""
        del self._waiting[key]
        mine = turns.popleft()
        if not mine.done():
            mine.set_result(self._begin(key))
        if turns:
            self._waiting[key] = turns

    def _expire(self) -> None:
        """Stop counting requests that have been active for long, while others wait."""
        self._timer = None
        self._ticks += 1
        before = self._ticks - TURN_TICKS
        for turn in [one for one, (_, began) in self._active.items() if began <= before]:
            self._forget(turn)
        self._admit()
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(TICK_SECONDS, self._expire)
