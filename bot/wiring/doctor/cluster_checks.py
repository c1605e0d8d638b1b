"""Checks of a PostgreSQL server and of the replicas that share a database on it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bot.core.database import timelines
from bot.core.database.postgres.probe import read_facts
from bot.core.database.urls import postgres_address, safe_url
from bot.core.replicas.times import TIMES
from bot.wiring.app.shared_settings import digest_settings
from bot.wiring.doctor.finding import fix
from bot.wiring.doctor.replica_findings import check_replicas, look
from bot.wiring.doctor.server_findings import NEEDED_LIMITS, check_server, describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.config import Settings
    from bot.core.database.database import Database, Transaction
    from bot.wiring.doctor.finding import Finding

LISTEN_SECONDS = 2.5 * TIMES.beat
"""Between two looks at the replicas: each that lives has beaten twice."""


def check_cluster(settings: Settings, database: Database, now: Callable[[], int]) -> list[Finding]:
    """Check the server, then listen to its replicas. Raises StorageError."""
    began, before = time.monotonic(), database.run(look)
    url = settings.database_url
    facts, limits = read_facts(url, now), database.run(_read_limits)
    change = database.run(timelines.find_change)
    found = check_server(
        facts,
        limits,
        replicas=max(1, len(before.replicas)),
        pooler=postgres_address(url).is_pooled,
    )
    if before.replicas:
        time.sleep(max(0.0, began + LISTEN_SECONDS - time.monotonic()))
    after, seconds = database.run(look), time.monotonic() - began
    found = found or [describe(safe_url(url), facts)]
    found += [fix("timeline", change)] if change else []
    return [*found, *check_replicas(before, after, digest_settings(settings), seconds)]


def _read_limits(tx: Transaction) -> dict[str, int]:
    """Return the limits of the bot's connections, in milliseconds."""
    rows = tx.query("SELECT name, setting FROM pg_settings WHERE name LIKE '%timeout'")
    return {row["name"]: int(row["setting"]) for row in rows if row["name"] in NEEDED_LIMITS}
