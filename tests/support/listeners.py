"""Listeners that hear of commits alone."""

from __future__ import annotations

import asyncio

from bot.core.database.database import Database
from tests.support.databases import POSTGRESQL

SECONDS = 10.0


async def listening(db: Database, *topics: str) -> list[asyncio.Event]:
    """Return the events of topics, unset; nobody may have listened before.

    PostgreSQL wakes everybody when it begins to listen, because notifications may have been missed.
    """
    events = [db.listen(topic) for topic in topics]
    if db.engine == POSTGRESQL:
        async with asyncio.timeout(SECONDS):
            await events[0].wait()  # a later one may have come after that
        for event in events:
            event.clear()
    return events
