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

from bot.core.ops.replica_state import ALONE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Check: TypeAlias = "Callable[[], Awaitable[str | None]]"

CHECK_SECONDS = 2.0
"""For which an answer waits for a check."""

SERVER_SECONDS = 10.0
"""For which a check waits for another server, longer than our own answer waits for the check."""

FRESH_SECONDS = 30.0
"""For which the result of a check of another server is reused."""

OK, DEGRADED, NOT_READY = "ok", "degraded", "not ready"
STOPPING = {"process": "stopping"}
"""The checks of a process that was told to stop: load balancers send their payers elsewhere."""


class CachedCheck:
    """A check of another server, run once in a while, however often it is called.

    `known` returns what is wrong without asking, as of a server that was never reached.
    """

    def __init__(
        self,
        check: Check,
        clock: Callable[[], float] = time.monotonic,
        *,
        known: Callable[[], str | None] | None = None,
    ) -> None:
        self._check = check
        self._clock = clock
        self._known = known or _nothing
        self._task: asyncio.Task[None] | None = None
        # One that is known to be reached counts as answering, so that the first call need not wait.
        self._result: str | None = None if known else "no answer yet"
        self._is_ok = known is not None
        self._checked_at = float("-inf")

    async def __call__(self) -> str | None:
        """Return the last result; the first call after a while waits for a new one."""
        if problem := self._known():
            return problem
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

    `needed` are run each time. So are `at_first` while this process leads and has not been ready.
    `servers` are those of other servers; one with the name of an `at_first` is the lead's alone.
    """

    needed: dict[str, Check] = field(default_factory=dict)
    at_first: dict[str, Check] = field(default_factory=dict)
    servers: dict[str, CachedCheck] = field(default_factory=dict)
    leads: Callable[[], bool] = ALONE.leads
    is_stopping: bool = False
    _was_ready: bool = False

    def watch(self, name: str, check: Check, known: Callable[[], str | None] | None = None) -> None:
        """Add the check of another server; `known` returns what is wrong without asking it."""
        self.servers[name] = CachedCheck(check, known=known)

    async def ask(self) -> tuple[str, dict[str, str]]:
        """Return `OK`, `DEGRADED` or `NOT_READY`, and the result of each check; never raises.

        If a needed check fails, a server's check of the same name is not run.
        """
        if self.is_stopping:
            return NOT_READY, STOPPING
        needed = await _run_all(self._needed_now())
        servers = await _ask_all(self._servers_now(needed))
        every = {**servers, **needed}
        results = {name: needed.get(name) or servers.get(name) or OK for name in every}
        if any(needed.values()):
            return NOT_READY, results
        self._was_ready = True
        return DEGRADED if any(servers.values()) else OK, results

    def _needed_now(self) -> dict[str, Check]:
        is_starting = self.leads() and not self._was_ready
        return self.needed | self.at_first if is_starting else self.needed

    def _servers_now(self, needed: Mapping[str, str | None]) -> dict[str, CachedCheck]:
        of_others = self.at_first.keys() if not self.leads() else ()
        return {
            name: check
            for name, check in self.servers.items()
            if not needed.get(name) and name not in of_others
        }

    async def close(self) -> None:
        await asyncio.gather(*(check.close() for check in self.servers.values()))


def _nothing() -> None:
    return None


async def _run_all(checks: Mapping[str, Check]) -> dict[str, str | None]:
    results = await asyncio.gather(*(run_check(one, CHECK_SECONDS) for one in checks.values()))
    return dict(zip(checks, results, strict=True))


async def _ask_all(checks: Mapping[str, CachedCheck]) -> dict[str, str | None]:
    results = await asyncio.gather(*(check() for check in checks.values()))
    return dict(zip(checks, results, strict=True))


async def run_check(check: Check, seconds: float) -> str | None:
    """Return the result of a check; of an exception the name alone, because anyone may read it."""
    try:
        async with asyncio.timeout(seconds):
            return await check()
    except Exception as error:  # noqa: BLE001 - any failure is a result
        return type(error).__name__
