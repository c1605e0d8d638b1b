"""The one writer: what waits is committed together, each transaction whole or not at all.

A commit waits for the disk, and each change of threads for its turn. So a thread takes all
transactions that have come meanwhile, runs one after the other, each inside a savepoint of
its own, and commits them at once; nobody hears of a result before that.
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

from bot.core.errors import StorageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlite_utils import Database as SqliteUtils

    from bot.core.health import Health

log = structlog.get_logger()
T = TypeVar("T")
Row = dict[str, Any]

BUSY_TIMEOUT_SECONDS = 5.0
"""How long a transaction waits for another process, counted from when it was asked for.

All who queue behind the one writer wait at the same time, so no payer waits longer than this.
"""

LOCK_PAUSE = 0.01
"""Seconds between two tries to begin while another process writes."""

MAX_GROUP = 64
"""Transactions in one commit: the first of them waits for the work of all."""

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
"""SQLite's primary result codes that are no fault of ours (sqlite.org/rescode.html)."""

MOVED = "its file was moved, deleted or replaced: put it back, beside its -wal with the newest data"


class Transaction:
    """One transaction under way; valid only inside the function it was given to."""

    def __init__(self, db: SqliteUtils) -> None:
        self._conn = db.conn
        self.woken: set[str] = set()
        self.counted: list[tuple[str, ...]] = []

    def query(self, sql: str, **params: object) -> list[Row]:
        """All rows of a SELECT or of a statement with RETURNING, as dicts."""
        with closing(self._conn.execute(sql, params)) as cursor:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def one(self, sql: str, **params: object) -> Row | None:
        """Give the first row, or None."""
        rows = self.query(sql, **params)
        return rows[0] if rows else None

    def execute(self, sql: str, **params: object) -> int:
        """Run a statement; the number of rows that it changed."""
        with closing(self._conn.execute(sql, params)) as cursor:
            return cursor.rowcount

    def wake(self, topic: str) -> None:
        """Wake who listens to `topic` once this transaction is committed."""
        self.woken.add(topic)

    def count(self, name: str, *labels: str) -> None:
        """Increment a counter of /metrics once this transaction is committed."""
        self.counted.append((name, *labels))


