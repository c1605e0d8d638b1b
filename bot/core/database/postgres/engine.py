"""A PostgreSQL server as a `Database`, what replicas tell each other, and migrations beside them.

Within a transaction, NOTIFY serializes all commits of the server. So topics are sent after the
commit, several per notification, on a separate connection. A lost notification costs at most a
second, because workers then look for work anyway. Notifications don't work behind a pooler.
"""

from __future__ import annotations

import asyncio
import copy
import os
import re
import select
import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import partial
from typing import TypeVar

import psycopg
import structlog

from bot.core import errors
from bot.core.database import database, migrations, urls
from bot.core.database.postgres import checks, connection, transactions

log = structlog.get_logger()
T = TypeVar("T")

WRITERS = 4
"""Threads, each with a connection; the server flushes several commits at once."""

READERS = 3

OWN_SECONDS = 3.0
"""The longest wait of an OwnWriter for an answer."""

PATIENCE_SECONDS = 5.0
"""How long after queueing work may be retried or wait for a server."""

ABOUT_THE_SAME = 2
"""The most concurrent transactions about the same thing: further transactions would only wait."""

STOP_SECONDS = 5.0
"""The longest wait for threads during a stop; then their connections are shut."""


class PostgresDatabase(database.Database):
    """A PostgreSQL database, shared with other replicas."""

    engine: database.Engine = "postgresql"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.health = database.Health()
        self.scope: transactions.WriteScope | None = None
        """The write scope of its transactions, if any."""
        self._server = connection.Server(urls.postgres_address(url))
        self._notifications = Notifications(self._server, self._wake_all)
        self._writers = transactions.Threads(self._server, WRITERS, "db-writer", reads=False)
        self._readers = transactions.Threads(self._server, READERS, "db-reader", reads=True)
        self._checker = self.own_writer()
        self.check = database.StorageCheck(
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

    def own_writer(self) -> OwnWriter:
        """Return a writer for one thread that must not wait behind other transactions."""
        return OwnWriter(self._server, OWN_SECONDS, self._committed)

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

    async def _probe(self, *works: Callable[[database.Transaction], None]) -> None:
        """Run transactions on a connection of their own. Raises StorageError."""
        for work in works:
            with suppress(checks.FoundRoomError):
                await asyncio.to_thread(self._checker.run, work)

    def migrate(self) -> bool:
        for _ in range(ATTEMPTS):
            try:
                return self.run_patiently(migrate)
            except TableBusy:
                time.sleep(PAUSE_SECONDS)
        raise TableBusy

    def run_patiently(self, work: Callable[[database.Transaction], T]) -> T:
        """Run a migration: a transaction whose answers may take any amount of time."""
        with closing(OwnWriter(self._server, connection.NEVER, self._committed)) as writer:
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
        threads: transactions.Threads,
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
        threads: transactions.Threads,
        work: Callable[[database.Transaction], T],
        about: str = "",
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Future[T]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        scope = None if threads is self._readers else self.scope

        def perform(runner: transactions.Runner) -> T:
            result: T
            result, tx = runner.perform(work, scope, deadline)
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


class OwnWriter:
    """A writer on a separate connection, in the caller's thread.

    One thread at a time uses the connection. If a caller stops waiting, the thread that it leaves
    behind may still be using the connection.
    """

    def __init__(
        self,
        server: connection.Server,
        patience: float,
        committed: Callable[[transactions.PostgresTransaction], None],
    ) -> None:
        """Initialize; `patience` is the longest wait for an answer, in seconds."""
        self._runner = transactions.Runner(server, patience=patience)
        self._committed = committed
        self._lock = threading.Lock()

    def run(self, work: Callable[[database.Transaction], T]) -> T:
        """Run a transaction in this thread. Raises StorageError within seconds."""
        result: T
        with self._lock:
            result, tx = self._runner.perform(work, None, time.monotonic() + OWN_SECONDS)
        self._committed(tx)
        return result

    def close(self) -> None:
        """Close the connection, if there is one."""
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
        raise checks.unusable(url, connection.describe(error)) from None
    return opened


# What replicas tell each other.


NOTIFY = "SELECT pg_notify('bot_wake', :topics)"

COALESCING_SECONDS = 0.02
"""The pause between two notifications; topics are collected in the meantime."""

RECONNECT_SECONDS = 1.0


class Notifications:
    """Sends the topics of our commits to other replicas, and receives theirs.

    It connects at the first use, because most commands neither send nor listen; behind a pooler
    never.
    """

    def __init__(
        self, server: connection.Server, received: Callable[[Iterable[str] | None], None]
    ) -> None:
        """`received` is called on the `loop`; with None if topics may be missing."""
        self._server, self._received = server, received
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the listeners, once it runs."""
        self._lock = threading.Lock()
        self._unsent: set[str] = set()
        self._closing = threading.Event()
        self._awake, self._nudge = os.pipe()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect if not yet connected; may be called from any thread."""
        with self._lock:
            if self._thread is None and not self._server.is_pooled:
                self._thread = threading.Thread(
                    target=self._serve, name="db-notifications", daemon=True
                )
                self._thread.start()

    def send(self, topics: Collection[str]) -> None:
        """Send topics soon, if there are any; may be called from any thread."""
        if not topics or self._server.is_pooled:
            return
        self.start()
        with self._lock:
            is_asleep = not self._unsent
            self._unsent.update(topics)
            if is_asleep and not self._closing.is_set():
                os.write(self._nudge, b".")

    def close(self) -> None:
        """Stop; other replicas find unannounced work when they next look."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            os.write(self._nudge, b".")
        if self._thread is not None:
            self._thread.join(COALESCING_SECONDS + 1)
        with self._lock:
            for end in (self._awake, self._nudge):
                os.close(end)

    def _serve(self) -> None:
        is_closing = False
        while not is_closing:
            try:
                with closing(self._server.connect()) as opened:
                    opened.execute("LISTEN bot_wake")
                    self._receive(None)
                    self._exchange(opened)
            except (connection.NotConnected, psycopg.Error) as error:
                log.debug("replicas not notified", reason=connection.describe(error))
            except Exception:
                log.exception("replicas not notified")
            is_closing = self._closing.wait(database.jittered(RECONNECT_SECONDS))

    def _exchange(self, opened: connection.Connection) -> None:
        while not self._closing.is_set():
            ready, _, _ = select.select([opened.conn.fileno(), self._awake], [], [])
            if self._awake in ready:
                os.read(self._awake, 1024)
                self._send_unsent(opened)
            for notification in opened.conn.notifies(timeout=0):
                if notification.pid != opened.conn.info.backend_pid:
                    self._receive(notification.payload.split())
        self._send_unsent(opened)

    def _send_unsent(self, opened: connection.Connection) -> None:
        with self._lock:
            topics, self._unsent = self._unsent, set()
        if topics:
            opened.execute(NOTIFY, {"topics": " ".join(sorted(topics))})
            self._closing.wait(COALESCING_SECONDS)

    def _receive(self, topics: Iterable[str] | None) -> None:
        if self.loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._received, topics)


# Migrations while replicas are running.


ATTEMPTS, PAUSE_SECONDS = 60, 1.0
"""How often a migration tries to lock a table that is in use, and the seconds between."""

TEXT = re.compile(r"\bTEXT\b")

ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7264893021)"
"""Two processes that create a table simultaneously fail even with IF NOT EXISTS."""

NO_LIMITS = """
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')
"""
SHORT_LOCKS = "SELECT set_config('lock_timeout', '500ms', true)"
"""All later transactions wait behind a lock that is waited for. It is below the server's
`deadlock_timeout` (1 s), so that we give way first in a deadlock."""

IN_USE = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
"""A transaction holds a table, and perhaps waits for one of our locks."""

HAS_TABLES = "SELECT 1 AS one WHERE to_regclass('replicas') IS NOT NULL"


class TableBusy(errors.StorageError):
    """A table that a migration changes was in use for too long."""

    def __init__(self) -> None:
        super().__init__(
            "the new version changes a table that was in use all the time, as by a backup: start it"
            " again when that has ended"
        )


def migrate(tx: database.Transaction) -> bool:
    """Run the missing migrations; return whether there were any.

    Raises TableBusy, and BotError if our program is too old for the database.
    """
    tx.query(NO_LIMITS)
    tx.query(ONE_AT_A_TIME)
    tx.query(SHORT_LOCKS)
    try:
        return migrations.run_missing(tx, adapted)
    except IN_USE:
        raise TableBusy from None


def adapted(statement: str) -> str:
    """Return a statement of the schema for PostgreSQL.

    All text is compared and sorted by bytes as in SQLite, whatever the database's collation.
    """
    return TEXT.sub('TEXT COLLATE "C"', statement)


def may_migrate(tx: database.Transaction, *, creates: bool = False) -> bool:
    """Return whether a command has to migrate the database first.

    Raises BotError if the database has no tables, unless the command `creates` them; if migrations
    are missing while a replica is registered, because its program is older than ours; and if our
    program is too old for the database.
    """
    if tx.one(HAS_TABLES) is None:
        if not creates:
            raise errors.BotError("it has no tables yet: start the bot once, or check its name")
        return True
    migrations.refuse_newer(tx)
    if not migrations.find_missing(tx):
        return False
    if tx.one("SELECT owner FROM replicas LIMIT 1") is not None:
        raise errors.BotError(
            "its replicas run an older version than this program: update them first, or use their"
            " program"
        )
    return True
