"""Readiness: whether this process can do its work, by checks of everything it depends on.

A failed check of what a payment needs makes the process not ready. Other servers, for which
messages can wait in the outbox, only degrade it: a mail server that is down must not take the pay
pages out of service.
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
"""For which an answer waits for a check."""

SERVER_SECONDS = 10.0
"""For which a check waits for another server, longer than our own answer waits for the check."""

FRESH_SECONDS = 30.0
"""For which the result of a check of another server is reused."""

OK, DEGRADED, NOT_READY = "ok", "degraded", "not ready"


class CachedCheck:
    """A check of another server, run once in a while, however often it is called."""

    def __init__(
        self, check: Check, clock: Callable[[], float] = time.monotonic, *, ok: bool = False
    ) -> None:
        """Assume success at first if `ok`, so that the first call waits for nothing."""
        self._check = check
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._result: str | None = None if ok else "no answer yet"
        self._is_ok = ok
        self._checked_at = float("-inf")

    async def __call__(self) -> str | None:
        """Return the last result; the first call after a while waits for a new one."""
        if self._task is None and self._clock() - self._checked_at >= FRESH_SECONDS:
            self._task = asyncio.create_task(self._run())
        if self._task is not None and not self._is_ok:
            await asyncio.wait({self._task}, timeout=CHECK_SECONDS)
        return self._result

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            self._result = await run_check(self._check, SERVER_SECONDS)
        finally:
            self._checked_at, self._task, self._is_ok = self._clock(), None, False


@dataclass(slots=True)
class Readiness:
    """Checks by name; each returns None or what is wrong, in words that anyone may read.

    `needed` are run each time, `servers` are those of other servers.
    """

    needed: dict[str, Check] = field(default_factory=dict)
    servers: dict[str, CachedCheck] = field(default_factory=dict)

    def watch(self, name: str, check: Check) -> None:
        """Add the check of another server; one that is also needed at first was reached by then."""
        self.servers[name] = CachedCheck(check, ok=name in self.needed)

    async def ask(self) -> tuple[str, dict[str, str]]:
        """Return `OK`, `DEGRADED` or `NOT_READY`, and the result of each check; never raises.

        If a needed check fails, a server's check of the same name is not run: a server that was
        never reached has no state.
        """
        checks = [run_check(check, CHECK_SECONDS) for check in self.needed.values()]
        needed = dict(zip(self.needed, await asyncio.gather(*checks), strict=True))
        asked = {name: check() for name, check in self.servers.items() if not needed.get(name)}
        servers = dict(zip(asked, await asyncio.gather(*asked.values()), strict=True))
        every = {**servers, **needed}
        results = {name: needed.get(name) or servers.get(name) or OK for name in every}
        if any(needed.values()):
            return NOT_READY, results
        return DEGRADED if any(servers.values()) else OK, results

    async def close(self) -> None:
        await asyncio.gather(*(check.close() for check in self.servers.values()))


async def run_check(check: Check, seconds: float) -> str | None:
    """Return the result of a check; of an exception the name alone, because anyone may read it."""
    try:
        async with asyncio.timeout(seconds):
            return await check()
    except Exception as error:  # noqa: BLE001 - any failure is a result
        return type(error).__name__
