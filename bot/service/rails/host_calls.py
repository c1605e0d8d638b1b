"""Every call to a host first takes a slot from the host's budget.

Claiming an opening or a poll takes the slot of its first call. Each further call waits for a
reserved slot, so that the message can finish. Probes, and calls to hosts other than the wallet's,
wait until their purpose has a free slot. All calls give up after a few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.outbox import groups, host_budgets

log = structlog.get_logger()


@dataclass(slots=True)
class Claimed:
    """The calls that a claimed message may make."""

    host: str
    purpose: str
    left: int = 1
    """Calls to the host that the claim has already taken."""


_claimed: ContextVar[Claimed | None] = ContextVar("claimed", default=None)


@contextmanager
def claimed(host: str, purpose: str) -> Iterator[None]:
    """Count calls in the block for a claimed message, whose claim has taken the first call."""
    token = _claimed.set(Claimed(host, purpose))
    try:
        yield
    finally:
        _claimed.reset(token)


class HostCalls:
    """Takes calls from the budgets of hosts, and pauses calls if a host asks for a pause.

    `now` in epoch ms.
    """

    def __init__(
        self, db: database.Database, now: Callable[[], int], budget: host_budgets.HostBudget
    ) -> None:
        self._budget = budget
        self._db = db
        self._now = now
        self._closed: dict[str, int] = {}

    async def take(self, host: str) -> None:
        """Wait until a host may be called. Raises Throttled if that takes too long."""
        mine = _claimed.get()
        closed_for = self._closed.get(host, 0) - self._now()
        # A clock that was ahead may have closed the host for longer; that doesn't count.
        if 0 < closed_for <= host_budgets.LONGEST_CLOSED:
            raise _refusal(host, closed_for)
        self._closed.pop(host, None)
        if mine is not None and mine.host == host and mine.left:
            mine.left -= 1
            return
        reserves = mine.purpose if mine is not None and mine.host == host else None
        waited = 0
        try:
            while wait := await self._db.transaction(lambda tx: self._take(tx, host, reserves)):
                waited += wait
                if waited > host_budgets.LONGEST_WAIT:
                    raise _refusal(host, wait)
                await asyncio.sleep(wait / 1000)
                if reserves:
                    return
        except errors.StorageError as error:
            raise errors.Throttled(f"{host} is not called: {error}") from None

    async def close(self, host: str, seconds: float) -> None:
        """Stop calling a host for the number of seconds that it asks for."""
        wait = min(int(seconds * 1000), host_budgets.LONGEST_CLOSED)
        until = self._now() + wait
        if not until <= self._closed.get(host, 0) <= self._now() + host_budgets.LONGEST_CLOSED:
            log.warning("host asks for no calls", host=host, seconds=wait // 1000)
            self._closed[host] = until

        def store(tx: database.Transaction) -> None:
            groups.lock_budget(tx, host)
            groups.close_host(tx, host, until, self._now())
            tx.count("host_closings")

        await self._db.transaction_until_stored(store)

    def _take(self, tx: database.Transaction, host: str, reserves: str | None) -> int:
        """Take a call from the budget, and return the ms until the call may be made.

        If the call must wait, nothing is taken, unless a purpose `reserves` the call and the wait
        is short.
        """
        groups.lock_budget(tx, host)
        now, purpose = self._now(), reserves or host_budgets.OTHER
        usage = groups.read_budget(tx, self._budget, host, now)
        if reserves:
            at = self._budget.starts_at(usage, now)
        else:
            at = self._budget.opens_at(usage, purpose, now)
        if at > now and (not reserves or at > now + host_budgets.LONGEST_WAIT):
            tx.count("host_calls", purpose, "delayed")
            return at - now
        groups.store_budget(tx, host, usage, self._budget.take(usage, purpose, now))
        tx.count("host_calls", purpose, "taken")
        return at - now


def _refusal(host: str, wait: int) -> errors.Throttled:
    return errors.Throttled(f"{host} was called too often", wait / 1000)
