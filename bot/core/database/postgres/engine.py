"""A PostgreSQL server as a `Database`: a few writer threads and a few reader threads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

import structlog

from bot.core import errors
from bot.core.database import urls
from bot.core.database.database import (
    TEST_WRITE,
    Database,
    Engine,
    Health,
    OwnWriter,
    Transaction,
    WriteLease,
    raisable,
)
from bot.core.database.postgres import (
    checks,
    connection,
    migrating,
    notifications,
    server,
    transactions,
)

log = structlog.get_logger()

T = TypeVar("T")

WRITERS = 4
"""Threads, each with a connection; the server flushes several commits at once."""

READERS = 3

OWN_SECONDS = 3.0
"""The longest wait of a SeparateWriter for an answer."""

PATIENCE_SECONDS = 5.0
"""How long after queueing work may be retried or wait for a server."""

ABOUT_THE_SAME = 2
"""The most concurrent transactions about the same thing: further transactions would only wait."""

STOP_SECONDS = 5.0
"""The longest wait for threads during a stop; then their connections are shut."""


@dataclass(slots=True, eq=False)
class QueuedWork:
    """Work for a thread."""

    work: Callable[[Transaction], Any]
    scope: transactions.WriteScope | None
    loop: asyncio.AbstractEventLoop | None
    """The caller's event loop; None if the caller waits in a thread."""
    future: Future[Any] | asyncio.Future[Any]
    about: str = ""
    deadline: float = field(default_factory=lambda: time.monotonic() + PATIENCE_SECONDS)

    @property
    def line(self) -> str:
        """Return the name of the line in which it waits for similar work; "" for no line."""
        return f"scope {self.scope.name}" if self.scope else self.about

    @property
    def width(self) -> int:
        """Return how many transactions of its line may run concurrently."""
        return 1 if self.scope else ABOUT_THE_SAME

    def begin(self) -> bool:
        """Return False if it was cancelled."""
        if isinstance(self.future, Future):
            return self.future.set_running_or_notify_cancel()
        return not self.future.cancelled()


class Threads:
    """Threads that share one queue: each takes the next work and performs it on its connection.

    Transactions of one write scope would wait for each other at the scope's row and occupy every
    thread, and so would transactions about the same thing, such as the payments of one request. So
    such transactions wait in a line. A write scope occupies one thread at a time. A thing occupies
    two threads, so that its second transaction has already begun when the first ends.
    """

    def __init__(
        self,
        server: server.Server,
        number: int,
        name: str,
        *,
        reads: bool,
        committed: Callable[[transactions.PostgresTransaction], None],
        wake: Callable[[Iterable[str]], None],
        failed: Callable[[str], None],
    ) -> None:
        """Initialize with callbacks for committed transactions, topics, and failure reasons."""
        self._server, self._reads = server, reads
        self._committed, self._wake, self._failed = committed, wake, failed
        self._queue: SimpleQueue[QueuedWork | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._lines: defaultdict[str, deque[QueuedWork]] = defaultdict(deque)
        self._begun: Counter[str] = Counter()  # queued or running work of each line
        self._is_closed = False
        self._number, self._name = number, name
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)

    async def ask(
        self,
        work: Callable[[Transaction], Any],
        scope: transactions.WriteScope | None = None,
        about: str = "",
    ) -> Any:
        """Perform `work` in a thread; return its result once it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._put(QueuedWork(work, scope, loop, future, about))
        return await future

    def run(
        self, work: Callable[[Transaction], Any], scope: transactions.WriteScope | None = None
    ) -> Any:
        """Perform `work` in a thread, and wait for it in the calling thread."""
        future: Future[Any] = Future()
        self._put(QueuedWork(work, scope, None, future))
        return future.result()

    def close(self) -> None:
        """Finish the queue; shut the connections of threads that don't finish in time."""
        with self._lock:
            self._is_closed = True
        for _ in self._threads:
            self._queue.put(None)
        until = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in self._threads):
            self._server.shut_all()

    def _put(self, queued: QueuedWork) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the database is closed")
            if line := queued.line:
                if self._begun[line] == queued.width:
                    self._lines[line].append(queued)
                    return
                self._begun[line] += 1
            self._dispatch(queued)

    def _dispatch(self, queued: QueuedWork) -> None:
        """Queue work, and start a thread for it unless one is idle; the caller has the lock.

        So a sequence of separate pieces of work uses only one connection.
        """
        self._queue.put(queued)
        if self._idle.acquire(blocking=False) or len(self._threads) == self._number:
            return
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _leave(self, line: str) -> QueuedWork | None:
        """Queue the next work of a line; return it if the threads are stopping."""
        with self._lock:
            waiting = self._lines[line]
            if waiting and self._is_closed:
                return waiting.popleft()
            if waiting:
                self._dispatch(waiting.popleft())
                return None
            self._begun[line] -= 1
            if not self._begun[line]:
                del self._begun[line], self._lines[line]
        return None

    def _serve(self) -> None:
        runner = transactions.Runner(self._server, reads=self._reads)
        while (taken := self._queue.get()) is not None:
            queued: QueuedWork | None = taken
            while queued is not None:
                self._handle(runner, queued)
                queued = self._leave(queued.line) if queued.line else None
        runner.close()

    def _handle(self, runner: transactions.Runner, queued: QueuedWork) -> None:
        """Perform queued work; an exception doesn't stop the thread."""
        try:
            if queued.begin():
                self._perform(runner, queued)
        except Exception:
            log.exception("transaction not answered")

    def _perform(self, runner: transactions.Runner, queued: QueuedWork) -> None:
        try:
            try:
                result, tx = runner.perform(queued.work, queued.scope, queued.deadline)
            finally:
                self._idle.release()  # first: the answer may lead to work for this thread
        except BaseException as error:  # noqa: BLE001 - its caller gets it
            if isinstance(error, errors.StorageError) and queued.loop is not None:
                self._failed(str(error))
            self._answer(queued, None, raisable(error), ())
        else:
            if not self._reads:
                self._committed(tx)
            self._answer(queued, result, None, tx.topics)

    def _answer(
        self, queued: QueuedWork, result: Any, error: BaseException | None, topics: Iterable[str]
    ) -> None:
        if queued.loop is None:
            _settle(queued, result, error)
            return
        with suppress(RuntimeError):  # the loop is closed
            queued.loop.call_soon_threadsafe(self._answer_on_loop, queued, result, error, topics)

    def _answer_on_loop(
        self, queued: QueuedWork, result: Any, error: BaseException | None, topics: Iterable[str]
    ) -> None:
        """Wake a transaction's listeners on their event loop, then answer its caller."""
        try:
            self._wake(topics)
        except Exception:
            log.exception("listeners not woken")
        _settle(queued, result, error)