@dataclass(frozen=True, slots=True)
class LoopCaller:
    """Who has asked from an event loop, with what is to be called there for the topics woken."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    wake: Callable[[Iterable[str]], None]


@dataclass(slots=True)
class QueuedTransaction:
    """A transaction that was asked for; `listener` None for who has no event loop.

    `until` is the moment (monotonic) to which it waits for other processes.
    """

    work: Callable[[Transaction], Any]
    listener: LoopCaller | None
    until: float
    future: Future[Any] | asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    woken: frozenset[str] = frozenset()
    counted: Sequence[tuple[str, ...]] = ()
    told: bool = False

    def begin(self) -> bool:
        """Whether it is asked for still; a future of `submit` can't be cancelled from then on."""
        if isinstance(self.future, Future):
            return self.future.set_running_or_notify_cancel()
        return not self.future.cancelled()

    def tell(self) -> None:
        """Say what came of it, where whoever asked is there to be told."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    """Runs transactions on a connection in a thread of its own, in the order of asking."""

    def __init__(self, path: str, db: SqliteUtils, health: Health) -> None:
        self._path = path
        self._db = db
        self._db.conn.execute("PRAGMA busy_timeout = 0")  # `_begin` waits, and knows how long
        self._file = _identity(path)
        self._health = health
        self.count: Callable[..., None] = _ignore
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="db-writer")
        self._lock = threading.Lock()
        self._asked: deque[QueuedTransaction] = deque()
        self._serving = False
        self._closing = threading.Event()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Ask for a transaction; its result comes once it is durable.

        It is undone by whatever `work` raises, and by StorageError where the machine does not
        let us. Who cancels the future before it begins asks for nothing.
        """
        future: Future[T] = Future()
        self._ask(work, None, future)
        return future

    def ask(self, work: Callable[[Transaction], Any], listener: LoopCaller) -> None:
        """As `submit`, from an event loop: its future is told there, with others of one commit."""
        self._ask(work, listener, listener.future)

    def _ask(
        self,
        work: Callable[[Transaction], Any],
        listener: LoopCaller | None,
        future: Future[Any] | asyncio.Future[Any],
    ) -> None:
        asked = QueuedTransaction(work, listener, time.monotonic() + BUSY_TIMEOUT_SECONDS, future)
        with self._lock:
            self._asked.append(asked)
            if not self._serving:
                self._thread.submit(self._serve)
                self._serving = True

    def close(self) -> None:
        """Let what was asked for finish, then close; wait for nobody's lock."""
        self._closing.set()
        self._thread.shutdown(wait=True)
        self._db.conn.close()

    def _serve(self) -> None:
        while group := self._next():
            wanted = [one for one in group if one.begin()]
            if wanted:
                self._attend(wanted)

    def _attend(self, group: list[QueuedTransaction]) -> None:
        """Run a group and tell each of it; whatever happens, the next group has its turn."""
        try:
            self._finish(self._together(group))
        except Exception as error:
            log.exception("transactions not told")
            rest = [one for one in group if not one.told]
            for one in rest:
                one.error = one.error or StorageError(str(error))
            self._finish(rest)

    def _next(self) -> list[QueuedTransaction]:
        with self._lock:
            group = [self._asked.popleft() for _ in range(min(MAX_GROUP, len(self._asked)))]
            self._serving = bool(group)
        return group

    def _finish(self, group: list[QueuedTransaction]) -> None:
        """Tell everybody; each event loop is called once for all who asked from it."""
        waiting: defaultdict[asyncio.AbstractEventLoop, list[QueuedTransaction]] = defaultdict(list)
        for one in group:
            one.told = True
            if one.error is None:
                for name, *labels in one.counted:
                    self.count(name, *labels)
            if one.listener is None:
                one.tell()  # and says to the operator by itself what went wrong
                continue
            if isinstance(one.error, StorageError):
                self._health.failed(str(one.error))
            waiting[one.listener.loop].append(one)
        for loop, told in waiting.items():
            with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                loop.call_soon_threadsafe(_tell, told)

    def _together(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Run these in one commit, and give them back with what came of each."""
        conn = self._db.conn
        before = conn.total_changes
        try:
            with storage_errors():
                group = self._begin(group)
                for one in group:
                    self._run(one)
                if group:
                    conn.execute("COMMIT")
        except BaseException as error:  # noqa: BLE001 - each of them is told
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            group = [one for one in group if not one.told]
            for one in group:
                one.error = one.error or error
        else:
            if conn.total_changes > before:
                self._health.worked()  # a commit that changes nothing proves nothing
        return group

    def _run(self, one: QueuedTransaction) -> None:
        """Run one, and undo it alone where it fails.

        Raises what ended the whole transaction: SQLite does that itself when the disk is full.
        """
        conn, tx = self._db.conn, Transaction(self._db)
        conn.execute("SAVEPOINT one")
        try:
            with storage_errors():
                one.result = one.work(tx)
        except BaseException as error:
            one.error = _raisable(error)
            if not conn.in_transaction:
                raise
            conn.execute("ROLLBACK TO one")
        conn.execute("RELEASE one")
        one.woken, one.counted = frozenset(tx.woken), tx.counted

    def _begin(self, group: list[QueuedTransaction]) -> list[QueuedTransaction]:
        """Begin once no other process writes; give those that have waited for it.

        Who has waited as long as it was to is told so before.
        """
        if _identity(self._path) != self._file:
            raise StorageError(MOVED)
        while group:
            try:
                self._db.conn.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not locked or self._closing.wait(LOCK_PAUSE):
                    raise
                group = self._still_waiting(group, error)
        return group

    def _still_waiting(
        self, group: list[QueuedTransaction], error: Exception
    ) -> list[QueuedTransaction]:
        now = time.monotonic()
        late = [one for one in group if one.until <= now]
        for one in late:
            one.error = StorageError(str(error))
        self._finish(late)
        return [one for one in group if one.until > now]


def _ignore(_name: str, *_labels: str) -> None:
    """Count nothing, as commands do that serve no /metrics."""


def _tell(told: list[QueuedTransaction]) -> None:
    """Tell those who asked from this event loop, after waking whom they wake."""
    for one in told:
        if one.listener is not None and one.error is None and one.woken:
            with _alone():
                one.listener.wake(one.woken)
    for one in told:
        with _alone():
            one.tell()


@contextmanager
def _alone() -> Iterator[None]:
    """Let what fails for one be no reason that the others hear nothing."""
    try:
        yield
    except Exception:
        log.exception("a transaction not told")


def _raisable(error: BaseException) -> BaseException:
    """Give what a future can raise: not StopIteration, which would end who awaits it (PEP 479)."""
    if not isinstance(error, StopIteration):
        return error
    bug = RuntimeError("a transaction raised StopIteration")
    bug.__cause__ = error
    return bug


def _identity(path: str) -> tuple[int, int] | None:
    """Say which file stands at `path`: what is written to one that stands nowhere is lost."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before each transaction, and Path costs as much again
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise StorageError for what is the machine's trouble; the rest is a bug and stays one."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in MACHINE_FAULTS:
            raise StorageError(str(error)) from error
        raise
