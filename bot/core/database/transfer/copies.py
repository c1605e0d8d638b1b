"""Whole databases copied from a PostgreSQL server to a SQLite file, and back."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.database import timelines
from bot.core.database.postgres import beats, migrating
from bot.core.database.schema import migrations
from bot.core.database.tables import read_tables
from bot.core.database.transfer import sessions, target
from bot.core.database.transfer.dump import dump
from bot.core.database.transfer.load import load
from bot.core.database.urls import safe_url
from bot.core.errors import BotError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bot.core.database.interface import Transaction
    from bot.core.database.postgres.beats import Beats
    from bot.core.database.transfer.sessions import Connection
    from bot.core.database.transfer.target import Target

NO_DATABASE = "DATABASE_URL: there is no database yet: start the bot once or fix the URL"

OTHER_VERSION = (
    "DATABASE_URL: the database has the schema of another version: run this with the version that"
    " ran last"
)


def back_up(url: str, path: Path) -> None:
    """Copy the database of a server, of one moment, into the empty file `path`.

    Others use it meanwhile. Raises BotError.
    """
    with sessions.opened(url) as conn, sessions.transaction(conn, read_only=True):
        found = target.examine(conn)
        if found.version is None:
            raise BotError(NO_DATABASE)
        if found.is_newer:
            raise BotError(
                f"DATABASE_URL: was migrated by a newer version (schema {found.version}, this one"
                f" knows {len(migrations.MIGRATIONS)}): back up with that one"
            )
        dump(conn, path, found.version)


@dataclass(slots=True)
class Destination:
    """A server's schema that nobody uses, to load a database into."""

    conn: Connection
    found: Target
    has_data: bool
    beats: Beats

    def load(self, path: Path, stamp: str) -> str | None:
        """Put the rows of a file in the place of what is there, in one transaction.

        Returns the schema that holds the former tables from then on, None where they held no data.
        `stamp` is a part of its name. Raises BotError, and then nothing has changed.
        """
        with sessions.transaction(self.conn) as tx:
            tx.execute(migrating.ONE_AT_A_TIME)
            target.lock(self.conn, self.found)
            beats.refuse_changed(self.beats, _look(self.conn))
            aside = target.clear(self.conn, self.found, stamp, keeps=self.has_data)
            migrating.migrate(tx)
            load(self.conn, path, read_tables(len(migrations.MIGRATIONS)))
            timelines.accept(tx)
        return aside


@contextmanager
def unused(url: str, embedded: str, refusal: str | None) -> Iterator[Destination]:
    """Open a server's schema to load a database into; `embedded` as in `target.holds_data`.

    Raises BotError where replicas are alive, and where there is data, unless there is no `refusal`,
    which says what to do then.
    """
    with sessions.opened(url) as conn:
        found = target.examine(conn)
        target.refuse_strangers(found)
        has_data = target.holds_data(conn, found, embedded)
        if has_data and refusal:
            raise BotError(f"{safe_url(url)}: holds data: {refusal}")
        yield Destination(conn, found, has_data, beats.refuse_while_beating(lambda: _look(conn)))


@contextmanager
def in_place(url: str) -> Iterator[Transaction]:
    """Begin one transaction in a server's database that nobody uses.

    Raises BotError where replicas are alive.
    """
    with sessions.opened(url) as conn:
        found = target.examine(conn)
        if found.version != len(migrations.MIGRATIONS):
            raise BotError(NO_DATABASE if found.version is None else OTHER_VERSION)
        seen = beats.refuse_while_beating(lambda: _look(conn))
        with sessions.transaction(conn) as tx:
            target.lock(conn, found)
            beats.refuse_changed(seen, _look(conn))
            yield tx


def forget_processes(tx: Transaction) -> None:
    """Delete the rows about processes, all of which are gone; a former lead finds another term."""
    tx.execute("DELETE FROM replicas")
    for table in ("leads", "slices"):
        tx.execute(f"UPDATE {table} SET owner = '', term = term + 1")  # noqa: S608 - our own names


def _look(conn: Connection) -> Beats:
    """Return the beat of every replica; none where there is no table yet."""
    exists = conn.execute("SELECT to_regclass('replicas') IS NOT NULL").fetchone()
    if not exists or not exists[0]:
        return {}
    return dict(conn.execute("SELECT owner, beat FROM replicas").fetchall())
