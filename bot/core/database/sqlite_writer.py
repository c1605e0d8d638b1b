"""The only writer of a SQLite file: it commits queued transactions together.

A commit waits for the disk, so one commit serves all transactions in the queue. Each transaction
runs in its own savepoint, so that it is stored completely or not at all, and no caller gets a
result before the commit. The writer's thread commits and runs long statements. Short statements run
on the event loop, because the thread would have to wait for the interpreter lock at each of them
(docs/decisions/database.md#0082).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from types import TracebackType
from typing import Any, TypeVar

import structlog

from bot.core import errors
from bot.core.database import database, urls

log = structlog.get_logger()
T = TypeVar("T")

MACHINE_FAULTS = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
}
"""SQLite's primary result codes for faults of the machine (sqlite.org/rescode.html)."""

sqlite3.register_adapter(type(None), lambda _: None)
"""Without it, the driver looks for a protocol in each NULL that a statement gets."""

_NAME = itemgetter(0)
"""Returns the name in a column's description (PEP 249)."""


class SqliteTransaction(database.Transaction):
    """A transaction on the writer's connection, or a read on a reader's connection."""

    engine: database.Engine = "sqlite"

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def query(self, sql: str, **params: object) -> list[database.Row]:
        cursor = self._conn.execute(sql, params)
        rows = cursor.fetchall()  # also ends the statement, as a commit needs
        names = list(map(_NAME, cursor.description))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def execute(self, sql: str, **params: object) -> int:
        cursor = self._conn.execute(sql, params)
        changed = cursor.rowcount
        cursor.close()
        return changed

    def lock(self, sql: str, **params: object) -> None:
        """Lock nothing: while one writer writes, no other does."""


class _StorageErrors:
    """Translates SQLite's errors in a `with`; a generator would slow down each statement."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, sqlite3.IntegrityError):
            raise errors.ConstraintError(str(error)) from error
        is_fault = isinstance(error, sqlite3.DatabaseError) and (
            getattr(error, "sqlite_errorcode", 0) & 0xFF in MACHINE_FAULTS
        )
        if is_fault:
            raise errors.StorageError(str(error)) from error


_ERRORS = _StorageErrors()


def storage_errors() -> _StorageErrors:
    """Raise StorageError for faults of the machine, ConstraintError for rows that break a rule.

    Other errors are bugs and stay as they are.
    """
    return _ERRORS


# The queue, and the groups of transactions that one commit serves.


BUSY_TIMEOUT_SECONDS = 5.0
"""The longest wait of a transaction for other processes, from the moment it was queued.

