"""Findings about a PostgreSQL server, from what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.wiring.doctor.finding import Finding, fix, ok

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bot.core.database.postgres.probe import ServerFacts

LARGEST_SKEW = 1000
"""Milliseconds by which clocks may differ: leases, due times and rate limits allow for it."""

CONNECTIONS = 10
"""Of one replica: four that write, three that read, one each to notify, to check and to beat."""

SHOWN = 3
"""Columns that are named."""

SPARE = 2
"""Replicas beside those that run: a new one during an upgrade, and commands."""

NEEDED_LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
"""Limits that the bot sets for each of its connections, in milliseconds; 0 is none."""


def describe(address: str, facts: ServerFacts) -> Finding:
    """Return the finding of a server with which nothing is wrong."""
    timeline = "" if facts.timeline is None else f", timeline {facts.timeline}"
    pooler = ", behind a pooler" if facts.is_pooled else ""
    used = f"{facts.used} of {facts.usable} connections in use"
    return ok("database", f"{address}: PostgreSQL {facts.version}{timeline}{pooler}, {used}")


def check_server(
    facts: ServerFacts, limits: Mapping[str, int], *, replicas: int, pooler: bool
) -> list[Finding]:
    """Check a server; `limits` are those of the bot's connections, `pooler` is the URL's."""
    texts = [
        *_check_safety(facts),
        *_check_text(facts),
        *_check_rights(facts),
        *_check_pooler(facts, is_named=pooler),
        *_check_limits(limits),
    ]
    found = [fix("database", text) for text in texts]
    found += [fix("connections", text) for text in _check_connections(facts, replicas)]
    return [*found, *(fix("clock", text) for text in _check_clock(facts))]


def _check_safety(facts: ServerFacts) -> Iterator[str]:
    if not facts.fsync:
        yield "fsync is off: a power cut may destroy the database. Set fsync = on in its settings"
    if not facts.synchronous_commit:
        yield (
            "synchronous_commit is off: a crash of the server loses payments that were confirmed."
            " Set synchronous_commit = on"
        )


def _check_text(facts: ServerFacts) -> Iterator[str]:
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


def _check_rights(facts: ServerFacts) -> Iterator[str]:
    if not facts.may_create:
        yield (
            "the user may not create tables, so that the next version can't be started: GRANT"
            " CREATE ON SCHEMA public TO the user"
        )


def _check_pooler(facts: ServerFacts, *, is_named: bool) -> Iterator[str]:
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


def _check_connections(facts: ServerFacts, replicas: int) -> Iterator[str]:
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


def _check_clock(facts: ServerFacts) -> Iterator[str]:
    if abs(facts.skew) > LARGEST_SKEW:
        where = "ahead of" if facts.skew > 0 else "behind"
        yield (
            f"this machine's clock is {abs(facts.skew) / 1000:.1f} seconds {where} the database"
            " server's: synchronize both (NTP), since replicas act at times of their own clocks"
        )
