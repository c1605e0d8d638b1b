"""Upgrades beside running replicas: migrations run again, indexes built without locking writers.

A change of a table waits half a second for its lock at most, since everybody who comes later waits
behind it, and then tries again. A removal waits until no older replica is alive.
"""

from __future__ import annotations

import re
import time
from functools import partial
from typing import TYPE_CHECKING

from bot.core.database.postgres import beats
from bot.core.database.postgres.connection import NEVER
from bot.core.database.postgres.migrating import (
    OlderReplicas,
    TableBusy,
    find_missing,
    migrate,
    note,
)
from bot.core.database.schema import migrations

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.interface import Run, Transaction
    from bot.core.database.postgres.connection import Connection
    from bot.core.database.postgres.server import Server


ATTEMPTS, PAUSE_SECONDS = 60, 1.0
"""How often a migration tries to lock a table that is in use."""

ONE_BUILDER = b"SELECT pg_try_advisory_lock(7264893022)"
INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (\w+)")
INVALID = "SELECT 1 AS one FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid"
IS_BUILT = "SELECT 1 AS one FROM pg_index WHERE indexrelid = to_regclass(:name) AND indisvalid"


def upgrade(run: Run, server: Server, sleep: Callable[[float], object] = time.sleep) -> bool:
    """Run all migrations that the database has not seen; return whether there were any.

    Raises TableBusy for a table that was in use all the time, OlderReplicas for those that live.
    """
    ran = _persist(run, sleep)
    while run(_next_concurrent):
        connection = server.connect(patience=NEVER)
        try:
            _build_next(run, connection, sleep)
        finally:
            connection.close()
        ran = _persist(run, sleep) or True
    return ran


def _build_next(run: Run, connection: Connection, sleep: Callable[[float], object]) -> None:
    """Build the indexes of the next migration, unless another process just did."""
    # Asked again and again: an index waits for every statement, also for one that waits for us.
    while connection.command(ONE_BUILDER).get_value(0, 0) != b"t":
        sleep(PAUSE_SECONDS)
    if number := run(_next_concurrent):
        for statement in migrations.MIGRATIONS[number - 1]:
            _build(run, connection, statement)
        run(partial(note, number=number))


def _persist(run: Run, sleep: Callable[[float], object]) -> bool:
    """Run the next migrations until the tables are free and the older replicas are gone."""
    for _ in range(ATTEMPTS):
        try:
            return run(migrate)
        except TableBusy:
            sleep(PAUSE_SECONDS)
        except OlderReplicas as older:
            _wait_until_gone(run, older, sleep)
    raise TableBusy


def _wait_until_gone(run: Run, older: OlderReplicas, sleep: Callable[[float], object]) -> None:
    """Forget replicas whose beats stand still. Raises OlderReplicas where one moves."""

    def look() -> beats.Beats:
        return {owner: beat for owner, beat in run(_beats).items() if owner in older.beats}

    alive, gone = beats.find_beating(older.beats, look, sleep)
    if alive:
        raise OlderReplicas(alive)
    for owner, beat in gone.items():
        run(partial(_forget, owner=owner, beat=beat))


def _forget(tx: Transaction, owner: str, beat: int) -> None:
    tx.execute("DELETE FROM replicas WHERE owner = :owner AND beat = :beat", owner=owner, beat=beat)


def _beats(tx: Transaction) -> dict[str, int]:
    return {row["owner"]: row["beat"] for row in tx.query("SELECT owner, beat FROM replicas")}


def _next_concurrent(tx: Transaction) -> int | None:
    missing = find_missing(tx)
    return missing[0] if missing and migrations.is_concurrent(missing[0]) else None


def _build(run: Run, connection: Connection, statement: str) -> None:
    """Build an index; one that an attempt left unfinished is dropped first."""
    found = INDEX.match(statement)
    assert found, statement
    name = found[2]
    if run(lambda tx: tx.one(IS_BUILT, name=name)):
        return
    connection.command(b"SET lock_timeout = 0")
    connection.command(b"SET statement_timeout = 0")
    if run(lambda tx: tx.one(INVALID, name=name)):
        connection.command(f"DROP INDEX CONCURRENTLY {name}".encode())
    text = INDEX.sub(rf"CREATE \1INDEX CONCURRENTLY IF NOT EXISTS {name}", statement)
    connection.command(text.encode())
