"""The schema as numbered migrations, in SQL for both SQLite and PostgreSQL.

Ids are text made by the application, times are UTC epoch milliseconds, money is minor units of the
currency in the same row, JSON is text. A released migration is never changed: add a new migration.

Replicas of the previous version keep running during and after a migration. So a migration only adds
tables, columns with a default, and indexes. Unused objects are removed one release later, by a
`Removal`. An index of a table that may be large is a `Concurrent` in a separate migration.
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
    """A statement that removes objects of the previous version, whose replicas must be gone."""

    __slots__ = ()


class Concurrent(str):
    """A `CREATE INDEX` that PostgreSQL runs outside a transaction, without blocking writers."""

    __slots__ = ()


MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (*floor_tables.FLOOR, *service_tables.SERVICE, *service_tables.GOODS, *chat_tables.CHAT),
)
"""The statements of each migration; the first has the number 1."""

COLUMNS = "(number INTEGER PRIMARY KEY, needs INTEGER NOT NULL DEFAULT 0)"
"""`needs`: a program must know the migration of this number to use the database; 0 if there is no
requirement. Removals raise the number."""

CREATE = f"CREATE TABLE IF NOT EXISTS migrations {COLUMNS}"
NOTE = "INSERT INTO migrations (number, needs) VALUES (:number, :needs)"


def select(statements: tuple[str, ...], engine: str) -> Iterator[str]:
    """Yield the statements that an engine runs."""
    other = PostgresOnly if engine == "sqlite" else SqliteOnly
    return (statement for statement in statements if not isinstance(statement, other))


def removes(number: int) -> bool:
    """True if a migration removes objects that the previous version used."""
    return any(isinstance(statement, Removal) for statement in MIGRATIONS[number - 1])


def is_concurrent(number: int) -> bool:
    """True if PostgreSQL runs a migration outside a transaction."""
    return any(isinstance(statement, Concurrent) for statement in MIGRATIONS[number - 1])


def refuse_newer(tx: database.Transaction) -> None:
    """Raise BotError if a newer version has removed objects that this version uses."""
    row = tx.one("SELECT MAX(needs) AS number FROM migrations")
    needed = (row and row["number"]) or 0
    if needed > len(MIGRATIONS):
        raise errors.BotError(
            "a newer version of this program has removed what this one uses"
            f" (schema {needed}): update the program"
        )


def needs(number: int) -> int:
    """Return the value of the column `needs` for a migration: `number` for a removal, else 0."""
    return number if removes(number) else 0
