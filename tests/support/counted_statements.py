"""The statements of a transaction: each is a round trip to the server on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.core.database.database import Row, Transaction


class CountedTransaction(Transaction):
    """A transaction that keeps the texts of its statements, of locks only where there are any."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__()
        self._tx, self.engine = tx, tx.engine
        self.texts: list[str] = []

    def query(self, sql: str, **params: object) -> list[Row]:
        self.texts.append(sql)
        return self._tx.query(sql, **params)

    def execute(self, sql: str, **params: object) -> int:
        self.texts.append(sql)
        return self._tx.execute(sql, **params)

    def lock(self, sql: str, **params: object) -> None:
        if self.engine != "sqlite":
            self.texts.append(sql)
        self._tx.lock(sql, **params)


def statements_of(work: Callable[[Transaction], Any]) -> Callable[[Transaction], list[str]]:
    """Return work that does the same, and returns the texts of its statements."""

    def run(tx: Transaction) -> list[str]:
        counted = CountedTransaction(tx)
        work(counted)
        return counted.texts

    return run
