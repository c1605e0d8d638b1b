"""The one writer: queued transactions are committed together, each whole or not at all.

A commit waits for the disk, and a change of threads for the scheduler. So the writer's thread takes
all transactions in its queue, runs each inside a savepoint of its own, and commits them at once; no
caller gets a result before that.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import defaultdict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from bot.core.database.interface import Transaction, ignore, raisable
from bot.core.errors import ConstraintError, StorageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Sequence

    from bot.core.database.interface import Engine, Row
    from bot.core.health import Health

log = structlog.get_logger()
T = TypeVar("T")

BUSY_TIMEOUT_SECONDS = 5.0
"""The longest wait of a transaction for other processes, from the moment it was queued.

Queued transactions wait at the same time, so no payer waits longer than this.
"""

LOCK_PAUSE = 0.01
"""Seconds between attempts to begin while another process writes."""

MAX_GROUP = 64
"""Transactions in one commit: the first of them waits for all the others."""

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

FILE_MOVED = (
    "its file was moved, deleted or replaced: put it back, beside its -wal with the newest data"
)


class SqliteTransaction(Transaction):
    """A transaction on the writer's connection, or a read on a reader's."""

    engine: Engine = "sqlite"

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__()
        self._conn = conn

    def query(self, sql: str, **params: object) -> list[Row]:
        with closing(self._conn.execute(sql, params)) as cursor:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def execute(self, sql: str, **params: object) -> int:
        with closing(self._conn.execute(sql, params)) as cursor:
            return cursor.rowcount

    def lock(self, sql: str, **params: object) -> None:
        """Lock nothing: while one writer writes, no other does."""


@dataclass(frozen=True, slots=True)
class LoopCaller:
    """A caller's event loop, and the function that wakes the listeners of a topic there."""

    loop: asyncio.AbstractEventLoop
    wake: Callable[[str], None]


