"""The interface of every engine: transactions, reads, and events for tasks that wait for rows.

A transaction is a function that takes a `Transaction`; all or nothing is committed. Statements take
named parameters (`:name`) and are written once for both SQLite and PostgreSQL.

A write scope is a part of the data whose transactions run one at a time in all replicas. It is a
row of the table `slices`, which each of its transactions locks first. The row names the replica
that leads the scope, so a former lead notices before it changes anything.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeVar
from weakref import WeakSet

import structlog

from bot.core import errors

log = structlog.get_logger()

T = TypeVar("T")
Row = dict[str, Any]
Engine = Literal["sqlite", "postgresql"]

TEST_WRITE = "UPDATE migrations SET number = number WHERE number = 1"
"""A statement that changes nothing, but whose commit is written to the disk."""

STORE_RETRY_SECONDS = 0.5
"""The mean delay between attempts of `transaction_until_stored`, in seconds."""

REMIND_SECONDS = 30.0
"""Seconds between log lines about one persistent failure."""

CALM_SECONDS = 1.0
"""Seconds between log lines about intermittent failures."""


class Health:
    """The outcome of the last use of a database, reported by any thread.

    Many callers meet the same failure again and again. The log gets one line when the failure
    begins, further lines from time to time while it lasts, and one line when it is over.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._since, self._logged_at = 0.0, float("-inf")
        self._in_a_row = 0
        self._announced = False
        self.failures = 0
        """Failures so far; callers compare the number to detect new failures."""

    def worked(self) -> None:
        with self._lock:
            if self._reason is not None:
                if self._announced:
                    lasted = round(time.monotonic() - self._since, 1)
                    log.warning("database usable again", lasted_s=lasted, failures=self._in_a_row)
                self._reason, self._in_a_row, self._announced = None, 0, False

    def failed(self, reason: str) -> None:
        """Record a failed use; `reason` contains no personal data and no secrets."""
        with self._lock:
            now = time.monotonic()
            self.failures += 1
            self._in_a_row += 1
            self._since = now if self._reason is None else self._since
            if now - self._logged_at >= (REMIND_SECONDS if self._announced else CALM_SECONDS):
                self._logged_at, self._announced = now, True
                log.error("database not usable", reason=reason, failures=self._in_a_row)
            self._reason = reason


PROVEN_SECONDS = 1.0
"""How long the result of a check is reused, so that frequent checks cost nothing."""


class StorageCheck:
    """Checks that a payment can be stored, by storing something.

    After a failure, a small write that succeeds proves nothing, because it may fit into the space
    that the failed one left: a large write must succeed.
    """

    def __init__(
        self,
        small: Callable[[], Awaitable[None]],
        large: Callable[[], Awaitable[None]],
        health: Health,
    ) -> None:
        """Initialize with two functions that write. They raise StorageError."""
        self._small, self._large, self._health = small, large, health
        self._writing = asyncio.Lock()
        self._failures = 0
        self._asked_at = float("-inf")
        self._reason: str | None = None

    async def __call__(self) -> str | None:
        """Return None, or the database's reason why nothing can be stored."""
        async with self._writing:
            failures = self._health.failures
            is_doubted = failures != self._failures
            is_old = time.monotonic() - self._asked_at >= PROVEN_SECONDS
            if is_old or (is_doubted and self._reason is None):
                try:
                    await (self._large if is_doubted else self._small)()
                    self._failures, self._reason = failures, None
                except errors.StorageError as error:
                    self._reason = str(error)
                self._asked_at = time.monotonic()
            return self._reason


@dataclass(frozen=True, slots=True)
class WriteLease:
    """The lead of a write scope."""

    owner: str
    """The leading replica; "" if there is none."""

    term: int
    """A later lead has a higher term."""


