"""Copy whole databases from a PostgreSQL server, or into its schema, while no replica is alive.

The whole copy is one long transaction: the old tables stay in place until it commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from bot.core import errors
from bot.core.database import database, migrations, snapshot, urls
from bot.core.database.postgres import checks, connection, copying, engine, transactions

NO_DATABASE = "DATABASE_URL: there is no database yet: start the bot once or fix the URL"

OTHER_VERSION = (
    "DATABASE_URL: the database has the schema of another version: run this with the version that"
    " ran last"
)


# Sessions and their transactions.


NO_LIMITS = """
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')
"""
"""Limits for the running bot's transactions, which a copy of a whole database would exceed."""

LOCK_TIMEOUT = "SET LOCAL lock_timeout = '2s'"
"""If a lock isn't free by then, a process that should have been stopped holds it."""


@contextmanager
def open_session(url: str) -> Iterator[copying.Connection]:
    """Open a connection in autocommit mode.

    Raises ConfigProblem if the URL or the server can't be used.
    """
    try:
        conn = connection.connect(urls.postgres_address(url).url)
    except (psycopg.Error, connection.NotConnected) as error:
        raise checks.unusable(url, connection.describe(error)) from None
    conn.prepare_threshold = None  # a pooler may stand between
    with conn:
        yield conn


def vacuum(url: str, tables: Iterable[str]) -> None:
    """Free the space of deleted rows while the tables are in use. Raises BotError."""
    with open_session(url) as conn, _naming_errors():
        if not urls.postgres_address(url).is_pooled:  # a pooler would pass the setting on to others
            conn.execute("SET statement_timeout = 0")
        for name in tables:
            conn.execute(sql.SQL("VACUUM {}").format(sql.Identifier(name)))


@contextmanager
def session_transaction(
    conn: copying.Connection, *, read_only: bool = False
) -> Iterator[database.Transaction]:
    """Run a long transaction, with a single snapshot if `read_only`, and commit it at the end.

    Raises BotError for the server's errors, without their details, which quote payers' data.
    """
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ if read_only else None
    conn.read_only = read_only
    with _naming_errors(), conn.transaction():
        conn.execute(NO_LIMITS)
        conn.execute(LOCK_TIMEOUT)
        yield transactions.PostgresTransaction(connection.Connection(conn))


@contextmanager
def _naming_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        text = connection.describe(error)
        if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            named: errors.BotError = errors.Unreadable(
                f"holds data that this program never wrote: {text}"
            )
        elif isinstance(error, psycopg.errors.LockNotAvailable):
            named = errors.BotError("the database is in use: stop the bot everywhere first")
        elif isinstance(error, psycopg.errors.InsufficientPrivilege):
            named = errors.ConfigProblem(f"DATABASE_URL: its user lacks a right: {text}")
        else:
            named = errors.StorageError(f"the database can't be used: {text}")
        raise named from None


# The schema: its content, and moving its tables away.


TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
"""
"""The tables of the schema, without extension tables."""


@dataclass(frozen=True, slots=True)
class Target:
    """A schema and its content."""

    schema: str
    tables: frozenset[str]
    version: int | None
    """The number of the last migration that ran; None if there is no table `migrations`."""

    @property
    def names(self) -> sql.Composed:
        """Return the names of all tables, as statements list them."""
        return sql.SQL(", ").join(map(sql.Identifier, sorted(self.tables)))

    @property
    def is_newer(self) -> bool:
        """True if a newer version of this program created the tables."""
        return (self.version or 0) > len(migrations.MIGRATIONS)


def examine_target(conn: copying.Connection) -> Target:
    """Read the content of the schema. Raises ConfigProblem if there is no schema."""
    (schema,) = _one(conn, "SELECT current_schema()")
    if schema is None:
        raise errors.ConfigProblem("DATABASE_URL: its search_path names no schema that exists")
    tables = frozenset(str(name) for (name,) in conn.execute(TABLES))
    version = None
    if "migrations" in tables:
        (version,) = _one(conn, "SELECT MAX(number) FROM migrations")
    return Target(str(schema), tables, version)


def holds_data(conn: copying.Connection, target: Target, embedded: str) -> bool:
    """Return whether data would be lost with these tables.

    `embedded` is the name of the secret of the application that the first start creates.
    """
    if "apps" in target.tables:
        (others,) = _one(
            conn,
            "SELECT (SELECT COUNT(*) FROM apps)"
            " - (SELECT COUNT(*) FROM kept_secrets WHERE name = %s)",
            embedded,
        )
        if others > 0:
            return True
    for name in sorted(target.tables - snapshot.FILLED_BY_A_START):
        rows = conn.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name)))
        if rows.fetchone() is not None:
            return True
    return False


def _one(conn: copying.Connection, statement: str, *given: object) -> tuple[Any, ...]:
    return conn.execute(statement, given).fetchone() or ()


# Replicas that are alive: some commands can't run at the same time.
#
# A beat is a counter. Like replicas, a command presumes a replica dead if its beat stays the same
# for some time. No clocks of other machines are involved.


LOOK_SECONDS = 1.0
LOOKS = 10
"""Reads after the first: a replica whose beat stays the same for ten seconds is gone."""

Beats = dict[str, int]
"""The beat of each replica, by its owner id."""


def refuse_while_beating(
    look: Callable[[], Beats], sleep: Callable[[float], object] = time.sleep
) -> Beats:
    """Return the beats of replicas that are gone. Raises BotError as soon as one changes."""
    seen = look()
    for _ in range(LOOKS):
        if not seen:  # replicas that were stopped have deleted their rows
            break
        sleep(LOOK_SECONDS)
        now = look()
        refuse_changed(seen, now)
        seen = now
    return seen


def refuse_changed(seen: Beats, now: Beats) -> None:
    """Raise BotError if a replica joined or sent a beat between two reads."""
    if alive := sorted(owner for owner, beat in now.items() if seen.get(owner) != beat):
        raise errors.BotError(
            f"the database is in use by {len(alive)} running"
            f" {'replica' if len(alive) == 1 else 'replicas'} ({', '.join(alive)}):"
            " stop the bot everywhere first"
        )


def _read_beats(conn: copying.Connection) -> Beats:
    """Return the beat of every replica; empty if there is no table yet."""
    exists = conn.execute("SELECT to_regclass('replicas') IS NOT NULL").fetchone()
    if not exists or not exists[0]:
        return {}
    return dict(conn.execute("SELECT owner, beat FROM replicas").fetchall())


@contextmanager
def _unused(
    conn: copying.Connection, target: Target, beats: Beats
) -> Iterator[database.Transaction]:
    """Begin a transaction in which nobody else can use the tables.

    Raises BotError if a replica has joined or sent a beat since `beats` were read.
    """
    with session_transaction(conn) as tx:
        tx.execute(engine.ONE_AT_A_TIME)
        if target.tables:
            lock = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE")
            conn.execute(lock.format(target.names))
        refuse_changed(beats, _read_beats(conn))
        yield tx


# Operations of commands on a server's database.


def back_up(url: str, path: Path) -> None:
    """Copy a snapshot of a server's database into the empty file `path`.

    The database can be used meanwhile. Raises BotError.
    """
    with open_session(url) as conn, session_transaction(conn, read_only=True):
        found = examine_target(conn)
        if found.version is None:
            raise errors.BotError(NO_DATABASE)
        if found.is_newer:
            raise errors.BotError(
                f"DATABASE_URL: was migrated by a newer version (schema {found.version}, this one"
                f" knows {len(migrations.MIGRATIONS)}): back up with that one"
            )
        copying.dump(conn, path, found.version)


@dataclass(slots=True)
class Destination:
    """An unused schema of a server, to load a database into."""

    conn: copying.Connection
    found: Target
    has_data: bool
    beats: Beats

    def load(self, path: Path, stamp: str) -> str | None:
        """Replace the tables of the schema by the rows of a file, in one transaction.

        Return the schema that the former tables were moved to, which has `stamp` in its name; None
        if they held no data. Raises BotError; nothing is changed then.
        """
        conn, found = self.conn, self.found
        aside = f"{found.schema}_replaced_{stamp}".lower() if self.has_data else None
        with _unused(conn, found, self.beats) as tx:
            if aside:
                conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(aside)))
                for name in sorted(found.tables):
                    move = sql.SQL("ALTER TABLE {} SET SCHEMA {}")
                    conn.execute(move.format(sql.Identifier(name), sql.Identifier(aside)))
            elif found.tables:
                conn.execute(sql.SQL("DROP TABLE {}").format(found.names))
            engine.migrate(tx)
            copying.load(self.conn, path, copying.read_tables(len(migrations.MIGRATIONS)))
            checks.accept_timeline(tx)
        return aside


@contextmanager
def open_destination(url: str, embedded: str, refusal: str | None) -> Iterator[Destination]:
    """Open a server's schema to load a database into; `embedded` is as for `holds_data`.

    Raises BotError if replicas are alive. If there is data, raises BotError with the advice
    `refusal`; without a `refusal` the data is moved aside.
    """
    with open_session(url) as conn:
        found = examine_target(conn)
        known = copying.list_tables(found.version) if found.version else frozenset()
        strangers = sorted(found.tables - known - {"migrations"})
        if strangers and not found.is_newer:  # they would be moved too
            raise errors.BotError(
                f"the table {found.schema}.{strangers[0]} is not ours: give the bot a database or"
                " a schema of its own"
            )
        has_data = holds_data(conn, found, embedded)
        if has_data and refusal:
            raise errors.BotError(f"{urls.safe_url(url)}: holds data: {refusal}")
        beats = refuse_while_beating(lambda: _read_beats(conn))
        yield Destination(conn, found, has_data, beats)


@contextmanager
def open_in_place(url: str) -> Iterator[database.Transaction]:
    """Begin a transaction in an unused database of a server.

    Raises BotError if replicas are alive.
    """
    with open_session(url) as conn:
        found = examine_target(conn)
        if found.version != len(migrations.MIGRATIONS):
            raise errors.BotError(NO_DATABASE if found.version is None else OTHER_VERSION)
        beats = refuse_while_beating(lambda: _read_beats(conn))
        with _unused(conn, found, beats) as tx:
            yield tx


def forget_processes(tx: database.Transaction) -> None:
    """Forget the former server and its processes, which are all gone.

    A former lead finds a new term.
    """
    tx.execute("DELETE FROM replicas")
    for table in ("leads", "slices"):
        tx.execute(f"UPDATE {table} SET owner = '', term = term + 1")  # noqa: S608 - our own names
    checks.accept_timeline(tx)