@dataclass(slots=True)
class QueuedTransaction:
    """A transaction in the writer's queue; `caller` is None where it has no event loop.

    It waits for other processes until `deadline` (monotonic seconds).
    """

    work: Callable[[Transaction], Any]
    caller: LoopCaller | None
    deadline: float
    future: Future[Any] | asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    topics: frozenset[str] = frozenset()
    counts: Sequence[tuple[str, ...]] = ()
    is_answered: bool = False

    def begin(self) -> bool:
        """Return False where it was cancelled; a future of `submit` can't be from then on."""
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
    """Runs transactions on one connection in a thread of its own, in the order of their queue."""

    def __init__(self, path: str, conn: sqlite3.Connection, health: Health) -> None:
        self._path = path
        self._conn = conn
        self._conn.execute("PRAGMA busy_timeout = 0")  # `_begin` waits, until the deadlines
        self._file = _identity(path)
        self._health = health
        self.count: Callable[..., None] = ignore
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="db-writer")
        self._lock = threading.Lock()
        self._queue: deque[QueuedTransaction] = deque()
        self._serving = False
        self._closing = threading.Event()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Queue a transaction; return a future that is set once it is durable.

        An exception of `work`, or StorageError where the machine fails, rolls it back. Cancelled
        before it begins, it does not run.
        """
        future: Future[T] = Future()
        self.enqueue(work, future)
        return future

    def enqueue(
        self,
        work: Callable[[Transaction], Any],
        future: Future[Any] | asyncio.Future[Any],
        caller: LoopCaller | None = None,
    ) -> None:
        """Queue a transaction; with a `caller` its future is set on that event loop."""
        one = QueuedTransaction(work, caller, time.monotonic() + BUSY_TIMEOUT_SECONDS, future)
        with self._lock:
            self._queue.append(one)
            if not self._serving:
                self._thread.submit(self._serve)
                self._serving = True

    def close(self) -> None:
        """Finish the queue, then close; wait for no lock of another process."""
        self._closing.set()
        self._thread.shutdown(wait=True)
        self._conn.close()

    def _serve(self) -> None:
        while group := self._next_group():
            wanted = [one for one in group if one.begin()]
            if wanted:
                self._handle(wanted)

    def _handle(self, group: list[QueuedTransaction]) -> None:
        """Run a group and answer each of it; no exception keeps the next group from its turn."""
        try:
            self._finish(self._commit(group))
        except Exception as error:
            log.exception("transactions not answered")
            rest = [one for one in group if not one.is_answered]
            for one in rest:
                one.error = one.error or StorageError(str(error))
            self._finish(rest)

    def _next_group(self) -> list[QueuedTransaction]:
        with self._lock:
            group = [self._queue.popleft() for _ in range(min(MAX_GROUP, len(self._queue)))]
            self._serving = bool(group)
        return group

    def _finish(self, group: list[QueuedTransaction]) -> None:
        """Answer each of a group, with one call to each event loop."""
        by_loop: defaultdict[asyncio.AbstractEventLoop, list[QueuedTransaction]] = defaultdict(list)
        for one in group:
            one.is_answered = True
            if one.error is None:
                for name, *labels in one.counts:
                    self.count(name, *labels)
            if one.caller is None:
                one.answer()  # commands print their errors themselves
                continue
            if isinstance(one.error, StorageError):
                self._health.failed(str(one.error))
            by_loop[one.caller.loop].append(one)
        for loop, waiting in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_answer, waiting)

    def _commit(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Run a group in one commit; return those not answered yet, with results and errors."""
        conn = self._conn
        before = conn.total_changes
        try:
            with storage_errors():
                group = self._begin(group)
                for one in group:
                    self._run(one)
                if group:
                    conn.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - each caller gets it
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            group = [one for one in group if not one.is_answered]
            for one in group:
                one.error = one.error or error
        else:
            if conn.total_changes > before:
                self._health.worked()  # a commit that changes nothing proves nothing
        return group

    def _run(self, one: QueuedTransaction) -> None:
        """Run one transaction; an error of its own rolls back that one alone.

        Raises the error that ended all of them: SQLite rolls back by itself when the disk is full.
        """
        conn, tx = self._conn, SqliteTransaction(self._conn)
        conn.execute("SAVEPOINT one")
        try:
            with storage_errors():
                one.result = one.work(tx)
        except BaseException as error:
            one.error = raisable(error)
            if not conn.in_transaction:
                raise
            conn.execute("ROLLBACK TO one")
        conn.execute("RELEASE one")
        one.topics, one.counts = frozenset(tx.topics), tx.counts

    def _begin(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Begin once no other process writes; return those whose deadline has not passed.

        The others are answered as they pass it.
        """
        if _identity(self._path) != self._file:
            raise StorageError(FILE_MOVED)
        while group:
            try:
                self._conn.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                is_locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_locked or self._closing.wait(LOCK_PAUSE):
                    raise
                group = self._still_waiting(group, error)
        return group

    def _still_waiting(
        self, group: list[QueuedTransaction], error: Exception
    ) -> list[QueuedTransaction]:
        now = time.monotonic()
        late = [one for one in group if one.deadline <= now]
        for one in late:
            one.error = StorageError(str(error))
        self._finish(late)
        return [one for one in group if one.deadline > now]


def _answer(group: list[QueuedTransaction]) -> None:
    """Answer callers on this event loop, after waking the listeners of their topics."""
    for one in group:
        if one.caller is not None and one.error is None and one.topics:
            with _logged_errors():
                for topic in one.topics:
                    one.caller.wake(topic)
    for one in group:
        with _logged_errors():
            one.answer()


@contextmanager
def _logged_errors() -> Iterator[None]:
    """Log an exception, so that the other callers of the group are answered."""
    try:
        yield
    except Exception:
        log.exception("transaction not answered")


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of the file at `path`: writes to a file without a name are lost."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before each transaction, and Path costs as much again
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise StorageError for faults of the machine, ConstraintError for rows that break a rule.

    Other errors are bugs and stay as they are.
    """
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ConstraintError(str(error)) from error
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in MACHINE_FAULTS:
            raise StorageError(str(error)) from error
        raise
