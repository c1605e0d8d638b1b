"""The queue of inline queries, in memory: few are answered at a time, the newest of each person.

Telegram sends one for each letter typed and drops late answers. So a query that can't be answered
soon is dropped: a person has one under way and the newest one waiting, all people together forty.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from bot.chat.telegram.intake import account_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from bot.core.outbox.queue_policy import Pace

log = structlog.get_logger()

AT_ONCE = 4
"""Queries answered at a time, each on its own connection."""

MAX_WAITING = 40
"""People whose query waits: as many as four connections answer within seconds."""


class InlineQueue:
    """Passes inline queries to `answer`, as often as `pace` allows."""

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], Coroutine[Any, Any, None]],
        count: Callable[..., None],
        pace: Pace | None = None,
    ) -> None:
        self._answer = answer
        self._count = count
        self._pace = pace
        self._arrival = 0
        self._waiting: dict[str, dict[str, Any]] = {}
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def take(self, update: dict[str, Any]) -> None:
        """Queue a query in place of a waiting one of the same person."""
        person = account_of(update)
        if person not in self._waiting and len(self._waiting) >= MAX_WAITING:
            self._drop(next(iter(self._waiting)))
        elif person in self._waiting:
            self._count("telegram_updates_handled", "dropped")
        self._waiting[person] = update
        self._start()

    async def close(self) -> None:
        """Drop waiting queries and cancel those under way."""
        self._waiting.clear()
        tasks = [*self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _drop(self, person: str) -> None:
        del self._waiting[person]
        self._count("telegram_updates_handled", "dropped")

    def _start(self) -> None:
        while len(self._under_way) < AT_ONCE and (person := self._next()) is not None:
            if wait := self._wait():
                self._start_later(wait)
                return
            task = asyncio.create_task(self._handle(self._waiting.pop(person)))
            self._under_way[person] = task
            task.add_done_callback(partial(self._on_answered, person))

    def _next(self) -> str | None:
        """Return the person who waits longest and has no query under way."""
        return next((one for one in self._waiting if one not in self._under_way), None)

    def _wait(self) -> int:
        """Return the milliseconds until the pace allows a query; 0 counts one as answered now."""
        if self._pace is None:
            return 0
        now = int(asyncio.get_running_loop().time() * 1000)
        if (wait := self._pace.next_at(self._arrival) - now) > 0:
            return wait
        self._arrival = self._pace.advance(self._arrival, now)
        return 0

    def _start_later(self, wait: int) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._start()

    def _on_answered(self, person: str, _task: asyncio.Task[None]) -> None:
        del self._under_way[person]
        self._start()

    async def _handle(self, update: dict[str, Any]) -> None:
        try:
            await self._answer(update)
        except Exception:
            log.exception("inline query not answered", id=update["update_id"])
