"""Budgets of hosts as they are stored: all processes share them, and a restart allows no new burst.

The rules are in host_budgets.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import lanes
from bot.core.outbox.host_budgets import LONGEST_CLOSED, LONGEST_SHARE, LONGEST_WAIT, SHARES, Usage
from bot.core.outbox.queue_policy import CLOCK_SKEW, Queue

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.core.outbox.host_budgets import HostBudget

HOSTS = Queue("hosts", lease=0)
"""Queue without messages: its lanes are the budgets, one a host and one a share of it."""

FURTHEST_CLOSED = LONGEST_CLOSED + CLOCK_SKEW
"""Milliseconds from now to the latest end of a closing that no wrong clock has stored."""

READ = (
    "SELECT lane, arrival_at, held_until FROM lanes WHERE queue = :queue"  # noqa: S608 - our own words
    f" AND lane IN (:host, {', '.join(f':{purpose}' for purpose in SHARES)})"
)
TRY_LOCK = (
    "SELECT lane FROM lanes WHERE queue = :queue AND lane = :lane FOR NO KEY UPDATE SKIP LOCKED"
)
ENSURE = (
    "INSERT INTO lanes (queue, lane) VALUES (:queue, :lane) ON CONFLICT (queue, lane) DO NOTHING"
)
LOCK = "SELECT lane FROM lanes WHERE queue = :queue AND lane = :lane FOR NO KEY UPDATE"


def read(tx: Transaction, budget: HostBudget, host: str, now: int) -> Usage:
    """Return how much of a host's budget is used."""
    names = {purpose: f"{host} {purpose}" for purpose in SHARES}
    found = tx.query(READ, queue=HOSTS.name, host=host, **names)
    rows = {row["lane"]: row for row in found}
    whole = rows.get(host, {"arrival_at": 0, "held_until": 0})
    # A time that no call can have led to is of a clock that was far ahead.
    latest = now + CLOCK_SKEW + LONGEST_WAIT
    if budget.rate:
        latest += budget.burst * budget.interval
    arrival_at = whole["arrival_at"] if whole["arrival_at"] <= latest else now
    closed = whole["held_until"] if whole["held_until"] <= now + FURTHEST_CLOSED else now
    shares = {
        purpose: min(rows[name]["arrival_at"], latest + LONGEST_SHARE)
        for purpose, name in names.items()
        if name in rows
    }
    return Usage(arrival_at, closed, shares)


def store(tx: Transaction, host: str, before: Usage, after: Usage) -> None:
    """Store the usage that has changed; the caller has locked the host."""
    if after.arrival_at != before.arrival_at:
        lanes.store(tx, HOSTS, host, "arrival_at", after.arrival_at)
    for purpose in sorted(SHARES):
        at = after.shares.get(purpose)
        if at is not None and at != before.shares.get(purpose):
            lanes.store(tx, HOSTS, f"{host} {purpose}", "arrival_at", at)


def close(tx: Transaction, host: str, until: int, now: int) -> None:
    """Allow no call of a host until a time (epoch ms), as it asks; a stored later one stays.

    One of a clock that was far ahead doesn't. The caller has locked the host.
    """
    stored = lanes.stored(tx, HOSTS, host, "held_until") or 0
    if not until < stored <= now + FURTHEST_CLOSED:
        lanes.store(tx, HOSTS, host, "held_until", until)


def lock(tx: Transaction, host: str) -> None:
    """Lock a host's budget, for a transaction that locks no other."""
    tx.lock(ENSURE, queue=HOSTS.name, lane=host)
    tx.lock(LOCK, queue=HOSTS.name, lane=host)


def try_lock(tx: Transaction, host: str) -> bool:
    """Lock a host's budget unless another transaction has: a claim waits for no lock."""
    if tx.engine == "sqlite":
        return True
    tx.lock(ENSURE, queue=HOSTS.name, lane=host)
    return bool(tx.query(TRY_LOCK, queue=HOSTS.name, lane=host))
