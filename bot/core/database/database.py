"""What every engine offers: transactions, reads, and events for those who wait for rows.

A transaction is a function of a `Transaction`: it commits whole or not at all. Statements take
named parameters (`:name`) and are written once, for SQLite and PostgreSQL.

A write scope is a part of the data whose transactions run one at a time in all replicas. It is a
row of the table `slices`, which each of its transactions locks first. The row names the replica
that leads the scope, so that a former lead finds out before it changes anything.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar
from weakref import WeakSet

import structlog

from bot.core import errors

log = structlog.get_logger()

T = TypeVar("T")
Row = dict[str, Any]
Engine = Literal["sqlite", "postgresql"]

TEST_WRITE = "UPDATE migrations SET number = number WHERE number = 1"
"""A statement that changes nothing, and yet reaches the disk when it is committed."""

STORE_RETRY_SECONDS = 0.5
"""The mean of seconds between attempts of `transaction_until_stored`."""

REMIND_SECONDS = 30.0
"""Seconds between two log lines about one lasting failure."""

CALM_SECONDS = 1.0
"""Seconds between two log lines about failures that come and go."""


class Health:
    """The outcome of the last use of a shared resource, reported by any thread.

    Many parts meet the same failure again and again. The log gets one line for all of them when it
    begins, one from time to time while it lasts, and one when it is over.
    """

    def __init__(self, failed_event: str, recovered_event: str) -> None:
        """Take the names of the log's events."""
        self._lock = threading.Lock()
        self._failed_event, self._recovered_event = failed_event, recovered_event
        self._reason: str | None = None
        self._since, self._logged_at = 0.0, float("-inf")
        self._in_a_row = 0
        self._announced = False
        self.failures = 0
        """Failures so far: whoever remembers the number recognizes newer ones."""

    def worked(self) -> None:
        with self._lock:
            if self._reason is not None:
                if self._announced:
                    lasted = round(time.monotonic() - self._since, 1)
                    log.warning(self._recovered_event, lasted_s=lasted, failures=self._in_a_row)
                self._reason, self._in_a_row, self._announced = None, 0, False

    def failed(self, reason: str) -> None:
        """Record a failed use; `reason` contains no person and no secret."""
        with self._lock:
            now = time.monotonic()
            self.failures += 1
            self._in_a_row += 1
            self._since = now if self._reason is None else self._since
            if now - self._logged_at >= (REMIND_SECONDS if self._announced else CALM_SECONDS):
                self._logged_at, self._announced = now, True
                log.error(self._failed_event, reason=reason, failures=self._in_a_row)
            self._reason = reason


@dataclass(frozen=True, slots=True)
class WriteLease:
    """The lead of a write scope."""

    owner: str
    """The replica that leads; "" if none does."""

    term: int
    """A later lead has a higher term."""


class Transaction(ABC):
    """A transaction under way, valid only inside the function that it was passed to.

    If the first run was rolled back, the function runs again from its beginning, with a new
    `Transaction`. So it may change nothing but rows.
    """

    engine: Engine

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self.counts: list[tuple[str, ...]] = []

    @abstractmethod
    def query(self, sql: str, **params: object) -> list[Row]:
        """Return all rows of a SELECT or of a statement with RETURNING, as dicts."""

    @abstractmethod
    def execute(self, sql: str, **params: object) -> int:
        """Run a statement; return the number of rows that it changed."""

    @abstractmethod
    def lock(self, sql: str, **params: object) -> None:
        """Lock rows by a SELECT … FOR NO KEY UPDATE; SQLite, with its one writer, locks nothing."""

    def one(self, sql: str, **params: object) -> Row | None:
        """Return the first row, or None."""
        rows = self.query(sql, **params)
        return rows[0] if rows else None

    def wake(self, topic: str) -> None:
        """Wake the listeners of `topic` once this transaction is committed."""
        self.topics.add(topic)

    def count(self, name: str, *labels: str) -> None:
        """Increment a counter of /metrics once this transaction is committed."""
        self.counts.append((name, *labels))


class Run(Protocol):
    """Runs a transaction in the caller's thread, as `Database.run` does."""

    def __call__(self, work: Callable[[Transaction], T]) -> T: ...


