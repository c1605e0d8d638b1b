"""The lead of a role: how a replica wins it, holds it from beat to beat, and loses it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from bot.core.database import database


class LeaderElection:
    """A replica's candidacy for the lead of a role; used on one event loop."""

    def __init__(self, hand_over: Callable[[], Awaitable[None]]) -> None:
        self.lost = asyncio.Event()
        """Set when a won lead ends because another replica has it, or may have it because the
        database was unreachable for too long. The next lead may have the same term."""
        self._hand_over = hand_over
        self._held = asyncio.Event()
        self._lead: database.WriteLease | None = None  # currently held by this replica
        self._taken: database.WriteLease | None = None  # returned by `won` and not yet lost
        self._timer: asyncio.TimerHandle | None = None
        self._until = float("-inf")

    @property
    def lead(self) -> database.WriteLease | None:
        """Return the lead that was won and not yet lost, or None."""
        return self._taken

    def holds(self, lead: database.WriteLease) -> bool:
        """Return whether a won lead is held at this moment.

        If the process was suspended for a while, this returns False even before `lost` is set.
        """
        return self._taken == lead and time.monotonic() < self._until

    async def won(self) -> database.WriteLease:
        """Wait until this replica leads; return its lead."""
        while self._lead is None:
            self._held.clear()
            await self._held.wait()
        self.lost.clear()
        self._taken = self._lead
        return self._lead

    async def hand_over(self) -> None:
        """Release the lead and leave the election; another replica takes over immediately.

        Call it once all work of the lead has ended.
        """
        self.end()
        await self._hand_over()

    def hold(self, lead: database.WriteLease, until: float) -> None:
        """Hold a lead until a time (monotonic seconds); a later call extends it."""
        if self._taken is not None and self._taken != lead:
            self.end()
        delay = until - time.monotonic()
        if delay <= 0:
            return
        self._cancel_timer()
        self._lead, self._until = lead, until
        self._held.set()
        self._timer = asyncio.get_running_loop().call_later(delay, self.end)

    def end(self) -> None:
        """End the lead, if there is one."""
        self._cancel_timer()
        self._lead = None
        if self._taken is not None:
            self._taken = None
            self.lost.set()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