Queued transactions wait at the same time, so no payer waits longer than this.
"""

LOCK_PAUSE = 0.01
"""Seconds between attempts to begin while another process writes."""

TURN_SECONDS = 0.005
"""How long transactions run on the event loop before other tasks get their turn."""

CROWD = 4
PAUSE_SECONDS = 0.003
"""After a group of this many transactions, the next group waits at least PAUSE_SECONDS: a commit
costs as much as three payments, and many small commits would leave no time for payers."""

MAX_GROUP = 64
"""The most transactions in one commit: the first of them waits for all the others."""

CHECKPOINT_PAGES = 4000
"""Pages of the -wal (16 MiB) before its content moves into the file. Each changed page moves only
once, however often it changed. SQLite's default of 1,000 pages is about sixty payments with a
webhook."""

FILE_MOVED = (
    "its file was moved, deleted or replaced: put it back, beside its -wal with the newest data"
)


@dataclass(slots=True)
class QueuedTransaction:
    """A transaction in the writer's queue."""

    work: Callable[[database.Transaction], Any]
    loop: asyncio.AbstractEventLoop | None
    """The caller's event loop, if it has one."""
    deadline: float
    """In monotonic seconds; until then it waits for other processes."""
    future: Future[Any] | asyncio.Future[Any]
    in_thread: bool
    """True if the transaction runs in the writer's thread."""
    result: Any = None
    error: BaseException | None = None
    topics: frozenset[str] = frozenset()
    counts: Sequence[tuple[str, ...]] = ()
    is_answered: bool = False

    def begin(self) -> bool:
        """Return False if it was cancelled; afterwards a future of `submit` can't be cancelled."""
        if isinstance(self.future, Future):
            return self.future.set_running_or_notify_cancel()
        return not self.future.cancelled()

    def answer(self) -> None:
        """Set the future to the result or the error, unless it is done already."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    """Runs queued transactions in order on one connection, one group per commit.

    Short transactions run on an event loop, which hands the commit to the writer's thread. The
    thread runs long transactions, transactions of callers without an event loop, and, while another
    process writes, all transactions.
    """

    def __init__(
        self,
        path: str,
        conn: sqlite3.Connection,
        health: database.Health,
        wake: Callable[[str], None],
    ) -> None:
        """`wake` wakes the listeners of a topic; it is called on the event loop of a caller."""
        self._path = path
        self._conn = conn
        self._conn.execute("PRAGMA busy_timeout = 0")  # `_begin` waits, until the deadlines
        self._conn.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        self._changes = 0
        self._file = urls.file_identity(path)
        self._health, self._wake = health, wake
        self.count: Callable[..., None] = database.count_nothing
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="db-writer")
        self._lock = threading.Lock()
        self._queue: deque[QueuedTransaction] = deque()
        self._for_thread = 0  # how many in the queue run in the thread
        self._busy = False  # the loop or the thread that set it has the connection
        self._called: asyncio.AbstractEventLoop | None = None  # will serve the queue
        self._next_at = 0.0  # by the loop's clock: the earliest time of the next group
        self._closing = threading.Event()

    def keep_journals_in_memory(self) -> None:
        """Keep the journals of savepoints in memory, once the schema is up to date.

        Journal files would double the amount of data written. While the schema is migrated, new
        indexes of large tables are sorted in files.
        """
        self._thread.submit(self._conn.execute, "PRAGMA temp_store = MEMORY").result()

    def submit(self, work: Callable[[database.Transaction], T]) -> Future[T]:
        """Queue a transaction; return a future that is set once it is durable.

        An exception in `work`, or StorageError if the machine fails, rolls it back. It does not run
        if the future is cancelled first.
        """
        future: Future[T] = Future()
        self.enqueue(work, future)
        return future

    def enqueue(
        self,
        work: Callable[[database.Transaction], Any],
        future: Future[Any] | asyncio.Future[Any],
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        in_thread: bool = True,
    ) -> None:
        """Queue a transaction.

        A caller must call this from its event `loop` and gets the result there; the transaction
        also runs there unless `in_thread`. Without a loop it runs in the writer's thread.
        """
        deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
        one = QueuedTransaction(work, loop, deadline, future, in_thread)
        with self._lock:
            self._queue.append(one)
            self._for_thread += in_thread
            if self._busy:
                return
            if loop is None or in_thread or self._closing.is_set():
                self._thread.submit(self._serve)
                self._busy = True
            elif self._called is not loop:
                loop.call_soon(self._serve_on_loop)
                self._called = loop

    def close(self) -> None:
        """Finish the queue, then close; wait for no lock of another process."""
        self._closing.set()
        with self._lock:
            if self._queue and not self._busy:
                self._thread.submit(self._serve)
                self._busy = True
        self._thread.shutdown(wait=True)
        self._conn.close()

    def _serve_on_loop(self) -> None:
        """Run transactions from the queue for a moment; the thread commits them."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_at:
            loop.call_at(self._next_at, self._serve_on_loop)
            return
        with self._lock:
            self._called = None
            if self._busy or not self._queue:
                return
            self._busy = True
        try:
            self._begin_now()
        except (sqlite3.Error, errors.StorageError):
            self._thread.submit(self._serve)  # it waits for other processes, or gets the same error
            return
        group: list[QueuedTransaction] = []
        began, until = loop.time(), time.monotonic() + TURN_SECONDS
        try:
            with storage_errors():
                while self._queue and not self._queue[0].in_thread and len(group) < MAX_GROUP:
                    one = self._queue.popleft()
                    if one.begin():
                        group.append(one)
                        self._run(one)
                    if time.monotonic() >= until:
                        break
        except BaseException as error:  # noqa: BLE001 - each caller gets it
            self._undo(group, error)
        self._next_at = began + PAUSE_SECONDS if len(group) >= CROWD else 0.0
        self._thread.submit(self._serve, group)

    def _serve(self, ran: list[QueuedTransaction] | None = None) -> None:
        """Commit the transactions that `ran` on the loop, then serve the queue."""
        if ran is None:
            self._serve_group()
        else:
            self._handle(ran, self._commit)
        while True:
            with self._lock:  # free the connection if the thread has nothing left to do
                self._busy = self._for_thread > 0 or (bool(self._queue) and not self._call_loop())
                if not self._busy:
                    return
            self._serve_group()

    def _call_loop(self) -> bool:
        """Make the loop of the first caller serve the queue; return False if it can't."""
        loop = self._queue[0].loop
        if loop is None or self._closing.is_set():
            return False
        if self._called is not loop:
            try:
                loop.call_soon_threadsafe(self._serve_on_loop)
            except RuntimeError:  # it is closed
                return False
            self._called = loop
        return True

    def _serve_group(self) -> None:
        with self._lock:
            group = [self._queue.popleft() for _ in range(min(MAX_GROUP, len(self._queue)))]
            self._for_thread -= sum(one.in_thread for one in group)
        if wanted := [one for one in group if one.begin()]:
            self._handle(wanted, self._run_and_commit)

    def _handle(
        self,
        group: list[QueuedTransaction],
        how: Callable[[list[QueuedTransaction]], list[QueuedTransaction]],
    ) -> None:
        """Run or commit a group and answer its callers; an exception doesn't stop the writer."""
        try:
            self._finish(how(group))
        except Exception as error:
            log.exception("transactions not answered")
            rest = [one for one in group if not one.is_answered]
            for one in rest:
                one.error = one.error or errors.StorageError(str(error))
            self._finish(rest)

    def _finish(self, group: list[QueuedTransaction]) -> None:
        """Answer the callers of a group, with one call to each event loop."""
        by_loop: defaultdict[asyncio.AbstractEventLoop, list[QueuedTransaction]] = defaultdict(list)
        for one in group:
            one.is_answered = True
            if one.error is None:
                for name, *labels in one.counts:
                    self.count(name, *labels)
            if one.loop is None:
                one.answer()  # commands print their errors themselves
                continue
            if isinstance(one.error, errors.StorageError):
                self._health.failed(str(one.error))
            by_loop[one.loop].append(one)
        for loop, waiting in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._answer, waiting)

    def _answer(self, group: list[QueuedTransaction]) -> None:
        """Wake the listeners of a group's topics on this event loop, then answer its callers."""
        for one in group:
            with _logged_errors():
                for topic in one.topics if one.error is None else ():
                    self._wake(topic)
        for one in group:
            with _logged_errors():
                one.answer()

    def _run_and_commit(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Run a group in one commit; return the transactions that are not answered yet."""
        try:
            with storage_errors():
                group = self._begin(group)
                for one in group:
                    self._run(one)
        except BaseException as error:  # noqa: BLE001 - each caller gets it
            group = [one for one in group if not one.is_answered]
            self._undo(group, error)
        return self._commit(group)

    def _commit(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Commit a group that ran, unless it was undone; return it with its errors."""
        conn = self._conn
        if not conn.in_transaction:
            return group
        try:
            with storage_errors():
                conn.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - each caller gets it
            self._undo(group, error)
        else:
            if conn.total_changes > self._changes:
                self._health.worked()  # a commit that changes nothing proves nothing
        return group

    def _undo(self, group: list[QueuedTransaction], error: BaseException) -> None:
        """Roll back a group; set `error` on each transaction without its own error."""
        if self._conn.in_transaction:
            self._conn.execute("ROLLBACK")
        for one in group:
            one.error = one.error or error

    def _run(self, one: QueuedTransaction) -> None:
        """Run one transaction of a group; its error rolls back only this one.

        Raises an error that ended the whole group: SQLite rolls back when the disk is full.
        """
        conn, tx = self._conn, SqliteTransaction(self._conn)
        conn.execute("SAVEPOINT one")
        try:
            with storage_errors():
                one.result = one.work(tx)
        except BaseException as error:
            one.error = database.raisable(error)
            if not conn.in_transaction:
                raise
            conn.execute("ROLLBACK TO one")
        conn.execute("RELEASE one")
        one.topics, one.counts = frozenset(tx.topics), tx.counts

    def _begin_now(self) -> None:
        if urls.file_identity(self._path) != self._file:
            raise errors.StorageError(FILE_MOVED)
        self._conn.execute("BEGIN IMMEDIATE")
        self._changes = self._conn.total_changes  # counts what was rolled back too

    def _begin(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Begin once no other process writes; return the transactions that are still waiting.

        A transaction whose deadline passes is answered with an error.
        """
        while group:
            try:
                self._begin_now()
                break
            except sqlite3.OperationalError as error:
                is_locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_locked or self._closing.wait(LOCK_PAUSE):
                    raise
                now = time.monotonic()
                late = [one for one in group if one.deadline <= now]
                for one in late:
                    one.error = errors.StorageError(str(error))
                self._finish(late)
                group = [one for one in group if one.deadline > now]
        return group


@contextmanager
def _logged_errors() -> Iterator[None]:
    """Log an exception, so that the group's other callers are answered."""
    try:
        yield
    except Exception:
        log.exception("transaction not answered")
