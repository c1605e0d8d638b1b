"""Fair turns of requests: few are active at a time, and every address gets its share.

The event loop runs each active request for a moment in turn. With a thousand requests, such a round
takes a second, and alerts, which need many rounds, are minutes late.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING

from bot.core.net import rates

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


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