class OwnWriter(ABC):
    """A writer beside the database's, which waits behind no other transaction."""

    @abstractmethod
    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction in this thread; one at a time. Raises StorageError within seconds."""

    @abstractmethod
    def close(self) -> None:
        """Close its connection, if it has one."""


class Database(ABC):
    """A database behind one of the engines."""

    engine: Engine
    health: Health
    """What its last uses found."""

    def __init__(self) -> None:
        self._listeners: dict[str, WeakSet[asyncio.Event]] = defaultdict(WeakSet)

    @abstractmethod
    async def transaction(self, work: Callable[[Transaction], T], about: str = "") -> T:
        """Run `work` as one durable transaction; an exception in it rolls everything back.

        Transactions that wait for each other's rows are named alike by `about`, so that others
        don't wait behind them. Raises StorageError if the machine fails (a lock, a full disk);
        then nothing is stored.
        """

    async def bulk(self, work: Callable[[Transaction], T], about: str = "") -> T:
        """Run a transaction of hundreds of rows beside the event loop.

        A `transaction` may run on the event loop, and has to be short.
        """
        return await self.transaction(work, about)

    async def transaction_until_stored(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` as `transaction` does, again and again until the database can be used.

        It stores the outcome of a call to another server: if that were lost, the call would be
        repeated.
        """
        while True:
            try:
                return await self.transaction(work)
            except errors.StorageError:
                await asyncio.sleep(jittered(STORE_RETRY_SECONDS))

    @abstractmethod
    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction from code without an event loop: commands, the start."""

    @abstractmethod
    def in_write_scope(self, name: str, lead: WriteLease | None = None) -> Database:
        """Return a view whose transactions run one at a time among all replicas.

        With a `lead` they raise NoLongerLead as soon as the scope of this `name` has another one.
        """

    @abstractmethod
    def own_writer(self) -> OwnWriter:
        """Return a writer for one thread that must not wait behind other transactions."""

    @abstractmethod
    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work`, which only reads, beside the writers; it sees only committed data."""

    async def query(self, sql: str, **params: object) -> list[Row]:
        """Return all rows of a SELECT, read beside the writers."""
        return await self.read(lambda tx: tx.query(sql, **params))

    async def one(self, sql: str, **params: object) -> Row | None:
        """Return the row that a key or an index finds in a few steps, or None.

        Statements that scan rows are for `query`.
        """
        return await self.read(lambda tx: tx.one(sql, **params))

    def listen(self, topic: str) -> asyncio.Event:
        """Return an event that is set by each commit that wakes `topic`; the caller clears it.

        It is forgotten once the caller keeps no reference to it.
        """
        event = asyncio.Event()
        self._listeners[topic].add(event)
        return event

    def wake(self, topic: str) -> None:
        """Set the events of `topic`; only from the event loop's thread."""
        for event in self._listeners[topic]:
            event.set()

    @abstractmethod
    def count_with(self, increment: Callable[..., None]) -> None:
        """Set the function that counts: `increment(name, *labels)`, called from any thread."""

    @abstractmethod
    def count(self, name: str, *labels: str) -> None:
        """Increment a counter of /metrics now; `Transaction.count` waits for the commit."""

    @abstractmethod
    async def check(self) -> str | None:
        """Return None, or the reason why no payment can be stored now."""

    @abstractmethod
    def migrate(self) -> bool:
        """Run the missing migrations; return whether there were any.

        Safe while another process does the same.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish transactions under way, then close every connection; wait for no lock."""


def jittered(seconds: float) -> float:
    """Return 50 to 150 % of a time, so that many callers don't come back at once."""
    return seconds * random.uniform(0.5, 1.5)  # noqa: S311 - no secret


def raisable(error: BaseException) -> BaseException:
    """Return an error that a future can raise: StopIteration would end its reader (PEP 479)."""
    if not isinstance(error, StopIteration):
        return error
    bug = RuntimeError("a transaction raised StopIteration")
    bug.__cause__ = error
    return bug


def count_nothing(_name: str, *_labels: str) -> None:
    """Count nothing, as commands do that serve no /metrics."""
