"""A database in which every table that is copied has rows, with values at the edges of types."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bot.core.database import migrations
from bot.core.database.postgres.copying import Column, Table, read_tables
from bot.core.database.vault import Vault
from tests.support.databases import copy_empty

KEY = "the key of this installation"
TEXTS = (
    "",
    " ",
    "naïve \u202e ßẞ",
    "👩‍👩‍👧 \\ ' \" % :name $1",
    "a\tb\r\nc\x1f\x7f",
    "\ufeff\uffff",
    "null",
)
NUMBERS = (0, 1, 2**31, 2**32 + 5, 10**12, 2**53 + 1, 2**63 - 1)
SMALL = (0, 1, 2**31 - 1, -(2**31), 7, -1, 12)
ROWS = 7
"""Of each table."""

TABLES = read_tables(len(migrations.MIGRATIONS))
SEALED = {
    ("kept_secrets", "sealed"): "secret",
    ("apps", "webhook_secret"): "webhook",
    ("apps", "former_webhook_secret"): "former",
    ("payout_accounts", "details"): "account",
}
STATES = ("waiting", "leased", "done")


def fill(folder: Path) -> Path:
    """Return a file with rows in every table; its secrets are sealed with KEY."""
    path = copy_empty(folder / "bot.db")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA foreign_keys = ON")
        for table in TABLES:
            insert(conn, table)
        conn.commit()
        conn.execute("PRAGMA journal_mode = DELETE")
    return path


def insert(conn: sqlite3.Connection, table: Table) -> None:
    parents = {row[3]: row[2] for row in conn.execute(f"PRAGMA foreign_key_list({table.name})")}
    info = conn.execute(f"PRAGMA table_info({table.name})")
    needed = {name for _, name, _, not_null, _, key in info if not_null or key}
    marks = ", ".join("?" * len(table.columns))
    for number in range(ROWS):
        row = [
            None
            if number % 3 == 1 and column.name not in needed
            else id_of(parents[column.name], number)
            if column.name in parents
            else value_of(table.name, column, number)
            for column in table.columns
        ]
        conn.execute(f"INSERT INTO {table.name} VALUES ({marks})", row)


def value_of(table: str, column: Column, number: int) -> object:
    """Return a value of a column, another one for each row."""
    if secret := SEALED.get((table, column.name)):
        return Vault(KEY).seal(f"{secret} {number}")
    if table == "outbox" and column.name in {"body", "state"}:
        return '{"text": "é \\u0000"}' if column.name == "body" else STATES[number % len(STATES)]
    values = {
        "TEXT": id_of(table, number) if column.name == "id" else f"{TEXTS[number]}{number}",
        "BYTEA": bytes(range(256)) * number,
        "INTEGER": SMALL[number],
        "BIGINT": NUMBERS[number],
    }
    return values[column.type]


def id_of(table: str, number: int) -> str:
    return f"{table}-é-{number}"
