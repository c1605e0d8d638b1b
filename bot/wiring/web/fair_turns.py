"""Fair turns of requests: few are active at a time, and every address gets its share.

The event loop runs each active request for a moment, then all the others. A thousand of them make
that round a second long, and alerts, which need many rounds, minutes late.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING

from bot.core.net.rates import subscriber_key

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

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
        key = subscriber_key(client[0]) if client else ""
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
