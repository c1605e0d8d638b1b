"""One connection to the server: statements, rows, and the moment by which an answer has to come."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus

from bot.core.database.postgres.faults import SqlError
from bot.core.database.postgres.statements import bind, translate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg.pq.abc import PGresult

    from bot.core.database.interface import Row

ANSWER_SECONDS = 12.0
"""The longest wait for an answer: the server ends a statement itself after ten seconds.

A server that is stopped, or a proxy that hangs, still acknowledges packets, so that no time-out of
TCP ends the wait.
"""

MOST_PREPARED = 1000
"""Prepared statements of a connection, each a statement with one combination of types."""

ANSWERED = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.EMPTY_QUERY)
FATAL = (b"FATAL", b"PANIC")
"""Errors after which the server ends the connection; an error of libpq itself has no SQLSTATE."""

NEVER = float("inf")


class Connection:
    """A connection that one thread uses; another one may `shut` it.

    Prepared statements are kept until it is closed, also over rollbacks; with `prepares` false
    there are none, as a pooler needs it. `until` is the moment (monotonic) by which the answer has
    to come that is waited for; `timeline` is that of the server, None where it is not known.
    """

    def __init__(
        self, conn: psycopg.Connection, *, prepares: bool = True, patience: float = ANSWER_SECONDS
    ) -> None:
        self._conn, self._libpq = conn, conn.pgconn
        self._transformer = Transformer(conn)
        self._prepares, self._patience = prepares, patience
        self._prepared: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self.until = NEVER
        self.timeline: str | None = None
        self.generation = 0

    @property
    def is_lost(self) -> bool:
        """Return whether nothing can be asked any more."""
        return self._libpq.status != ConnStatus.OK

    @property
    def backend(self) -> int:
        """Return the number of the server's process for this connection."""
        return self._libpq.backend_pid

    def fileno(self) -> int:
        """Return the socket's file handle."""
        return self._conn.fileno()

    def notifications(self) -> list[tuple[int, str]]:
        """Return what came by NOTIFY, with the number of its sender. Raises SqlError."""
        found = []
        try:
            self._libpq.consume_input()
            while received := self._libpq.notifies():
                found.append((received.be_pid, received.extra.decode()))
        except psycopg.Error as error:
            raise self._lost(error) from None
        return found

    @property
    def server_version(self) -> int:
        """Return the server's version as a number, such as 180004."""
        return self._libpq.server_version

    def command(self, sql: bytes) -> PGresult:
        """Run statements without parameters in one round trip; return the result of the last."""
        self.until = time.monotonic() + self._patience
        try:
            return self._checked(self._libpq.exec_(sql))
        except psycopg.Error as error:
            raise self._lost(error) from None
        finally:
            self.until = NEVER

    def execute(self, sql: str, params: Mapping[str, object]) -> PGresult:
        """Run a statement. Raises SqlError."""
        statement = translate(sql)
        bound = bind(statement.names, params)
        self.until = time.monotonic() + self._patience
        try:
            if self._prepares:
                name = self._name(statement.text, bound.types)
                result = self._libpq.exec_prepared(name, bound.values, bound.formats)  # type: ignore[arg-type] # None is NULL
            else:
                result = self._libpq.exec_params(
                    statement.text, bound.values, bound.types, bound.formats
                )
            return self._checked(result)
        except psycopg.Error as error:
            raise self._lost(error) from None
        finally:
            self.until = NEVER

    def rows(self, result: PGresult) -> list[Row]:
        """Return the rows of a result."""
        number = result.ntuples
        if not number:
            return []
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        self._transformer.set_pgresult(result)
        found = self._transformer.load_rows(0, number, tuple)
        return [dict(zip(names, row, strict=True)) for row in found]

    def roll_back(self) -> None:
        """End the transaction without its changes; a lost connection has none."""
        if self._libpq.transaction_status != TransactionStatus.IDLE:
            with suppress(SqlError):
                self.command(b"ROLLBACK")

    def forget_statements(self) -> None:
        """Delete all prepared statements, as their plans are out of date."""
        self._prepared.clear()
        with suppress(SqlError):
            self.command(b"DEALLOCATE ALL")

    def shut(self) -> None:
        """End the wait of the thread that waits for an answer; from any thread."""
        with suppress(OSError, psycopg.Error), self._line() as line:
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it; what it had begun is rolled back."""
        self._conn.close()

    def _line(self) -> socket.socket:
        return socket.socket(fileno=os.dup(self._conn.fileno()))

    def _name(self, text: bytes, types: tuple[int, ...]) -> bytes:
        name = self._prepared.get((text, types))
        if name is None:
            if len(self._prepared) >= MOST_PREPARED:
                self.forget_statements()
            name = b"s%d" % len(self._prepared)
            self._checked(self._libpq.prepare(name, text, types))
            self._prepared[text, types] = name
        return name

    def _checked(self, result: PGresult) -> PGresult:
        if result.status in ANSWERED:
            return result
        message = result.error_field(DiagnosticField.MESSAGE_PRIMARY)
        state = result.error_field(DiagnosticField.SQLSTATE)
        severity = result.error_field(DiagnosticField.SEVERITY_NONLOCALIZED)
        raise SqlError(
            _text(message or result.error_message or b"no answer"),
            state.decode() if state else None,
            is_lost=state is None or severity in FATAL,
        )

    def _lost(self, error: psycopg.Error) -> SqlError:
        return SqlError(str(error).strip() or type(error).__name__, is_lost=True)


def _text(message: bytes) -> str:
    return " ".join(message.decode(errors="replace").split())
