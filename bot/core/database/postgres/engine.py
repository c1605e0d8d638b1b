"""A PostgreSQL server as a `Database`: a few writer threads and a few reader threads."""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from typing import Any, TypeVar

import psycopg

from bot.core import errors
from bot.core.database import database, urls
from bot.core.database.postgres import (
    checks,
    connection,
    migrating,
    notifications,
    server,
    transactions,
)

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


class Threads:
    """Threads that perform queued work, each piece on a connection that no other thread uses.

    Transactions of one write scope would wait for each other at the scope's row and occupy every
    thread, and so would transactions about the same thing, such as the payments of one request. So
    such transactions wait in a line. A write scope occupies one thread at a time. A thing occupies
    two threads, so that its second transaction has already begun when the first ends.
    """

    def __init__(self, server: server.Server, number: int, name: str, *, reads: bool) -> None:
        self._server, self._reads = server, reads
        self._pool = ThreadPoolExecutor(number, thread_name_prefix=name)
        self._idle: list[transactions.Runner] = []
        self._lock = threading.Lock()
        self._lines: defaultdict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = defaultdict(
            deque
        )
        self._begun: Counter[str] = Counter()  # queued or running work of each line
        self._is_closed = False

    def submit(self, work: Callable[[], T], line: str = "", width: int = 0) -> Future[T]:
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

    def perform(
        self,
        work: Callable[[database.Transaction], Any],
        scope: transactions.WriteScope | None,
        deadline: float,
    ) -> tuple[Any, transactions.PostgresTransaction]:
        """Perform work on the connection that was used last, so that few are needed."""
        try:
            runner = self._idle.pop()
        except IndexError:
            runner = transactions.Runner(self._server, reads=self._reads)
        try:
            return runner.perform(work, scope, deadline)
        finally:
            self._idle.append(runner)

    def close(self) -> None:
        """Finish the queue and the lines."""
        with self._lock:
            self._is_closed = True
        self._pool.shutdown()
        for runner in self._idle:
            runner.close()

    def _serve(self, line: str, future: Future[Any], work: Callable[[], Any]) -> None:
        while True:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - its caller gets it
                    future.set_exception(error)
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


class PostgresDatabase(database.Database):
    """A PostgreSQL database, shared with other replicas."""

    engine: database.Engine = "postgresql"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.health = database.Health("database not usable", "database usable again")
        self.scope: transactions.WriteScope | None = None
        """The write scope of its transactions, if any."""
        self._server = server.Server(urls.postgres_address(url))
        self._notifications = notifications.Notifications(self._server, self._wake_all)
        self._writers = Threads(self._server, WRITERS, "db-writer", reads=False)
        self._readers = Threads(self._server, READERS, "db-reader", reads=True)
        self._checker = self.own_writer()
        self._storage_check = database.StorageCheck(
            partial(self._probe, checks.write_log),
            partial(self._probe, checks.write_log, checks.find_room),
            self.health,
        )

    async def transaction(self, work: Callable[[database.Transaction], T], about: str = "") -> T:
        return await self._ask(self._writers, work, about)

    def run(self, work: Callable[[database.Transaction], T]) -> T:
        return self._queue(self._writers, work).result()

    async def read(self, work: Callable[[database.Transaction], T]) -> T:
        return await self._ask(self._readers, work)

    def in_write_scope(
        self, name: str, lead: database.WriteLease | None = None
    ) -> database.Database:
        view = copy.copy(self)
        view.scope = transactions.WriteScope(name, lead)
        return view

    def own_writer(self) -> database.OwnWriter:
        return SeparateWriter(
            transactions.Runner(self._server, patience=OWN_SECONDS), self._committed
        )

    def listen(self, topic: str) -> asyncio.Event:
        event = super().listen(topic)
        with suppress(RuntimeError):  # without a loop, nothing waits yet
            self._notifications.loop = asyncio.get_running_loop()
        self._notifications.start()
        return event

    def count_with(self, increment: Callable[..., None]) -> None:
        self._server.count = increment

    def count(self, name: str, *labels: str) -> None:
        self._server.count(name, *labels)

    async def check(self) -> str | None:
        return await self._storage_check()

    async def _probe(self, *works: Callable[[database.Transaction], None]) -> None:
        """Run transactions on a connection of their own. Raises StorageError."""
        for work in works:
            with suppress(checks.FoundRoomError):
                await asyncio.to_thread(self._checker.run, work)

    def migrate(self) -> bool:
        return migrating.upgrade(self.run_patiently, self._server)

    def run_patiently(self, work: Callable[[database.Transaction], T]) -> T:
        """Run a migration: a transaction whose answers may take any amount of time."""
        runner = transactions.Runner(self._server, patience=connection.NEVER)
        with closing(SeparateWriter(runner, self._committed)) as writer:
            return writer.run(work)

    def close(self) -> None:
        late = threading.Timer(STOP_SECONDS, self._server.close)
        late.start()
        self._writers.close()
        self._readers.close()
        self._notifications.close()
        self._checker.close()
        late.cancel()
        self._server.close()

    async def _ask(
        self,
        threads: Threads,
        work: Callable[[database.Transaction], T],
        about: str = "",
    ) -> T:
        loop = self._notifications.loop = asyncio.get_running_loop()
        try:
            return await asyncio.wrap_future(self._queue(threads, work, about, loop))
        except errors.StorageError as error:
            self.health.failed(str(error))
            raise

    def _queue(
        self,
        threads: Threads,
        work: Callable[[database.Transaction], T],
        about: str = "",
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Future[T]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        scope = None if threads is self._readers else self.scope

        def perform() -> T:
            result: T
            try:
                result, tx = threads.perform(work, scope, deadline)
            except StopIteration as error:
                raise database.raisable(error) from error
            self._committed(tx)
            if tx.topics and loop is not None:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(self._wake_all, tx.topics)  # before its caller
            return result

        line, width = (f"scope {scope.name}", 1) if scope else (about, ABOUT_THE_SAME)
        return threads.submit(perform, line, width)

    def _committed(self, tx: transactions.PostgresTransaction) -> None:
        for name, *labels in tx.counts:
            self.count(name, *labels)
        self._notifications.send(tx.topics)
        if tx.writes:
            self.health.worked()  # a commit that changes nothing proves nothing

    def _wake_all(self, topics: Iterable[str] | None) -> None:
        """Wake the listeners of committed topics; of all topics for None."""
        for topic in list(self._listeners) if topics is None else topics:
            self.wake(topic)


class SeparateWriter(database.OwnWriter):
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

    def run(self, work: Callable[[database.Transaction], T]) -> T:
        result: T
        with self._lock:
            result, tx = self._runner.perform(work, None, time.monotonic() + OWN_SECONDS)
        self._committed(tx)
        return result

    def close(self) -> None:
        if self._lock.acquire(timeout=2 * OWN_SECONDS):
            self._runner.close()
            self._lock.release()  # a later caller is refused instead of waiting forever


def open_postgres(
    url: str,
    *,
    writing: bool = False,
    migrates: Callable[[database.Transaction], bool] | None = None,
) -> PostgresDatabase:
    """Open the database of a DATABASE_URL, like `open_database`. Raises ConfigProblem.

    With `migrates`, the database is migrated only if this function returns True.
    """
    opened = PostgresDatabase(url)
    try:
        if migrates is None or opened.run_patiently(migrates):
            opened.migrate()
        if writing:
            opened.run(lambda tx: tx.execute(database.TEST_WRITE))
    except (errors.BotError, connection.SqlError, psycopg.Error) as error:
        opened.close()
        raise server.unusable(url, connection.describe(error)) from None
    return opened
