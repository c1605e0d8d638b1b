"""The check that a payment can be stored: a read, then a write of a payment's size."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from bot.core.database.sqlite.writer import MAX_GROUP
from bot.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.core.health import Health

PROVEN_SECONDS = 1.0
"""The time for which a result is returned again, so that frequent checks cost nothing."""

PAYMENT_BYTES = 128 * 1024
"""The most bytes that a payment writes: the pages of its rows and their indexes, about 25."""

COMMIT_BYTES = MAX_GROUP * 64 * 1024
"""The most bytes that one commit of a full group of payments writes.

Measured: 28 KiB a payment in a small database. A smaller write may fit in the space that a failed
commit left in the -wal, and proves nothing.
"""


class StorageCheck:
    """The check of a file; once a commit has failed, a write of `COMMIT_BYTES` has to succeed.

    After any failed commit, of a payment or of a probe, a small write that succeeds proves nothing.
    `query` reads from the file, `probe` writes so many bytes to it, `health` has its failures.
    """

    def __init__(
        self,
        query: Callable[[str], Awaitable[object]],
        probe: Callable[[int], Awaitable[None]],
        health: Health,
    ) -> None:
        self._query, self._probe, self._health = query, probe, health
        self._clock = time.monotonic
        self._probing = asyncio.Lock()
        self._failures = 0
        self._proven_at = self._refused_at = float("-inf")
        self._refusal = ""

    async def __call__(self) -> str | None:
        """Return None, or the database's reason why nothing can be stored."""
        try:
            await self._query("SELECT 1 AS one")
            async with self._probing:
                await self._prove()
        except StorageError as error:
            return str(error)
        return None

    async def _prove(self) -> None:
        failures, now = self._health.failures, self._clock()
        is_doubted = failures != self._failures
        if is_doubted and now - self._refused_at < PROVEN_SECONDS:
            raise StorageError(self._refusal)
        if not is_doubted and now - self._proven_at < PROVEN_SECONDS:
            return
        try:
            await self._probe(COMMIT_BYTES if is_doubted else PAYMENT_BYTES)
        except StorageError as error:
            if is_doubted:
                self._refused_at, self._refusal = self._clock(), str(error)
            raise
        self._failures, self._proven_at = failures, self._clock()
