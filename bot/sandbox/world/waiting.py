"""Waiting for something to happen in the world, without polling."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Bell:
    """Rung at every change; whoever waits looks again. Closing it ends all waits at once.

    Belongs to one event loop, like the world that it serves.
    """

    def __init__(self) -> None:
        self.closed = False
        self._waiting: dict[asyncio.Future[None], None] = {}  # in the order of coming

    def ring(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        self.closed = True
        self.ring()

    async def until(self, look: Callable[[], T], seconds: float) -> T:
        """Wait for a truthy `look()`; its last value when time is up or the bell is closed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not (seen := look()) and not self.closed and loop.time() < deadline:
            await self._once(deadline)
        return seen

    async def pause(self, seconds: float) -> None:
        """Wait, at most until the world is closed."""
        await self.until(lambda: False, seconds)

    async def _once(self, deadline: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        try:
            async with asyncio.timeout_at(deadline):
                await future
        except TimeoutError:
            return
        finally:
            self._waiting.pop(future, None)
