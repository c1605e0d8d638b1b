"""A pytest plugin that runs the work of each transaction twice: rolled back, and then for good.

An engine does so after a conflict, so work has no effect but rows: every test passes as without.
`python -m pytest -p tests.support.run_twice tests/service` (decision 0069).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from bot.core.database.database import Transaction
from bot.core.database.sqlite import SqliteDatabase

T = TypeVar("T")


class Undone(Exception):
    """Rolls the first run back."""


def undone(work: Callable[[Transaction], Any]) -> Callable[[Transaction], None]:
    """Return work that does the same, and is rolled back."""

    def run(tx: Transaction) -> None:
        work(tx)
        raise Undone

    return run


_transaction, _run = SqliteDatabase.transaction, SqliteDatabase.run


async def transaction_twice(
    self: SqliteDatabase, work: Callable[[Transaction], T], about: str = ""
) -> T:
    with suppress(Undone):
        await _transaction(self, undone(work), about)
    return await _transaction(self, work, about)


def run_twice(self: SqliteDatabase, work: Callable[[Transaction], T]) -> T:
    with suppress(Undone):
        _run(self, undone(work))
    return _run(self, work)


def pytest_configure() -> None:
    SqliteDatabase.transaction = transaction_twice  # type: ignore[method-assign]
    SqliteDatabase.run = run_twice  # type: ignore[method-assign]
