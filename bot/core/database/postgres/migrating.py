"""Migrations on PostgreSQL: the same statements, and text that sorts as bytes do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.core.database.postgres.faults import SqlError
from bot.core.database.schema import migrations
from bot.core.errors import BotError, StorageError

if TYPE_CHECKING:
    from bot.core.database.interface import Transaction

TEXT = re.compile(r"\bTEXT\b")

ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7264893021)"
"""Two that create a table at once fail even with IF NOT EXISTS."""

NO_LIMITS = """
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')
"""
HAS_TABLES = "SELECT 1 AS one WHERE to_regclass('replicas') IS NOT NULL"
IN_USE = frozenset({"55P03", "40P01"})
"""Lock not available, and deadlock: a transaction has a table and waits for one that we have."""

SHORT_LOCKS = "SELECT set_config('lock_timeout', '500ms', true)"
"""A change of a table waits for its readers, and all who come later wait for it. The limit is below
the server's `deadlock_timeout` (1 s), so that of a circle of waits we are the first to give way."""


class TableBusy(StorageError):
    """A table that a migration changes has been in use for longer than others may wait for it."""

    def __init__(self) -> None:
        super().__init__(
            "the new version changes a table that was in use all the time, as by a backup: start it"
            " again when that has ended"
        )


class OlderReplicas(BotError):
    """Replicas that use what a migration removes, with the beats of the last look."""

    def __init__(self, beats: dict[str, int]) -> None:
        names = ", ".join(beats)
        super().__init__(
            f"replicas of an older version use what this one removes ({names}): stop them first"
        )
        self.beats = beats


def migrate(tx: Transaction) -> bool:
    """Run the migrations that the database has not seen; return whether there were any.

    Ends before one that is `Concurrent`; in a database without tables that one is like the others.
    Raises TableBusy and OlderReplicas.
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
            refuse_older(tx, number)
        for statement in migrations.select(migrations.MIGRATIONS[number - 1], "postgresql"):
            _change(tx, adapted(statement))
        note(tx, number)
        ran += 1
    return bool(ran)


def may_migrate(tx: Transaction, *, creates: bool = False) -> bool:
    """Return whether a command has to migrate the database first.

    Raises BotError for a database without tables, unless the command `creates` them, and where
    migrations are missing while a replica is registered: its program is an older one. Also where
    ours is too old for the database.
    """
    if tx.one(HAS_TABLES) is None:
        if not creates:
            raise BotError("it has no tables yet: start the bot once, or check its name")
        return True
    migrations.refuse_newer(tx)
    if not find_missing(tx):
        return False
    if tx.one("SELECT owner FROM replicas LIMIT 1") is not None:
        raise BotError(
            "its replicas run an older version than this program: update them first, or use their"
            " program"
        )
    return True


def refuse_older(tx: Transaction, number: int) -> None:
    """Raise OlderReplicas where a replica is registered whose program uses what is removed."""
    rows = tx.query(
        "SELECT owner, beat FROM replicas WHERE migration < :number ORDER BY owner", number=number
    )
    if rows:
        raise OlderReplicas({row["owner"]: row["beat"] for row in rows})


def note(tx: Transaction, number: int) -> None:
    """Note that a migration has run."""
    tx.execute(migrations.NOTE, number=number, needs=migrations.needs(number))


def _change(tx: Transaction, statement: str) -> None:
    try:
        tx.execute(statement)
    except SqlError as error:
        if error.sqlstate in IN_USE:
            raise TableBusy from None
        raise


def find_missing(tx: Transaction) -> list[int]:
    """Return the numbers of the migrations that the database has not seen."""
    seen = {row["number"] for row in tx.query("SELECT number FROM migrations")}
    return [number for number in range(1, len(migrations.MIGRATIONS) + 1) if number not in seen]


def adapted(statement: str) -> str:
    """Return a statement of the schema for PostgreSQL.

    Ids, times in text and lanes are compared and sorted as bytes, as SQLite does, whatever the
    collation of the server's database is.
    """
    return TEXT.sub('TEXT COLLATE "C"', statement)
