"""PostgreSQL behind the verbs of `Database`: a few writer threads and a few reader threads."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, TypeVar

from bot.core.database.interface import TEST_WRITE, Database, OwnWriter
from bot.core.database.postgres.advice import advise
from bot.core.database.postgres.connection import NEVER
from bot.core.database.postgres.faults import SqlError
from bot.core.database.postgres.notifications import Notifications
from bot.core.database.postgres.server import Server
from bot.core.database.postgres.storage_check import StorageCheck
from bot.core.database.postgres.threads import Threads
from bot.core.database.postgres.transactions import Entry, Runner
from bot.core.database.postgres.upgrading import upgrade
from bot.core.database.urls import postgres_address, safe_url
from bot.core.errors import BotError, ConfigProblem
from bot.core.health import Health

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bot.core.database.interface import Engine, Transaction
    from bot.core.database.postgres.transactions import PostgresTransaction
    from bot.core.database.slices import Lead

T = TypeVar("T")

WRITERS = 4
"""Threads with a connection each; the server flushes the commits of several at once."""

READERS = 3

OWN_SECONDS = 3.0
"""The longest wait of an own writer for an answer."""


class PostgresDatabase(Database):
    """A PostgreSQL database, shared with other replicas."""

    engine: Engine = "postgresql"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.health = Health("database not usable", "database usable again")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server = Server(postgres_address(url))
        self._notifications = (
            None if self._server.is_pooled else Notifications(self._server, self._receive)
        )
        self._writers = self._threads(WRITERS, "db-writer", reads=False)
        self._readers = self._threads(READERS, "db-reader", reads=True)
        self._checker = self.own_writer()
        self._storage_check = StorageCheck(self._checker, self.health)

    async def transaction(self, work: Callable[[Transaction], T], about: str = "") -> T:
        return await self.enter(work, None, about)

    def run(self, work: Callable[[Transaction], T]) -> T:
        return self.run_in(work, None)

    def alone(self, slice_: str, lead: Lead | None = None) -> Database:
        return SliceView(self, Entry(slice_, lead))

    async def enter(
        self, work: Callable[[Transaction], T], entry: Entry | None, about: str = ""
    ) -> T:
        """Run a transaction that enters a slice first."""
        self._loop = asyncio.get_running_loop()
        result: T = await self._writers.ask(work, entry, about)
        return result

    def run_in(self, work: Callable[[Transaction], T], entry: Entry | None) -> T:
        """Run a transaction that enters a slice first, without an event loop."""
        result: T = self._writers.run(work, entry)
        return result

    def own_writer(self) -> OwnWriter:
        return SeparateWriter(Runner(self._server, patience=OWN_SECONDS), self._committed)

    async def read(self, work: Callable[[Transaction], T]) -> T:
        result: T = await self._readers.ask(work)
        return result

    def listen(self, topic: str) -> asyncio.Event:
        event = super().listen(topic)
        with suppress(RuntimeError):  # without a loop, nobody waits yet
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
        return upgrade(self.run_patiently, self._server)

    def run_patiently(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction of which an answer may take any time: a migration."""
        runner = Runner(self._server, patience=NEVER)
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

    def _committed(self, tx: PostgresTransaction) -> None:
        for name, *labels in tx.counts:
            self.count(name, *labels)
        if self._notifications is not None and tx.topics:
            self._notifications.send(tx.topics)
        if tx.changes:
            self.health.worked()  # a commit that changes nothing proves nothing

    def _receive(self, topics: Iterable[str] | None) -> None:
        """Wake the listeners of what was committed elsewhere; of all where that isn't known."""
        if self._loop is not None:
            woken = list(self._listeners) if topics is None else topics
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake_all, woken)

    def _wake_all(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.wake(topic)


class SeparateWriter(OwnWriter):
    """A writer on a connection of its own, in its caller's thread.

    One thread at a time has the connection: a caller that waits no longer leaves its thread to it.
    """

    def __init__(self, runner: Runner, committed: Callable[[PostgresTransaction], None]) -> None:
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
            self._lock.release()  # who comes later is refused, and does not wait for ever


class SliceView(Database):
    """A view of a database whose transactions enter a slice first; all else is the database's."""

    engine: Engine = "postgresql"

    def __init__(self, database: PostgresDatabase, entry: Entry) -> None:
        super().__init__()
        self._database, self._entry = database, entry
        self.health = database.health

    async def transaction(self, work: Callable[[Transaction], T], about: str = "") -> T:
        return await self._database.enter(work, self._entry, about)

    def run(self, work: Callable[[Transaction], T]) -> T:
        return self._database.run_in(work, self._entry)

    def alone(self, slice_: str, lead: Lead | None = None) -> Database:
        return self._database.alone(slice_, lead)

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
        """Close nothing: the database is closed by who opened it."""


def open_postgres(
    url: str, *, writing: bool = False, migrates: Callable[[Transaction], bool] | None = None
) -> PostgresDatabase:
    """Open the database of a DATABASE_URL as `open_database` does. Raises ConfigProblem.

    With `migrates`, it is migrated only where that returns True.
    """
    database = PostgresDatabase(url)
    try:
        if migrates is None or database.run_patiently(migrates):
            database.migrate()
        if writing:
            database.run(lambda tx: tx.execute(TEST_WRITE))
    except (BotError, SqlError) as error:
        database.close()
        reason = advise(str(error))
        raise ConfigProblem(f"DATABASE_URL: {safe_url(url)} can't be used: {reason}") from None
    return database
