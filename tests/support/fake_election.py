"""An election of the lead whose outcome the test decides."""

from __future__ import annotations

import asyncio
import time

from bot.core.database.database import WriteLease
from bot.core.replicas.replica import LeaderElection

HOUR = 3600


class FakeElection(LeaderElection):
    """Wins a lead at each `win`, until `lose`; `hand_overs` counts how often it was handed over.

    `is_candidate` is set while the replica wants to win: after a loss, once nothing of the lead
    runs.
    """

    def __init__(self) -> None:
        super().__init__(self._count)
        self.term = 0
        self.hand_overs = 0
        self.is_candidate = asyncio.Event()

    async def won(self) -> WriteLease:
        self.is_candidate.set()
        lead = await super().won()
        self.is_candidate.clear()
        return lead

    async def win(self) -> None:
        self.term += 1
        self.hold(WriteLease("replica", self.term), time.monotonic() + HOUR)
        await settle()

    async def lose(self) -> None:
        self.end()
        await settle()

    async def _count(self) -> None:
        self.hand_overs += 1


async def settle() -> None:
    """Let everything run that waits for no time and no other thread."""
    for _ in range(50):
        await asyncio.sleep(0)
