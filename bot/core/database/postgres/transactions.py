"""Run transactions in threads, each on its connection: retried after conflicts, and verified.

If a transaction conflicts with others, or its connection is lost before the commit, it is rolled
back and its function runs again. If the answer to the COMMIT is lost, the server is asked whether
it was committed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from bot.core import errors
from bot.core.database import database
from bot.core.database.postgres import connection

T = TypeVar("T")

OVERTAKEN_RUNS = 3
"""Runs of a transaction that meets an existing key: if it violates the rule itself, runs don't
help."""

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.3
"""Seconds before a transaction runs again; each pause is about twice as long as the previous."""

UNKNOWN_SECONDS = 6.0
"""The longest time to ask for the outcome of a commit: the server ends a transaction three seconds
after its client is gone."""

XID = sql.SQL("SELECT pg_current_xact_id() AS xid")
"""The transaction's number, by which the server reports its outcome. It is asked for in the round
trip that begins the transaction: later, it would cost one more while rows are locked."""

STATUS = "SELECT pg_xact_status(CAST(:xid AS xid8)) AS status"

LOCK_SCOPE = sql.SQL(
    "SELECT owner, term, pg_current_xact_id() AS xid FROM slices WHERE name = {} FOR NO KEY UPDATE"
)
"""It is sent together with other statements, so it can't have parameters."""

CREATE_SCOPE = "INSERT INTO slices (name) VALUES (:name) ON CONFLICT DO NOTHING"


class PostgresTransaction(database.Transaction):
    """A transaction on a connection."""

    engine: database.Engine = "postgresql"

    def __init__(self, opened: connection.Connection) -> None:
        super().__init__()
        self._opened = opened
        self._locked: set[tuple[object, ...]] = set()
        self.writes = False
        """True if a statement may have changed rows."""
        self.xid: str | None = None
        """Its number; None if it only reads."""

    def query(self, sql: str, **params: object) -> list[database.Row]:
        return self._run(sql, params).fetchall()

    def execute(self, sql: str, **params: object) -> int:
        return self._run(sql, params).rowcount

    def lock(self, sql: str, **params: object) -> None:
        """Lock rows; rows that this transaction has already locked cost no statement."""
        lock = (sql, *params.items())
        if lock not in self._locked:
            self._opened.execute(sql, params)
            self._locked.add(lock)

    def _run(self, sql: str, params: dict[str, object]) -> psycopg.RawCursor[database.Row]:
        done = self._opened.execute(sql, params)
        self.writes = self.writes or not (done.statusmessage or "").startswith("SELECT")
        return done


@dataclass(frozen=True, slots=True)
class WriteScope:
    """The write scope that a transaction enters, and the lead that it requires, if any."""

    name: str
    lead: database.WriteLease | None = None


