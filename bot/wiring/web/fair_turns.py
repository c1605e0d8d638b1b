"""Requests take turns: only some are worked on at a time, and every address gets its share.

The event loop runs each request that is under way for a moment, then all the others. A thousand at
once make that round a second long, and alerts, which need many rounds, minutes late.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING

from bot.core.net.subscriber import subscriber_key

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

AT_ONCE = 64
EACH = 32
"""Requests worked on at a time, and those of one address."""

TICK_SECONDS = 0.02
"""Between two looks at what is under way, while others wait."""

TURN_TICKS = 5
"""Looks, TICK_SECONDS apart, for which a request counts: after that it waits for its client or for
a timer, not for us. In time alone a busy loop would forget those that it has not come to yet."""


class Turns:
    """ASGI application around another one that is asked by few at a time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._under_way: dict[object, tuple[str, int]] = {}
        self._ticks = 0
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[object]]] = {}
        self._alarm: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as soon as it is its turn."""
        client = scope.get("client")
        key = subscriber_key(client[0]) if client else ""
        is_free = not self._waiting and self._has_room(key)
        turn = self._begin(key) if is_free else await self._wait(key)
        try:
            await self._app(scope, receive, send)
        finally:
            # In the next round of the loop: most requests never wait, and would all fit into one.
            asyncio.get_running_loop().call_soon(self._end, turn)

    def _has_room(self, key: str) -> bool:
        return len(self._under_way) < AT_ONCE and self._counts[key] < EACH

    def _begin(self, key: str) -> object:
        turn = object()
        self._under_way[turn] = key, self._ticks
        self._counts[key] += 1
        return turn

    async def _wait(self, key: str) -> object:
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[object] = loop.create_future()
        self._waiting.setdefault(key, deque()).append(mine)
        self._admit()
        if self._alarm is None:
            self._alarm = loop.call_later(TICK_SECONDS, self._expire)
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
        """Count a request no more; one that took long is not counted already."""
        if turn not in self._under_way:
            return
        key, _ = self._under_way.pop(turn)
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def _admit(self) -> None:
        """Begin what waits, one of each address after the other, as long as there is room."""
        admitted = True
        while admitted and self._waiting:
            admitted = False
            for key, turns in tuple(self._waiting.items()):
                if len(self._under_way) >= AT_ONCE:
                    return
                if self._has_room(key):
                    self._admit_one(key, turns)
                    admitted = True

    def _admit_one(self, key: str, turns: deque[asyncio.Future[object]]) -> None:
        """Begin the first that waits, if it still does; then it is the others' turn."""
        del self._waiting[key]
        mine = turns.popleft()
        if not mine.done():
            mine.set_result(self._begin(key))
        if turns:
            self._waiting[key] = turns

    def _expire(self) -> None:
        """Count those no more that have been under way for long, while others wait."""
        self._alarm = None
        self._ticks += 1
        before = self._ticks - TURN_TICKS
        for turn in [one for one, (_, began) in self._under_way.items() if began <= before]:
            self._forget(turn)
        self._admit()
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(TICK_SECONDS, self._expire)
