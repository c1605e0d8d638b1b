"""The schema as numbered migrations, in SQL for both SQLite and PostgreSQL.

Ids are text made by the application, times are UTC epoch milliseconds, money is minor units of the
currency in the same row, JSON is text. A released migration is never changed: add a new migration.

Replicas of the previous version keep running during and after a migration. So a migration only adds
tables, columns with a default, and indexes of tables that are never large.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bot.core import errors
from bot.core.database import chat_tables, database, service_tables

FLOOR = """
    -- Incoming and outgoing messages that must not be lost (see core/outbox/outbox.py).
    CREATE TABLE outbox (
        id TEXT PRIMARY KEY,
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        priority INTEGER NOT NULL,
        subject TEXT,  -- the thing that the message is about
        body TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        -- failures, crashes: consecutive attempts that raised, or whose process died
        failures INTEGER NOT NULL DEFAULT 0,
        crashes INTEGER NOT NULL DEFAULT 0,
        uncertain INTEGER NOT NULL DEFAULT 0,
        due_at BIGINT NOT NULL,
        rank BIGINT,  -- its position among messages of other accounts
        lease TEXT,  -- the worker that handles it
        leased_until BIGINT,
        created_at BIGINT NOT NULL,
        settled_at BIGINT,
        note TEXT
    );
    CREATE INDEX outbox_heads ON outbox (queue, lane, priority, id) WHERE state = 'waiting';
    CREATE INDEX outbox_subject ON outbox (queue, subject) WHERE subject IS NOT NULL;
    -- With the id, so that the next of a thousand simultaneously due messages is found unsorted.
    CREATE INDEX outbox_due ON outbox (queue, lane, due_at, id) WHERE state = 'waiting';
    CREATE INDEX outbox_leased ON outbox (queue, lane, leased_until) WHERE state = 'leased';
    CREATE INDEX outbox_settled ON outbox (queue, settled_at) WHERE settled_at IS NOT NULL;
    -- Dead letters are few; settled messages may be millions.
    CREATE INDEX outbox_dead ON outbox (queue, settled_at) WHERE state = 'dead';
    CREATE INDEX outbox_dead_lane ON outbox (queue, lane, id) WHERE state = 'dead';
    CREATE INDEX outbox_joined ON outbox (id) WHERE state = 'joined';

    -- The lanes of each queue; the lane `*` is the queue itself.
    CREATE TABLE lanes (
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        arrival_at BIGINT NOT NULL DEFAULT 0,
        held_until BIGINT NOT NULL DEFAULT 0,
        open_at BIGINT,  -- when the lane's next message may be claimed, null if no message waits
        priority INTEGER,
        rank BIGINT,  -- the rank of the next message
        turn INTEGER NOT NULL DEFAULT 0,  -- the position in the cycle of classes
        paused TEXT,
        waits_for TEXT,  -- the full group in which the lane is parked (see core/outbox/groups.py)
        PRIMARY KEY (queue, lane)
    );
    -- The name of the lane comes last, so that both engines order simultaneous lanes alike.
    CREATE INDEX lanes_open ON lanes (queue, priority, open_at, lane)
    WHERE open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL;
    CREATE INDEX lanes_ranked ON lanes (queue, priority, rank, lane)
    WHERE rank IS NOT NULL AND open_at IS NOT NULL AND paused IS NULL AND waits_for IS NULL;
    CREATE INDEX lanes_waiting ON lanes (queue, waits_for, priority, open_at, lane)
    WHERE waits_for IS NOT NULL;

    -- Secrets that the bot created for itself, sealed with SECRET_KEY.
    CREATE TABLE kept_secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL);

    -- Entries are deleted only when they are old; erasing a seller removes the seller's data from
    -- them. `id` sorts by time (see core/ops/audit.py).
    CREATE TABLE audit (
        id TEXT PRIMARY KEY,
        at BIGINT NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        details TEXT NOT NULL
    );
    CREATE INDEX audit_subject ON audit (subject, id);

    -- One row, replaced by each test write (see core/database/sqlite.py).
    CREATE TABLE probe (number INTEGER PRIMARY KEY, filler TEXT NOT NULL);

    -- Replicas on one database (see core/replicas). Without replicas, this table and the next three
    -- are empty.
    CREATE TABLE replicas (
        owner TEXT PRIMARY KEY,
        -- increases while the replica lives; observers time it with their own clocks
        beat BIGINT NOT NULL,
        role TEXT NOT NULL,
        version TEXT NOT NULL,
        migration INTEGER NOT NULL,
        settings TEXT NOT NULL,  -- a digest of the settings that all replicas must share
        started_at BIGINT NOT NULL
    );

    -- The leading replica of each role, '' if there is none; each change has a new `term`.
    CREATE TABLE leads (
        role TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    );

    -- Write scopes: a scope's transactions run one at a time in all replicas, under its row's lock.
    -- `owner` and `term` identify the lead, so a former lead's transaction notices the change.
    CREATE TABLE slices (
        name TEXT PRIMARY KEY,
        owner TEXT NOT NULL DEFAULT '',
        term BIGINT NOT NULL DEFAULT 0
    );

    -- Calls counted by all replicas, by the `subject` of the rate limit, in the time window that
    -- begins at `slot` (epoch seconds).
    CREATE TABLE rates (
        name TEXT NOT NULL,
        subject TEXT NOT NULL,
        slot BIGINT NOT NULL,
        hits BIGINT NOT NULL,
        PRIMARY KEY (name, subject, slot)
    );
    CREATE INDEX rates_slot ON rates (slot);

    -- The PostgreSQL server of this database and its timeline: a different timeline may mean a
    -- different past (see core/database/postgres/checks.py). At most one row; no row on SQLite.
    CREATE TABLE timelines (system TEXT PRIMARY KEY, timeline BIGINT NOT NULL);
