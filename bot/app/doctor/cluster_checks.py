"""Checks of a PostgreSQL server and of the replicas that share a database on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from bot import config
from bot.app import resources
from bot.app.doctor import finding, replica_findings
from bot.core.database import database, timelines, urls
from bot.core.database.postgres import checks
from bot.core.replicas import membership

# Findings about a PostgreSQL server, from the facts that it reports.


LARGEST_SKEW = 1000
"""Milliseconds by which clocks may differ: leases, due times and rate limits allow for it."""

CONNECTIONS = 10
"""Connections of one replica: four for writing, three for reading, and one each for notifications,
checks and heartbeats."""

SHOWN = 3
"""The most columns that a finding names."""

SPARE = 2
"""Replicas to allow for in addition to the running ones: a new replica during an upgrade, and
commands."""

NEEDED_LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
"""Limits that the bot sets for each of its connections, in milliseconds; 0 means no limit."""


def describe(address: str, facts: checks.ServerFacts) -> finding.Finding:
    """Return the finding about a healthy server."""
    timeline = "" if facts.timeline is None else f", timeline {facts.timeline}"
    pooler = ", behind a pooler" if facts.is_pooled else ""
    used = f"{facts.used} of {facts.usable} connections in use"
    return finding.ok(
        "database", f"{address}: PostgreSQL {facts.version}{timeline}{pooler}, {used}"
    )


def check_server(
    facts: checks.ServerFacts, limits: Mapping[str, int], *, replicas: int, pooler: bool
) -> list[finding.Finding]:
    """Check a server; `limits` are set for the bot's connections, `pooler` is from the URL."""
    texts = [
        *_check_safety(facts),
        *_check_text(facts),
        *_check_rights(facts),
        *_check_pooler(facts, is_named=pooler),
        *_check_limits(limits),
    ]
    found = [finding.fix("database", text) for text in texts]
    found += [finding.fix("connections", text) for text in _check_connections(facts, replicas)]
    return [*found, *(finding.fix("clock", text) for text in _check_clock(facts))]


def _check_safety(facts: checks.ServerFacts) -> Iterator[str]:
    if not facts.fsync:
        yield "fsync is off: a power cut may destroy the database. Set fsync = on in its settings"
    if not facts.synchronous_commit:
        yield (
            "synchronous_commit is off: a crash of the server loses payments that were confirmed."
            " Set synchronous_commit = on"
        )


def _check_text(facts: checks.ServerFacts) -> Iterator[str]:
    if facts.encoding != "UTF8":
        yield (
            f"its encoding is {facts.encoding}, which lacks most names: create a database with"
            " ENCODING 'UTF8' TEMPLATE template0, and restore a backup into it"
        )
    if facts.columns:
        named = ", ".join(facts.columns[:SHOWN])
        more = f" and {len(facts.columns) - SHOWN} more" if len(facts.columns) > SHOWN else ""
        yield (
            f"text isn't sorted by its bytes in {named}{more}: another program has made or changed"
            " these columns. Restore a backup into a new database"
        )


def _check_rights(facts: checks.ServerFacts) -> Iterator[str]:
    if not facts.may_create:
        yield (
            "the user may not create tables, so that the next version can't be started: GRANT"
            " CREATE ON SCHEMA public TO the user"
        )


def _check_pooler(facts: checks.ServerFacts, *, is_named: bool) -> Iterator[str]:
    if facts.is_pooled and not is_named:
        yield (
            "a pooler gives each transaction another connection of the server: add"
            " pooler=transaction to the parameters of DATABASE_URL"
        )


def _check_limits(limits: Mapping[str, int]) -> Iterator[str]:
    missing = [name for name in NEEDED_LIMITS if not limits.get(name)]
    if missing:
        yield (
            f"{', '.join(missing)} isn't in force, so that a replica that stands still keeps its"
            " locks: a pooler or proxy drops the bot's settings. Set them for the user (ALTER ROLE"
            " … SET), or add pooler=transaction to DATABASE_URL if that is a pooler"
        )


def _check_connections(facts: checks.ServerFacts, replicas: int) -> Iterator[str]:
    if facts.is_pooled:
        return
    needed = CONNECTIONS * (replicas + SPARE)
    if facts.usable < needed:
        running = "1 replica" if replicas == 1 else f"{replicas} replicas"
        yield (
            f"the server grants this user {facts.usable} connections, and {running} and an upgrade"
            f" take up to {needed}: raise max_connections, or the limit of the user or the"
            " database, or use a pooler"
        )
    elif facts.usable - facts.used < CONNECTIONS:
        yield (
            f"{facts.used} of {facts.usable} connections are in use, and a replica that starts"
            f" takes {CONNECTIONS}: end what else uses the server, or raise max_connections"
        )


def _check_clock(facts: checks.ServerFacts) -> Iterator[str]:
    if abs(facts.skew) > LARGEST_SKEW:
        where = "ahead of" if facts.skew > 0 else "behind"
        yield (
            f"this machine's clock is {abs(facts.skew) / 1000:.1f} seconds {where} the database"
            " server's: synchronize both (NTP), since replicas act at times of their own clocks"
        )


LISTEN_SECONDS = 2.5 * membership.HEARTBEAT_TIMEOUTS.beat
"""Seconds between two surveys of the replicas: each live replica sends two heartbeats meanwhile."""


def check_cluster(
    settings: config.Settings, database: database.Database, now: Callable[[], int]
) -> list[finding.Finding]:
    """Check the server, then watch the replicas' heartbeats. Raises StorageError."""
    began, before = time.monotonic(), database.run(replica_findings.survey_replicas)
    url = settings.database_url
    facts, limits = checks.read_facts(url, now), database.run(_read_limits)
    change = database.run(timelines.find_change)
    found = check_server(
        facts,
        limits,
        replicas=max(1, len(before.replicas)),
        pooler=urls.postgres_address(url).is_pooled,
    )
    if before.replicas:
        time.sleep(max(0.0, began + LISTEN_SECONDS - time.monotonic()))
    after, seconds = database.run(replica_findings.survey_replicas), time.monotonic() - began
    found = found or [describe(urls.safe_url(url), facts)]
    found += [finding.fix("timeline", change)] if change else []
    return [
        *found,
        *replica_findings.check_replicas(
            before, after, resources.digest_settings(settings), seconds
        ),
    ]


def _read_limits(tx: database.Transaction) -> dict[str, int]:
    """Return the limits of the bot's connections, in milliseconds."""
    rows = tx.query("SELECT name, setting FROM pg_settings WHERE name LIKE '%timeout'")
    return {row["name"]: int(row["setting"]) for row in rows if row["name"] in NEEDED_LIMITS}
