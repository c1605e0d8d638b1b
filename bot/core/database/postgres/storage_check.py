"""The check that a payment can be stored: a commit that reaches the server's disk."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING

from bot.core.errors import StorageError

if TYPE_CHECKING:
    from bot.core.database.interface import OwnWriter, Transaction
    from bot.core.health import Health

PROVEN_SECONDS = 1.0
"""The time for which a result is returned again, so that frequent checks cost nothing."""

WRITE = "SELECT pg_logical_emit_message(true, 'check', '')"
"""A commit in the server's log alone: replicas that update one row would wait for each other."""

FILL = "INSERT INTO probe (number, filler) VALUES (:number, :filler)"

FILLER_BYTES = 1024 * 1024
"""What has to find room after a failure: the log may have some where the tables have none."""


class StorageCheck:
    """A check on a connection of its own; after a failure rows have to find room too."""

    def __init__(self, writer: OwnWriter, health: Health) -> None:
        self._writer, self._health = writer, health
        self._probing = asyncio.Lock()
        self._failures = 0
        self._asked_at = float("-inf")
        self._reason: str | None = None

    async def __call__(self) -> str | None:
        """Return None, or the database's reason why nothing can be stored."""
        async with self._probing:
            is_old = time.monotonic() - self._asked_at >= PROVEN_SECONDS
            if is_old or (self._reason is None and self._failures != self._health.failures):
                self._reason = await asyncio.to_thread(self._ask)
                self._asked_at = time.monotonic()
            return self._reason

    def _ask(self) -> str | None:
        failures = self._health.failures
        try:
            self._writer.run(lambda tx: tx.query(WRITE))
            if failures != self._failures:
                self._writer.run(_fill)
        except StorageError as error:
            return str(error)
        except _FoundRoomError:
            pass
        self._failures = failures
        return None


class _FoundRoomError(Exception):
    """Rolls back the rows that found room."""


def _fill(tx: Transaction) -> None:
    filler = secrets.token_hex(FILLER_BYTES // 2)  # random: it could be compressed otherwise
    tx.execute(FILL, number=secrets.randbelow(2**31), filler=filler)
    raise _FoundRoomError
