"""The lead's life: its parts run from each lead that is won until that is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.slices import Lead
    from bot.core.replicas.standing import Standing
    from bot.wiring.app.running_parts import RunningParts

log = structlog.get_logger()

LOST_PATIENCE = 0.5
"""Seconds for calls under way once the lead is lost: two seconds later another replica leads."""


class Leadership:
    """Runs the parts that `begin` starts for each lead that `standing` wins.

    `begin` is called with the lead and with a new set of parts, which it starts.
    """

    def __init__(
        self,
        standing: Standing,
        begin: Callable[[Lead, RunningParts], None],
        parts: Callable[[], RunningParts],
    ) -> None:
        self.parts: RunningParts | None = None
        self._standing = standing
        self._begin = begin
        self._make_parts = parts
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """Return whether this process leads."""
        return self.parts is not None

    def holds(self, lead: Lead) -> bool:
        """Return whether a lead that was won is held at this moment."""
        return self._standing.holds(lead)

    def ended(self) -> list[str]:
        """Return the names of the lead's queues whose workers have ended before their stop."""
        return self.parts.ended() if self.parts is not None else []

    async def run(self) -> None:
        """Run the parts whenever the lead is won, until `stop`."""
        self._task = asyncio.current_task()
        while True:
            lead = await self._standing.won()
            if lead.term:  # a process alone has none
                log.info("lead won", term=lead.term)
            self.parts = self._make_parts()
            self._begin(lead, self.parts)
            await self._standing.lost.wait()
            log.warning("lead lost", term=lead.term)
            await self._end(LOST_PATIENCE)

    async def stop(self, patience: float) -> None:
        """Stop the lead's parts, and hand the lead over."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._end(patience)
        finally:
            await self._standing.hand_over()

    async def _end(self, patience: float) -> None:
        if self.parts is not None:
            await self.parts.stop(patience)
            self.parts = None
