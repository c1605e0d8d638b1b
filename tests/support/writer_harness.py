"""Transactions that succeed and fail, and a writer that is held until several wait."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable
from contextlib import closing

from bot.core.database.database import Database, Transaction
from tests.support.sqlite_engine import sqlite

PUT = "INSERT INTO kept_secrets (name, sealed) VALUES (:name, '')"


def put(tx: Transaction, name: str) -> str:
    tx.execute(PUT, name=name)
    return name


def fail(tx: Transaction, name: str) -> None:
    tx.execute(PUT, name=name)
    raise LookupError(name)


def orphan(tx: Transaction) -> None:
    """Make the commit fail: a deferred foreign key is checked last."""
    tx.execute("PRAGMA defer_foreign_keys = ON")
    tx.execute(
        "INSERT INTO received_payments"
        " (request_id, transaction_id, listing_id, amount, currency, body, received_at)"
        " VALUES ('r', 't', 'nobody', 1, 'USD', '{}', 0)"
    )


def there(db: Database) -> list[str]:
    """Return what is stored, read from outside."""
    with closing(sqlite3.connect(sqlite(db).path)) as other:
        return [name for (name,) in other.execute("SELECT name FROM kept_secrets ORDER BY name")]


class PausedWriter:
    """A writer whose thread is held, so that transactions come to it as one group."""

    def __init__(self, db: Database) -> None:
        self._release = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._db = db
        self.statements: list[str] = []

    async def together(self, *asked: Awaitable[object]) -> list[object]:
        """Start all of them at once; return each result or exception."""
        thread, conn = sqlite(self._db)._writer._thread, sqlite(self._db)._writer._conn
        go = thread.submit(self._wait)
        tasks = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0)  # each has been submitted
        conn.set_trace_callback(self.statements.append)
        self._release.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        conn.set_trace_callback(None)
        await asyncio.wrap_future(go)
        return list(found)

    def _wait(self) -> None:
        asyncio.run_coroutine_threadsafe(self._release.wait(), self._loop).result()

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")
