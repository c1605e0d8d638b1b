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

    def command(self, sql: bytes) -> Any:
        connection = self._held or self._pool.pop()
        self._held = connection if sql.startswith(b"BEGIN") else self._held
        try:
            return connection.command(sql)
        finally:
            if self._held is None:
                self._pool.append(connection)

    def rows(self, result: Any) -> Any:
        return self._pool[0].rows(result)

    def roll_back(self) -> None:
        if self._held is not None:
            self._held.roll_back()
            self._pool.append(self._held)
            self._held = None