class Transaction(ABC):
    """A transaction in progress, valid only inside the function that it was passed to.

    If a run is rolled back, the function may run again from the beginning with a new `Transaction`.
    So it must have no side effects except on rows.
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
        """Run a statement; return the number of changed rows."""

    @abstractmethod
    def lock(self, sql: str, **params: object) -> None:
        """Lock rows with SELECT … FOR NO KEY UPDATE; does nothing on SQLite with its one writer."""

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


class Database(ABC):
    """A database behind one of the engines."""

    engine: Engine
    health: Health
    """The outcome of recent uses."""
    check: StorageCheck
    """Returns None, or the reason why no payment can be stored now."""

    def __init__(self) -> None:
        self._listeners: dict[str, WeakSet[asyncio.Event]] = defaultdict(WeakSet)

    @abstractmethod
    async def transaction(self, work: Callable[[Transaction], T], about: str = "") -> T:
        """Run `work` as one durable transaction; an exception in it rolls everything back.

        Transactions that contend for the same rows have the same `about`, so that other
        transactions don't wait behind them. Raises StorageError if the machine fails (a lock, a
        full disk); nothing is stored then.
        """

    async def bulk(self, work: Callable[[Transaction], T], about: str = "") -> T:
        """Run a transaction of hundreds of rows, or of many bytes, outside the event loop.

        `transaction` may run on the event loop, so its work must be short. A crowd of bulk
        transactions has an `about`: few of them run at once, so a short one waits for few.
        """
        return await self.transaction(work, about)

    async def transaction_until_stored(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` like `transaction`, and retry until the database can be used.

        It stores the outcome of a call to another server: if the outcome were lost, the call would
        be repeated.
        """
        while True:
            try:
                return await self.transaction(work)
            except errors.StorageError:
                await asyncio.sleep(jittered(STORE_RETRY_SECONDS))

    @abstractmethod
    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run a transaction from code without an event loop, such as commands and startup."""

    @abstractmethod
    def in_write_scope(self, name: str, lead: WriteLease | None = None) -> Database:
        """Return a view whose transactions run one at a time among all replicas.

        With a `lead`, they raise NoLongerLead as soon as the scope has another lead.
        """

    @abstractmethod
    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run read-only `work` concurrently with the writers; it sees only committed data."""

    async def query(self, sql: str, **params: object) -> list[Row]:
        """Return all rows of a SELECT, concurrently with the writers."""
        return await self.read(lambda tx: tx.query(sql, **params))

    async def one(self, sql: str, **params: object) -> Row | None:
        """Return a row that is found by a key or an index, or None.

        Use `query` for statements that scan rows.
        """
        return await self.read(lambda tx: tx.one(sql, **params))

    def listen(self, topic: str) -> asyncio.Event:
        """Return an event that every commit that wakes `topic` sets; the caller clears it.

        The database keeps only a weak reference to the event.
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
        """Set the counting function `increment(name, *labels)`, which any thread may call."""

    @abstractmethod
    def count(self, name: str, *labels: str) -> None:
        """Increment a counter of /metrics now, unlike `Transaction.count`."""

    @abstractmethod
    def migrate(self) -> bool:
        """Run the missing migrations; return whether there were any.

        Safe while another process does the same.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish current transactions, then close every connection; don't wait for locks."""


def jittered(seconds: float) -> float:
    """Return 50 to 150 % of a duration, so that many callers don't return at the same time."""
    return seconds * random.uniform(0.5, 1.5)  # noqa: S311 - no secret


def raisable(error: BaseException) -> BaseException:
    """Return an error that a future can raise, instead of StopIteration (PEP 479)."""
    if not isinstance(error, StopIteration):
        return error
    bug = RuntimeError("a transaction raised StopIteration")
    bug.__cause__ = error
    return bug


def count_nothing(_name: str, *_labels: str) -> None:
    """Do nothing: for commands, which serve no /metrics."""


# Building blocks of SQL statements: columns, sums and pages. Columns are always named: a `SELECT *`
# fails in a running replica once a migration adds a column.


BILLION = 1_000_000_000
BILLIONS, REST = f"amount / {BILLION}", f"amount - amount / {BILLION} * {BILLION}"
"""The parts of a column `amount` in SQL. It avoids %, which some drivers mistake for a parameter.

A sum of money may exceed 64 bits, and SQLite would add such integers as floats. The billions and
the rest of each amount are added separately: both sums fit, even of a billion payments.
"""


def split_amount(amount: int) -> tuple[int, int]:
    """Return the billions of an amount, and the rest."""
    return divmod(amount, BILLION)


def join_amount(row: Mapping[str, Any]) -> int:
    """Return the sum whose parts are the columns `billions` and `rest`."""
    return int(row["billions"]) * BILLION + int(row["rest"])


def columns_of(row: type[Any]) -> str:
    """Return the names of the fields of the dataclass `row`, as statements list columns."""
    return ", ".join(field.name for field in fields(row))


def of_table(table: str, columns: str) -> str:
    """Return `columns` with the name or alias of their table in front of each."""
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


def insert_into(table: str, columns: str, **expressions: str) -> str:
    """Return the INSERT of a row: a parameter for each column, or the SQL given for the column."""
    values = ", ".join(expressions.get(name, f":{name}") for name in columns.split(", "))
    return f"INSERT INTO {table} ({columns}) VALUES ({values})"  # noqa: S608 - our own names


PAGE = 500
"""Rows of a page: the most that are in memory at once."""


async def read_pages(
    db: Database, select: str, keys: Mapping[str, object], **given: object
) -> AsyncIterator[list[Row]]:
    """Yield the rows of a SELECT with a WHERE, in the order of the columns `keys`, page by page.

    Each page starts after the last row of the previous page. `keys` has a value for each column
    that is smaller than all of its values.
    """
    columns, names = ", ".join(keys), [key.rpartition(".")[2] for key in keys]
    after = ", ".join(f":last_{name}" for name in names)
    sql = f"{select} AND ({columns}) > ({after}) ORDER BY {columns} LIMIT {PAGE}"
    last = dict(zip(names, keys.values(), strict=True))
    while rows := await db.query(sql, **given, **{f"last_{name}": last[name] for name in names}):
        yield rows
        last = rows[-1]