def _settle(queued: QueuedWork, result: Any, error: BaseException | None) -> None:
    if queued.future.done():
        return
    if error is None:
        queued.future.set_result(result)
    else:
        queued.future.set_exception(error)


class PostgresDatabase(Database):
    """A PostgreSQL database, shared with other replicas."""

    engine: Engine = "postgresql"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.health = Health("database not usable", "database usable again")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server = server.Server(urls.postgres_address(url))
        self._notifications = (
            None
            if self._server.is_pooled
            else notifications.Notifications(self._server, self._receive)
        )
        self._writers = self._threads(WRITERS, "db-writer", reads=False)
        self._readers = self._threads(READERS, "db-reader", reads=True)
        self._checker = self.own_writer()
        self._storage_check = checks.StorageCheck(self._checker, self.health)

    async def transaction(self, work: Callable[[Transaction], T], about: str = "") -> T:
        return await self.transaction_in(None, work, about)

    def run(self, work: Callable[[Transaction], T]) -> T:
        return self.run_in(None, work)

    def in_write_scope(self, name: str, lead: WriteLease | None = None) -> Database:
        return ScopedView(self, transactions.WriteScope(name, lead))

    async def transaction_in(
        self, scope: transactions.WriteScope | None, work: Callable[[Transaction], T], about: str
    ) -> T:
        """Run a transaction in a write scope."""
        self._loop = asyncio.get_running_loop()
        result: T = await self._writers.ask(work, scope, about)
        return result

    def run_in(self, scope: transactions.WriteScope | None, work: Callable[[Transaction], T]) -> T:
        """Run a transaction in a write scope, without an event loop."""
        result: T = self._writers.run(work, scope)
        return result

    def own_writer(self) -> OwnWriter:
        return SeparateWriter(
            transactions.Runner(self._server, patience=OWN_SECONDS), self._committed
        )

    async def read(self, work: Callable[[Transaction], T]) -> T:
        result: T = await self._readers.ask(work)
        return result

    def listen(self, topic: str) -> asyncio.Event:
        event = super().listen(topic)
        with suppress(RuntimeError):  # without a loop, nothing waits yet
            self._loop = asyncio.get_running_loop()
        if self._notifications is not None:
            self._notifications.start()
        return event

    def count_with(self, increment: Callable[..., None]) -> None:
        self._server.count = increment

    def count(self, name: str, *labels: str) -> None:
        self._server.count(name, *labels)

    async def check(self) -> str | None:
        return await self._storage_check()

    def migrate(self) -> bool:
        return migrating.upgrade(self.run_patiently, self._server)

    def run_patiently(self, work: Callable[[Transaction], T]) -> T:
        """Run a migration: a transaction whose answers may take any amount of time."""
        runner = transactions.Runner(self._server, patience=connection.NEVER)
        with closing(SeparateWriter(runner, self._committed)) as writer:
            return writer.run(work)

    def close(self) -> None:
        self._writers.close()
        self._readers.close()
        if self._notifications is not None:
            self._notifications.close()
        self._checker.close()
        self._server.close()

    def _threads(self, number: int, name: str, *, reads: bool) -> Threads:
        return Threads(
            self._server,
            number,
            name,
            reads=reads,
            committed=self._committed,
            wake=self._wake_all,
            failed=self.health.failed,
        )

    def _committed(self, tx: transactions.PostgresTransaction) -> None:
        for name, *labels in tx.counts:
            self.count(name, *labels)
        if self._notifications is not None and tx.topics:
            self._notifications.send(tx.topics)
        if tx.changes:
            self.health.worked()  # a commit that changes nothing proves nothing

    def _receive(self, topics: Iterable[str] | None) -> None:
        """Wake the listeners of topics committed elsewhere; of all topics for None."""
        if self._loop is not None:
            woken = list(self._listeners) if topics is None else topics
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake_all, woken)

    def _wake_all(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.wake(topic)


class SeparateWriter(OwnWriter):
    """A writer on a separate connection, in the caller's thread.

    One thread at a time uses the connection. If a caller stops waiting, the thread that it leaves
    behind may still be using the connection.
    """

    def __init__(
        self,
        runner: transactions.Runner,
        committed: Callable[[transactions.PostgresTransaction], None],
    ) -> None:
        self._runner, self._committed = runner, committed
        self._lock = threading.Lock()

    def run(self, work: Callable[[Transaction], T]) -> T:
        result: T
        with self._lock:
            result, tx = self._runner.perform(work, None, time.monotonic() + OWN_SECONDS)
        self._committed(tx)
        return result

    def close(self) -> None:
        if self._lock.acquire(timeout=2 * OWN_SECONDS):
            self._runner.close()
            self._lock.release()  # a later caller is refused instead of waiting forever


class ScopedView(Database):
    """A view of a database whose transactions run in a write scope; the rest is delegated."""

    engine: Engine = "postgresql"

    def __init__(self, database: PostgresDatabase, scope: transactions.WriteScope) -> None:
        super().__init__()
        self._database, self._scope = database, scope
        self.health = database.health

    async def transaction(self, work: Callable[[Transaction], T], about: str = "") -> T:
        return await self._database.transaction_in(self._scope, work, about)

    def run(self, work: Callable[[Transaction], T]) -> T:
        return self._database.run_in(self._scope, work)

    def in_write_scope(self, name: str, lead: WriteLease | None = None) -> Database:
        return self._database.in_write_scope(name, lead)

    def own_writer(self) -> OwnWriter:
        return self._database.own_writer()

    async def read(self, work: Callable[[Transaction], T]) -> T:
        return await self._database.read(work)

    def listen(self, topic: str) -> asyncio.Event:
        return self._database.listen(topic)

    def wake(self, topic: str) -> None:
        self._database.wake(topic)

    def count_with(self, increment: Callable[..., None]) -> None:
        self._database.count_with(increment)

    def count(self, name: str, *labels: str) -> None:
        self._database.count(name, *labels)

    async def check(self) -> str | None:
        return await self._database.check()

    def migrate(self) -> bool:
        return self._database.migrate()

    def close(self) -> None:
        """Do nothing: whoever opened the database closes it."""


def open_postgres(
    url: str, *, writing: bool = False, migrates: Callable[[Transaction], bool] | None = None
) -> PostgresDatabase:
    """Open the database of a DATABASE_URL, like `open_database`. Raises ConfigProblem.

    With `migrates`, the database is migrated only if this function returns True.
    """
    database = PostgresDatabase(url)
    try:
        if migrates is None or database.run_patiently(migrates):
            database.migrate()
        if writing:
            database.run(lambda tx: tx.execute(TEST_WRITE))
    except (errors.BotError, connection.SqlError) as error:
        database.close()
        reason = server.advise(str(error))
        raise errors.ConfigProblem(
            f"DATABASE_URL: {urls.safe_url(url)} can't be used: {reason}"
        ) from None
    return database
