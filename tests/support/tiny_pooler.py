"""A pooler as its clients see it: only a transaction holds a connection of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.core.database.postgres.connection import Connection


class PooledConnection:
    """A client's connection to a pooler, which hands out the one that was free last."""

    def __init__(self, pool: list[Connection]) -> None:
        self._pool = pool
        self._held: Connection | None = None

    def execute(self, sql: str, **how: Any) -> Any:
        connection = self._held or self._pool.pop()
        self._held = connection if sql.startswith("BEGIN") else self._held
        try:
            return connection.execute(sql, **how)
        finally:
            if self._held is None:
                self._pool.append(connection)

    def roll_back(self) -> None:
        if self._held is not None:
            self._held.roll_back()
            self._pool.append(self._held)
            self._held = None
