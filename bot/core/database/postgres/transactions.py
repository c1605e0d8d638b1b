"""Run a transaction on its thread's connection, retry after conflicts, and verify the commit.

If a transaction conflicts with others, or its connection is lost before the commit, it is rolled
back and its function runs again. If the answer to the COMMIT is lost, the server is asked whether
it was committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bot.core import errors
from bot.core.database import database
from bot.core.database.postgres import server
from bot.core.database.postgres.connection import (
    ABORTED,
    ANSWER_SECONDS,
    CONFLICTS,
    OUT_OF_DATE,
    OVERTAKEN,
    READ_ONLY,
    Connection,
    NotConnected,
    SqlError,
    translate,
    translated,
)

OVERTAKEN_RUNS = 3
"""Runs of a transaction that meets an existing key: if it violates the rule itself, runs don't
help."""

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.3
"""Seconds before a transaction runs again; each pause is about twice as long as the previous."""

UNKNOWN_SECONDS = 6.0
"""The longest time to ask for the outcome of a commit: the server ends a transaction three seconds
after its client is gone."""

XID = b"SELECT pg_current_xact_id_if_assigned()"
"""The transaction's number, by which the server reports its outcome."""

STATUS = b"SELECT pg_xact_status('%s')"

LOCK_SCOPE = (
    b"SELECT owner, term, pg_current_xact_id() FROM slices WHERE name = '%s' FOR NO KEY UPDATE"
)
CREATE_SCOPE = b"INSERT INTO slices (name) VALUES ('%s') ON CONFLICT DO NOTHING"
"""Both statements are sent together with others, so they can't have parameters."""


class PostgresTransaction(database.Transaction):
    """A transaction on a thread's connection."""

    engine: database.Engine = "postgresql"

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._locked: set[tuple[object, ...]] = set()
        self.writes = False
        """True if a statement may have changed rows."""
        self.changes = False
        """True if it has changed or locked rows; set when it ends."""

    def query(self, sql: str, **params: object) -> list[database.Row]:
        return self._connection.rows(self._run(sql, params))

    def execute(self, sql: str, **params: object) -> int:
        return self._run(sql, params).command_tuples or 0

    def lock(self, sql: str, **params: object) -> None:
        """Lock rows; rows that this transaction has already locked cost no statement."""
        lock = (sql, *params.items())
        if lock not in self._locked:
            self._connection.execute(sql, params)
            self._locked.add(lock)

    def _run(self, sql: str, params: dict[str, object]) -> Any:
        self.writes = self.writes or not translate(sql).is_read
        return self._connection.execute(sql, params)


@dataclass(frozen=True, slots=True)
class WriteScope:
    """The write scope that a transaction enters, and the lead that it requires, if any."""

    name: str
    lead: database.WriteLease | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} can't name a write scope")

    @property
    def lock(self) -> bytes:
        return LOCK_SCOPE % self.name.encode()

    @property
    def creation(self) -> bytes:
        return CREATE_SCOPE % self.name.encode()


