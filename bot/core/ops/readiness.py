"""Whether this process can do its work, asked of everything that it leans on.

What is needed to take a payment makes it not ready. What messages can wait for in the outbox is
only told: a pay page is not to be taken out of service because a mail server rests.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Check: TypeAlias = "Callable[[], Awaitable[str | None]]"

CHECK_SECONDS = 2.0
"""How long an answer waits for a check."""

LOOK_SECONDS = 10.0
"""How long another server has for its answer; who asked us is not kept waiting for it."""

FRESH_SECONDS = 30.0
"""How long what another server said is told again without asking it."""

OK, DEGRADED, NOT_READY = "ok", "degraded", "not ready"


class CachedCheck:
    """A check of another server: made once at a time and now and then, however many ask."""

    def __init__(
        self, check: Check, clock: Callable[[], float] = time.monotonic, *, well: bool = False
    ) -> None:
        """`well` where it is known to be so at first, and nobody has to wait for an answer."""
        self._check = check
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._found: str | None = None if well else "no answer yet"
        self._well = well
        self._looked_at = float("-inf")

    async def __call__(self) -> str | None:
        """Give what was found last; the first to ask in a while waits for the answer."""
        if self._task is None and self._clock() - self._looked_at >= FRESH_SECONDS:
            self._task = asyncio.create_task(self._look())
        if self._task is not None and not self._well:
            await asyncio.wait({self._task}, timeout=CHECK_SECONDS)
        return self._found

    async def close(self) -> None:
        """End the look under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self) -> None:
        try:
            self._found = await run_check(self._check, LOOK_SECONDS)
        finally:
            self._looked_at, self._task, self._well = self._clock(), None, False


@dataclass(slots=True)
class Readiness:
    """Checks by name; each answers None when well, else what is wrong, for everybody to read.

    `needed` are asked each time, `beside` are those of other servers.
    """

    needed: dict[str, Check] = field(default_factory=dict)
    beside: dict[str, CachedCheck] = field(default_factory=dict)

    def watch(self, name: str, check: Check) -> None:
        """Tell of another server, too; one that is needed at first was just reached then."""
        self.beside[name] = CachedCheck(check, well=name in self.needed)

    async def ask(self) -> tuple[str, dict[str, str]]:
        """Give `OK`, `DEGRADED` or `NOT_READY`, and what each check says; never raises.

        A check that is needed goes before one of the same name that is not: what was never reached
        is not asked how it is.
        """
        limits = [run_check(check, CHECK_SECONDS) for check in self.needed.values()]
        needed = dict(zip(self.needed, await asyncio.gather(*limits), strict=True))
        looks = {name: look() for name, look in self.beside.items() if not needed.get(name)}
        beside = dict(zip(looks, await asyncio.gather(*looks.values()), strict=True))
        told = {name: needed.get(name) or beside.get(name) or OK for name in {**beside, **needed}}
        if any(needed.values()):
            return NOT_READY, told
        return DEGRADED if any(beside.values()) else OK, told

    async def close(self) -> None:
        """End what is under way."""
        await asyncio.gather(*(glance.close() for glance in self.beside.values()))


async def run_check(check: Check, seconds: float) -> str | None:
    """Give what a check says; what it raises is told by name alone, for everybody may read it."""
    try:
        async with asyncio.timeout(seconds):
            return await check()
    except Exception as error:  # noqa: BLE001 - whatever fails is a finding
        return type(error).__name__
