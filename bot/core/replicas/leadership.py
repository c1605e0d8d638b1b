"""A replica's part in the lead of a role: won, held from beat to beat, and lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from bot.core.database import database


class LeaderElection:
    """Stands for the lead of a role; used on one event loop alone.

    `lost` is set when a lead that was won ends: another replica has it, or nobody knows, since the
    database was out of reach for too long. From then on `won` waits for the next one, which may
    have the same term.
    """

    def __init__(self, hand_over: Callable[[], Awaitable[None]]) -> None:
        self.lost = asyncio.Event()
        self._hand_over = hand_over
        self._held = asyncio.Event()
        self._lead: database.WriteLease | None = None
        self._taken: database.WriteLease | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until = float("-inf")

    @property
    def lead(self) -> database.WriteLease | None:
        """Return the lead that was won and not lost since; None while there is none."""
        return self._taken

    def holds(self, lead: database.WriteLease) -> bool:
        """Return whether a lead that was won is held at this moment.

        In a process that stood still this is known before `lost` is set.
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
        """Release the lead, and stop standing for it; another replica takes it at once.

        Call it when all work of the lead has ended.
        """
        self.end()
        await self._hand_over()

    def hold(self, lead: database.WriteLease, until: float) -> None:
        """Hold a lead until a moment (monotonic seconds), unless it is held again before."""
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
