"""Migrations on PostgreSQL while replicas are running.

They run the same statements as on SQLite, with text sorted by bytes. A table change waits at most
half a second for its lock, because all later transactions wait behind it; then it is retried. A
removal waits until no older replica is alive. Large indexes are built without blocking writers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

import psycopg

from bot.core import errors
from bot.core.database import database, migrations
from bot.core.database.postgres import connection, server

# Replicas that are alive: some commands and removals can't run at the same time.
#
# A beat is a counter. Like replicas, a command presumes a replica dead if its beat stays the same
# for some time. No clocks of other machines are involved.


LOOK_SECONDS = 1.0
LOOKS = 10
"""Reads after the first: a replica whose beat stays the same for ten seconds is gone."""

Beats = dict[str, int]
"""The beat of each replica, by its owner id."""


class InUse(errors.BotError):
    """Replicas are alive."""

    def __init__(self, alive: Beats) -> None:
        super().__init__(
            f"the database is in use by {len(alive)} running"
            f" {'replica' if len(alive) == 1 else 'replicas'} ({', '.join(sorted(alive))}):"
            " stop the bot everywhere first"
        )
        self.alive = alive


def refuse_while_beating(
    look: Callable[[], Beats],
    sleep: Callable[[float], object] = time.sleep,
    seen: Beats | None = None,
) -> Beats:
    """Return the beats of replicas that are gone. Raises InUse as soon as a beat changes.

    `seen` has the beats of an earlier read, if there was one.
    """
    seen = look() if seen is None else seen
    for _ in range(LOOKS):
        if not seen:  # replicas that were stopped have deleted their rows
            break
        sleep(LOOK_SECONDS)
        now = look()
        refuse_changed(seen, now)
        seen = now
    return seen


def refuse_changed(seen: Beats, now: Beats) -> None:
    """Raise InUse if a replica joined or sent a beat between two reads."""
    if alive := {owner: beat for owner, beat in now.items() if seen.get(owner) != beat}:
        raise InUse(alive)


# Missing migrations, in one transaction.


TEXT = re.compile(r"\bTEXT\b")

ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7264893021)"
"""Two processes that create a table simultaneously fail even with IF NOT EXISTS."""

NO_LIMITS = """
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')
"""
HAS_TABLES = "SELECT 1 AS one WHERE to_regclass('replicas') IS NOT NULL"
IN_USE = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
"""A transaction holds a table, and perhaps waits for one of our locks."""

SHORT_LOCKS = "SELECT set_config('lock_timeout', '500ms', true)"
"""Below the server's `deadlock_timeout` (1 s), so that we give way first in a deadlock."""


class TableBusy(errors.StorageError):
    """A table that a migration changes was in use for too long."""

    def __init__(self) -> None:
        super().__init__(
            "the new version changes a table that was in use all the time, as by a backup: start it"
            " again when that has ended"
        )


class OlderReplicas(errors.BotError):
    """Running replicas use objects that a migration removes."""

    def __init__(self, beats: Beats) -> None:
        """Initialize with the beats of the last read."""
        names = ", ".join(beats)
        super().__init__(
            f"replicas of an older version use what this one removes ({names}): stop them first"
        )
        self.beats = beats


def migrate(tx: database.Transaction) -> bool:
    """Run the missing migrations up to the first `Concurrent` one; return whether there were any.

    In a database without tables, `Concurrent` migrations run too. Raises TableBusy and
    OlderReplicas.
    """
    tx.query(NO_LIMITS)
    tx.query(ONE_AT_A_TIME)
    tx.query(SHORT_LOCKS)
    tx.execute(migrations.CREATE)
    migrations.refuse_newer(tx)
    missing = find_missing(tx)
    is_new = len(missing) == len(migrations.MIGRATIONS)
    ran = 0
    for number in missing:
        if migrations.is_concurrent(number) and not is_new:
            break
        if migrations.removes(number) and not is_new:
            _refuse_older(tx, number)
        for statement in migrations.select(migrations.MIGRATIONS[number - 1], "postgresql"):
            try:
                tx.execute(adapted(statement))
            except IN_USE:
                raise TableBusy from None
        note(tx, number)
        ran += 1
    return bool(ran)


def may_migrate(tx: database.Transaction, *, creates: bool = False) -> bool:
    """Return whether a command has to migrate the database first.

    Raises BotError if the database has no tables, unless the command `creates` them; if migrations
    are missing while a replica is registered, because its program is older than ours; and if our
    program is too old for the database.
    """
    if tx.one(HAS_TABLES) is None:
        if not creates:
            raise errors.BotError("it has no tables yet: start the bot once, or check its name")
        return True
    migrations.refuse_newer(tx)
    if not find_missing(tx):
        return False
    if tx.one("SELECT owner FROM replicas LIMIT 1") is not None:
        raise errors.BotError(
            "its replicas run an older version than this program: update them first, or use their"
            " program"
        )
    return True


