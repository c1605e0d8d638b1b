"""The hourly sweep of what was settled long ago."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from bot.core.ops import audit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.core.database.database import Database

log = structlog.get_logger()


class Side(Protocol):
    """A part of the application that stores data of its own."""

    async def sweep(self, moment: int) -> None:
        """Delete data that is too old at `moment` (epoch ms)."""


async def sweep(db: Database, sides: Iterable[Side | None], moment: int) -> None:
    """Clear each part, then the audit log. Raises StorageError."""
    for side in sides:
        if side is not None:
            await side.sweep(moment)
    dropped = 0
    while more := await db.transaction(partial(audit.forget, before=moment - audit.KEPT)):
        dropped += more
    if dropped:
        log.info("audit log swept", lines=dropped)
