"""The schema as numbered migrations, in SQL that SQLite and PostgreSQL both take.

Ids are text made by the application, times are UTC epoch milliseconds, money is minor units of the
currency beside it, JSON is text. A released migration is never changed: add the next one.

Replicas of the former version keep running during a migration and after it. So a migration only
adds tables, columns with a default, and indexes. What nothing uses any more is removed one release
later, by a `Removal`. An index of a table that may be large is a `Concurrent`, in a migration of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.core import errors
from bot.core.database import chat_tables, database, floor_tables, service_tables


class SqliteOnly(str):
    """A statement for SQLite alone."""

    __slots__ = ()


class PostgresOnly(str):
    """A statement for PostgreSQL alone."""

    __slots__ = ()


class Removal(str):
    """A statement that removes what the former version used: none of its replicas may run."""

    __slots__ = ()


class Concurrent(str):
    """A `CREATE INDEX` that PostgreSQL builds without locking writers out, in no transaction."""

    __slots__ = ()


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (*floor_tables.FLOOR, *service_tables.SERVICE, *service_tables.GOODS, *chat_tables.CHAT),
)
"""The statements of each migration; the first has the number 1."""

COLUMNS = "(number INTEGER PRIMARY KEY, needs INTEGER NOT NULL DEFAULT 0)"
"""`needs`: the number that a program has to know to use the database; higher after a removal."""

CREATE = f"CREATE TABLE IF NOT EXISTS migrations {COLUMNS}"
NOTE = "INSERT INTO migrations (number, needs) VALUES (:number, :needs)"


def select(statements: tuple[str, ...], engine: str) -> Iterator[str]:
    """Yield the statements of a migration that an engine runs."""
    other = PostgresOnly if engine == "sqlite" else SqliteOnly
    return (statement for statement in statements if not isinstance(statement, other))


def removes(number: int) -> bool:
    """True if a migration removes what the former version used."""
    return any(isinstance(statement, Removal) for statement in MIGRATIONS[number - 1])


def is_concurrent(number: int) -> bool:
    """True if PostgreSQL runs a migration outside of transactions."""
    return any(isinstance(statement, Concurrent) for statement in MIGRATIONS[number - 1])


def refuse_newer(tx: database.Transaction) -> None:
    """Raise BotError if a newer version has removed what this one uses."""
    row = tx.one("SELECT MAX(needs) AS number FROM migrations")
    needed = (row and row["number"]) or 0
    if needed > len(MIGRATIONS):
        raise errors.BotError(
            "a newer version of this program has removed what this one uses"
            f" (schema {needed}): update the program"
        )


def needs(number: int) -> int:
    """Return the number that a program has to know after a migration: its own, or any."""
    return number if removes(number) else 0