def _refuse_older(tx: database.Transaction, number: int) -> None:
    """Raise OlderReplicas if a registered replica's program doesn't know a migration."""
    rows = tx.query(
        "SELECT owner, beat FROM replicas WHERE migration < :number ORDER BY owner", number=number
    )
    if rows:
        raise OlderReplicas({row["owner"]: row["beat"] for row in rows})


def note(tx: database.Transaction, number: int) -> None:
    """Record that a migration has run."""
    tx.execute(migrations.NOTE, number=number, needs=migrations.needs(number))


def find_missing(tx: database.Transaction) -> list[int]:
    """Return the numbers of the migrations that have not run."""
    seen = {row["number"] for row in tx.query("SELECT number FROM migrations")}
    return [number for number in range(1, len(migrations.MIGRATIONS) + 1) if number not in seen]


def adapted(statement: str) -> str:
    """Return a statement of the schema for PostgreSQL.

    All text is compared and sorted by bytes as in SQLite, whatever the database's collation.
    """
    return TEXT.sub('TEXT COLLATE "C"', statement)


# Upgrades: run migration transactions until they succeed, and build indexes between them.


ATTEMPTS, PAUSE_SECONDS = 60, 1.0
"""How often a migration tries to lock a table that is in use."""

ONE_BUILDER = "SELECT pg_try_advisory_lock(7264893022) AS ours"
INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (\w+)")
IS_VALID = "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass(:name)"


def upgrade(
    run: database.Run, server: server.Server, sleep: Callable[[float], object] = time.sleep
) -> bool:
    """Run all missing migrations; return whether there were any.

    Raises TableBusy if a table was in use all the time, OlderReplicas if older replicas are alive.
    """
    ran = _persist(run, sleep)
    while run(_next_concurrent):
        with closing(server.connect(patience=connection.NEVER)) as opened:
            # Don't wait inside the statement: an index build would wait for the statement to end.
            while not opened.execute(ONE_BUILDER).fetchall()[0]["ours"]:
                sleep(PAUSE_SECONDS)
            if number := run(_next_concurrent):  # no other process has just built it
                for statement in migrations.MIGRATIONS[number - 1]:
                    _build(opened, statement)
                run(partial(note, number=number))
        ran = _persist(run, sleep) or True
    return ran


def _persist(run: database.Run, sleep: Callable[[float], object]) -> bool:
    """Run the next migrations once the tables are free and older replicas are gone."""
    for _ in range(ATTEMPTS):
        try:
            return run(migrate)
        except TableBusy:
            sleep(PAUSE_SECONDS)
        except OlderReplicas as older:
            _wait_until_gone(run, older.beats, sleep)
    raise TableBusy


def _wait_until_gone(run: database.Run, older: Beats, sleep: Callable[[float], object]) -> None:
    """Delete replicas whose beats stay the same. Raises OlderReplicas if a beat changes."""

    def look() -> Beats:
        return {owner: beat for owner, beat in run(_beats).items() if owner in older}

    try:
        gone = refuse_while_beating(look, sleep, older)
    except InUse as error:
        raise OlderReplicas(error.alive) from None
    for owner, beat in gone.items():
        run(partial(_delete, owner=owner, beat=beat))


def _delete(tx: database.Transaction, owner: str, beat: int) -> None:
    tx.execute("DELETE FROM replicas WHERE owner = :owner AND beat = :beat", owner=owner, beat=beat)


def _beats(tx: database.Transaction) -> Beats:
    return {row["owner"]: row["beat"] for row in tx.query("SELECT owner, beat FROM replicas")}


def _next_concurrent(tx: database.Transaction) -> int | None:
    missing = find_missing(tx)
    return missing[0] if missing and migrations.is_concurrent(missing[0]) else None


def _build(opened: connection.Connection, statement: str) -> None:
    """Build an index; first drop an unfinished index of an earlier attempt."""
    found = INDEX.match(statement)
    assert found, statement
    name = found[2]
    built = opened.execute(IS_VALID, {"name": name}).fetchone()
    if built and built["valid"]:
        return
    opened.execute("SET lock_timeout = 0; SET statement_timeout = 0", prepare=False)
    if built:
        opened.execute(f"DROP INDEX CONCURRENTLY {name}")
    opened.execute(INDEX.sub(rf"CREATE \1INDEX CONCURRENTLY IF NOT EXISTS {name}", statement))