"""
"""Tables of bot/core: the outbox, secrets at rest, the audit log, replicas."""


def statements(text: str) -> tuple[str, ...]:
    """Return the statements of a text, without its comments, which SQLite would store as well."""
    plain = re.sub(r"\s*--[^\n]*", "", text)
    return tuple(one.strip() for one in plain.split(";") if one.strip())


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    statements(FLOOR + service_tables.SERVICE + chat_tables.CHAT),
)
"""The statements of each migration; the first has the number 1."""

COLUMNS = "(number INTEGER PRIMARY KEY, needs INTEGER NOT NULL DEFAULT 0)"
"""`needs`: a program must know the migration of this number to use the database; 0 if there is no
requirement. A migration that removes something raises the number."""


def run_missing(
    tx: database.Transaction, adapt: Callable[[str], str] = str, version: int | None = None
) -> bool:
    """Run the missing migrations, up to a `version`; return whether there were any.

    `adapt` returns a statement as the engine needs it. Raises BotError like `refuse_newer`.
    """
    tx.execute(f"CREATE TABLE IF NOT EXISTS migrations {COLUMNS}")
    refuse_newer(tx)
    missing = find_missing(tx, version)
    for number in missing:
        for statement in MIGRATIONS[number - 1]:
            tx.execute(adapt(statement))
        tx.execute("INSERT INTO migrations (number) VALUES (:number)", number=number)
    return bool(missing)


def find_missing(tx: database.Transaction, version: int | None = None) -> list[int]:
    """Return the numbers of the migrations up to a `version` that have not run."""
    seen = {row["number"] for row in tx.query("SELECT number FROM migrations")}
    last = len(MIGRATIONS) if version is None else version
    return [number for number in range(1, last + 1) if number not in seen]


def refuse_newer(tx: database.Transaction) -> None:
    """Raise BotError if a newer version has removed objects that this version uses."""
    row = tx.one("SELECT MAX(needs) AS number FROM migrations")
    needed = (row and row["number"]) or 0
    if needed > len(MIGRATIONS):
        raise errors.BotError(
            "a newer version of this program has removed what this one uses"
            f" (schema {needed}): update the program"
        )