class Runner:
    """Runs the transactions or reads of one thread on the thread's own connection."""

    def __init__(
        self, server: server.Server, *, reads: bool = False, patience: float = ANSWER_SECONDS
    ) -> None:
        self._server, self._reads, self._patience = server, reads, patience
        self._connection: Connection | None = None

    def perform(
        self, work: Callable[[database.Transaction], Any], scope: WriteScope | None, deadline: float
    ) -> tuple[Any, PostgresTransaction]:
        """Run `work` until it is committed; return its result and its last transaction.

        It is repeated after conflicts and lost connections until the `deadline` (monotonic). Raises
        StorageError, ConstraintError, NoLongerLead, and the exceptions of `work`.
        """
        pause, runs = FIRST_PAUSE, 0
        while True:
            runs += 1
            try:
                if time.monotonic() >= deadline:
                    self._server.check_presence()
                return self._attempt(work, scope)
            except SqlError as error:
                if not _may_repeat(error, runs, deadline):
                    raise translated(error) from None
                self._server.count("database_retries", error.sqlstate or "lost")
            except NotConnected:
                if self._server.closing.is_set() or time.monotonic() + pause >= deadline:
                    raise
            self._server.closing.wait(database.jittered(pause))
            pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attempt(
        self, work: Callable[[database.Transaction], Any], scope: WriteScope | None
    ) -> tuple[Any, PostgresTransaction]:
        connection = self._connected()
        tx = PostgresTransaction(connection)
        try:
            if self._reads and not self._server.is_pooled:
                return work(tx), tx  # each statement is a transaction
            xid = self._begin(connection, scope)
            result = work(tx)
            if tx.writes and xid is None:
                xid = connection.command(XID).get_value(0, 0)
            tx.changes = xid is not None
        except BaseException as error:
            self._give_up(connection, error)
            raise
        self._commit(connection, xid)
        return result, tx

    def _connected(self) -> Connection:
        """Return the thread's connection; replace it if any connection has been lost since."""
        if self._connection is None or not self._server.trusts(self._connection):
            self.close()
            self._connection = self._server.connect(reads=self._reads, patience=self._patience)
        return self._connection

    def _begin(self, connection: Connection, scope: WriteScope | None) -> bytes | None:
        """Begin in the write scope; return the transaction's number, None if not assigned."""
        opening = self._server.opening(connection, reads=self._reads)
        if scope is None:
            connection.command(opening)
            return None
        result = connection.command(opening + b"; " + scope.lock)
        if not result.ntuples:
            result = connection.command(scope.creation + b"; " + scope.lock)
        owner, term, xid = (result.get_value(0, column) or b"" for column in range(3))
        if scope.lead is not None and scope.lead != database.WriteLease(owner.decode(), int(term)):
            raise errors.NoLongerLead(scope.name)
        return xid

    def _give_up(self, connection: Connection, error: BaseException) -> None:
        """End a transaction that an error stopped."""
        connection.roll_back()
        if isinstance(error, SqlError) and error.sqlstate in OUT_OF_DATE:
            connection.forget_statements()
        if isinstance(error, SqlError) and error.sqlstate == READ_ONLY:
            connection.close()  # the next connection may reach a server that accepts changes
        if connection.is_lost:
            self._server.lost(connection)

    def _commit(self, connection: Connection, xid: bytes | None) -> None:
        """Commit. Raises SqlError if the commit failed, CommitUnknown if its outcome is unknown."""
        try:
            result = connection.command(b"COMMIT")
        except SqlError as error:
            self._give_up(connection, error)
            if not error.is_lost:
                raise
            if xid is not None and not self._was_committed(xid, connection.timeline):
                raise
        else:
            if result.command_status == b"ROLLBACK":
                raise SqlError("a transaction went on after an error, and was rolled back", ABORTED)

    def _was_committed(self, xid: bytes, timeline: str | None) -> bool:
        """Ask whether a commit whose answer was lost succeeded. Raises CommitUnknown."""
        until = time.monotonic() + UNKNOWN_SECONDS
        while time.monotonic() < until:
            with suppress(NotConnected, SqlError):
                connection = self._connected()
                if connection.timeline != timeline:
                    break
                status = connection.command(STATUS % xid).get_value(0, 0)
                if status in {b"committed", b"aborted"}:
                    self._server.count("database_commits_unknown", status.decode())
                    return status == b"committed"
            time.sleep(LONGEST_PAUSE)
        self._server.count("database_commits_unknown", "unknown")
        raise errors.CommitUnknown(
            "the answer to a commit was lost, and the server can't say whether it was stored"
        )


def _may_repeat(error: SqlError, runs: int, deadline: float) -> bool:
    if time.monotonic() >= deadline:
        return False
    is_overtaken = error.sqlstate in OVERTAKEN and runs < OVERTAKEN_RUNS
    return error.is_lost or error.sqlstate in CONFLICTS or is_overtaken
