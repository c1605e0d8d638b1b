"""Requests take turns: only some are worked on at a time, and every address gets its share.

The event loop runs each request that is under way for a moment, then all the others. A thousand at
once make that round a second long, and alerts, which need many rounds, minutes late.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING

from bot.service.api.limits import payer_key

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

AT_ONCE = 32
EACH = 16
"""Requests worked on at a time, and those of one address."""

TURN_SECONDS = 0.1
"""How long a request counts: after that it waits for its client or for a timer, not for us."""


class Turns:
    """ASGI application around another one that is asked by few at a time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._under_way: dict[object, tuple[str, float]] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[object]]] = {}
        self._alarm: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as soon as it is its turn."""
        client = scope.get("client")
        key = payer_key(client[0]) if client else ""
        turn = self._begin(key) if self._is_free(key) else await self._wait(key)
        try:
            await self._app(scope, receive, send)
        finally:
            self._end(turn)

    def _is_free(self, key: str) -> bool:
        return len(self._under_way) < AT_ONCE and self._counts[key] < EACH

    def _begin(self, key: str) -> object:
        turn = object()
        self._under_way[turn] = key, asyncio.get_running_loop().time()
        self._counts[key] += 1
        return turn

    async def _wait(self, key: str) -> object:
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[object] = loop.create_future()
        self._waiting.setdefault(key, deque()).append(mine)
        if self._alarm is None:
            self._alarm = loop.call_later(TURN_SECONDS, self._expire)
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
        """Begin what waits, one of each address after the other."""
        skipped = 0
        while self._waiting and len(self._under_way) < AT_ONCE and skipped <= AT_ONCE // EACH:
            key = next(iter(self._waiting))
            queue = self._waiting.pop(key)
            if self._counts[key] >= EACH:
                skipped += 1
            elif not (mine := queue.popleft()).done():
                mine.set_result(self._begin(key))
            if queue:
                self._waiting[key] = queue

    def _expire(self) -> None:
        """Count those no more that have been under way for long, while others wait."""
        loop = asyncio.get_running_loop()
        self._alarm = None
        before = loop.time() - TURN_SECONDS
        for turn in [one for one, (_, began) in self._under_way.items() if began <= before]:
            self._forget(turn)
        self._admit()
        if self._waiting:
            self._alarm = loop.call_later(TURN_SECONDS, self._expire)