class Runner:
    """Runs transactions or reads, one at a time, on a connection that it replaces if necessary."""

    def __init__(
        self,
        server: connection.Server,
        *,
        reads: bool = False,
        patience: float = connection.ANSWER_SECONDS,
    ) -> None:
        self._server, self._reads, self._patience = server, reads, patience
        self._connection: connection.Connection | None = None

    def perform(
        self, work: Callable[[database.Transaction], Any], scope: WriteScope | None, deadline: float
    ) -> tuple[Any, PostgresTransaction]:
        """Run `work` until it is committed; return its result and its last transaction.

        It is repeated after conflicts and lost connections, and if `work` raises Overtaken, until
        the `deadline` (monotonic). Raises StorageError, ConstraintError, NoLongerLead, SqlError,
        and the exceptions of `work`.
        """
        pause, runs = FIRST_PAUSE, 0
        while True:
            runs += 1
            try:
                if time.monotonic() >= deadline:
                    self._server.check_presence()
                return self._attempt(work, scope)
            except psycopg.Error as error:
                is_overtaken = isinstance(error, connection.OVERTAKEN) and runs < OVERTAKEN_RUNS
                is_conflict = isinstance(error, connection.CONFLICTS)
                may_repeat = is_overtaken or is_conflict or connection.is_lost(error)
                if time.monotonic() >= deadline or not may_repeat:
                    raise connection.translated(error) from None
                self._server.count("database_retries", error.sqlstate or "lost")
            except errors.Overtaken:
                if time.monotonic() >= deadline:
                    raise
                self._server.count("database_retries", "overtaken")
            except connection.NotConnected:
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
        opened = self._connected()
        tx = PostgresTransaction(opened)
        is_committing = False
        try:
            if self._reads and not self._server.is_pooled:
                return work(tx), tx  # each statement is a transaction
            self._begin(tx, opened, scope)
            result = work(tx)
            is_committing = True
            opened.commit()
        except BaseException as error:
            opened.roll_back()
            is_refused = isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
            if is_refused or opened.conn.closed:  # another server may accept changes
                self._server.lost(opened)
            elif isinstance(error, connection.OUT_OF_DATE):
                self.close()
            is_unanswered = (
                is_committing and isinstance(error, psycopg.Error) and connection.is_lost(error)
            )
            if not is_unanswered or (tx.xid and not self._was_committed(tx.xid, opened.timeline)):
                raise
        return result, tx

    def _connected(self) -> connection.Connection:
        """Return the connection; replace it if any connection has been lost since."""
        if self._connection is None or not self._server.trusts(self._connection):
            self.close()
            self._connection = self._server.connect(reads=self._reads, patience=self._patience)
        return self._connection

    def _begin(
        self, tx: PostgresTransaction, opened: connection.Connection, scope: WriteScope | None
    ) -> None:
        """Begin, and lock the write scope in the same round trip. Raises NoLongerLead."""
        if self._reads:
            opened.execute(opened.begin, prepare=False)
            return
        first = (LOCK_SCOPE.format(scope.name) if scope else XID).as_string()
        found = opened.execute(f"{opened.begin}; {first}", prepare=False).set_result(-1).fetchall()
        if not found and scope:
            opened.execute(CREATE_SCOPE, {"name": scope.name})
            found = opened.execute(first).fetchall()
        (row,) = found
        tx.xid = row["xid"]
        if scope and scope.lead and scope.lead != database.WriteLease(row["owner"], row["term"]):
            raise errors.NoLongerLead(scope.name)

    def _was_committed(self, xid: str, timeline: str | None) -> bool:
        """Ask whether a commit whose answer was lost succeeded. Raises CommitUnknown."""
        until = time.monotonic() + UNKNOWN_SECONDS
        while time.monotonic() < until:
            with suppress(connection.NotConnected, psycopg.Error):
                opened = self._connected()
                if opened.timeline != timeline:
                    break
                (row,) = opened.execute(STATUS, {"xid": xid}).fetchall()
                if row["status"] in {"committed", "aborted"}:
                    self._server.count("database_commits_unknown", row["status"])
                    return bool(row["status"] == "committed")
            time.sleep(LONGEST_PAUSE)
        self._server.count("database_commits_unknown", "unknown")
        raise errors.CommitUnknown(
            "the answer to a commit was lost, and the server can't say whether it was stored"
        )


class Threads:
    """Threads that perform queued work, each piece on a connection that no other thread uses.

    Transactions of one write scope would wait for each other at the scope's row and occupy every
    thread, and so would transactions about the same thing, such as the payments of one request. So
    such transactions wait in a line. A write scope occupies one thread at a time. A thing occupies
    two threads, so that its second transaction has already begun when the first ends.
    """

    def __init__(self, server: connection.Server, number: int, name: str, *, reads: bool) -> None:
        self._server, self._reads = server, reads
        self._pool = ThreadPoolExecutor(number, thread_name_prefix=name)
        self._idle: list[Runner] = []
        self._lock = threading.Lock()
        self._lines: defaultdict[str, deque[tuple[Future[Any], Callable[[Runner], Any]]]] = (
            defaultdict(deque)
        )
        self._begun: Counter[str] = Counter()  # queued or running work of each line
        self._is_closed = False

    def submit(self, work: Callable[[Runner], T], line: str = "", width: int = 0) -> Future[T]:
        """Queue work; of a line, at most `width` pieces are in the threads at a time."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the database is closed")
            if line and self._begun[line] == width:
                self._lines[line].append((future, work))
            else:
                self._begun[line] += 1
                self._pool.submit(self._serve, line, future, work)
        return future

    def close(self) -> None:
        """Finish the queue and the lines."""
        with self._lock:
            self._is_closed = True
        self._pool.shutdown()
        for runner in self._idle:
            runner.close()

    def _serve(self, line: str, future: Future[Any], work: Callable[[Runner], Any]) -> None:
        while True:
            if future.set_running_or_notify_cancel():
                self._perform(future, work)
            with self._lock:
                if not (line and self._lines[line]):
                    self._begun[line] -= 1
                    if not self._begun[line]:
                        del self._begun[line]
                        self._lines.pop(line, None)
                    return
                future, work = self._lines[line].popleft()
                if not self._is_closed:  # other work is next
                    self._pool.submit(self._serve, line, future, work)
                    return

    def _perform(self, future: Future[Any], work: Callable[[Runner], Any]) -> None:
        """Perform work on the connection that was used last, so that few are needed."""
        try:
            runner = self._idle.pop()
        except IndexError:
            runner = Runner(self._server, reads=self._reads)
        try:
            answer = partial(future.set_result, work(runner))
        except BaseException as error:  # noqa: BLE001 - its caller gets it
            answer = partial(future.set_exception, database.raisable(error))
        self._idle.append(runner)  # before the caller asks for more
        answer()
