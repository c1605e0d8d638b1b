"""Rate limits on callers: `API_RATE` for an application, `PAYER_RATE` for a payer.

Calls are counted in fixed windows. A single process counts in memory, with windows that start at a
key's first call. Replicas that use the same database share their counts.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage, Storage
from limits.strategies import FixedWindowRateLimiter

from bot.core import errors
from bot.core.database import database
from bot.core.net import rates

# The rows that hold the counts of all replicas.


BATCH_SIZES = (64, 8, 1)
"""Rows per insert statement. There are few sizes, so that few statements are prepared."""


@dataclass(frozen=True, slots=True, order=True)
class Count:
    """The calls of one key under one limit in one window."""

    name: str
    """The limit."""

    subject: str
    slot: int
    """When the window began, in epoch seconds."""

    hits: int


def add_counts(tx: database.Transaction, counts: Iterable[Count]) -> list[Count]:
    """Add this replica's calls to the shared counts; return the sums.

    The rows are locked in a fixed order to avoid deadlocks between replicas.
    """
    ordered, done = sorted(counts), 0
    sums: list[Count] = []
    for size in BATCH_SIZES:
        while len(ordered) - done >= size:
            batch = ordered[done : done + size]
            values = {
                f"{name}{i}": value
                for i, one in enumerate(batch)
                for name, value in asdict(one).items()
            }
            sums += [Count(**row) for row in tx.query(_insert(size), **values)]
            done += size
    return sums


def sweep_counts(tx: database.Transaction, before: int) -> None:
    """Delete the windows that began before a time (epoch seconds)."""
    tx.execute("DELETE FROM rates WHERE slot < :before", before=before)


@lru_cache(len(BATCH_SIZES))
def _insert(size: int) -> str:
    rows = ", ".join(f"(:name{i}, :subject{i}, :slot{i}, :hits{i})" for i in range(size))
    return f"""
        INSERT INTO rates (name, subject, slot, hits) VALUES {rows}
        ON CONFLICT (name, subject, slot) DO UPDATE SET hits = rates.hits + excluded.hits
        RETURNING name, subject, slot, hits
    """  # noqa: S608 - of our own names


# Counts that all replicas share.


SHARE_SECONDS = 1.0
SWEEP_SECONDS = 60
KEPT_SECONDS = 300
"""How long the sums of a window are kept: longer than any window and any clock difference."""


@dataclass(slots=True)
class Window:
    """The calls of one key from `slot` until `ends_at` (epoch seconds)."""

    slot: int
    ends_at: int
    stored: int = 0
    """The sum over all replicas, as last read."""

    new: int = 0
    """This replica's calls that the stored sum doesn't include yet."""


class SharedCounts(Storage):
    """Storage for the package `limits` that shares counts between replicas.

    A call is counted in memory immediately. Once a second a replica adds its new calls to the sums
    in the database and reads the sums back. So a limit is exceeded by at most the calls that the
    other replicas admit in that second. While the database is unavailable, each replica counts
    alone.

    Windows begin at multiples of their length, so that all replicas use the same windows.
    Everything runs on the event loop.
    """

    STORAGE_SCHEME = None

    def __init__(
        self, db: database.Database, key: bytes, clock: Callable[[], float] = time.time
    ) -> None:
        """Replicas share `key`, with which addresses are hashed; `clock` returns epoch seconds."""
        super().__init__()
        self._db = db
        self._key = key
        self._clock = clock
        self._windows: dict[str, Window] = {}
        self._swept_at = clock()

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return the errors that `limits` would wrap; counting does no I/O."""
        return errors.StorageError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count calls of a key in its window of `expiry` seconds; return their sum."""
        now = self._clock()
        window = self._windows.get(key)
        if window is None or not window.slot <= now < window.ends_at:
            slot = int(now // expiry) * expiry
            window = self._windows[key] = Window(slot, slot + expiry)
        window.new += amount
        return window.stored + window.new

    def get(self, key: str) -> int:
        """Return the calls of a key in its window."""
        window = self._windows.get(key)
        return window.stored + window.new if window and self._clock() < window.ends_at else 0

    def get_expiry(self, key: str) -> float:
        """Return when the window of a key ends."""
        window = self._windows.get(key)
        return window.ends_at if window else self._clock()

    def check(self) -> bool:
        """Return True: calls can always be counted in memory."""
        return True

    def reset(self) -> int:
        """Forget all counts of this process; return their number."""
        number = len(self._windows)
        self._windows.clear()
        return number

    def clear(self, key: str) -> None:
        """Forget the count of one key."""
        self._windows.pop(key, None)

    async def run(self) -> None:
        """Share the counts each second until cancelled; retry while the database is unavailable."""
        while True:
            await asyncio.sleep(SHARE_SECONDS)
            with suppress(errors.StorageError):
                await self.share()

    async def share(self) -> None:
        """Add this replica's new calls to the shared sums, and read the sums back.

        Raises StorageError. If only the response to the commit is lost, calls are added twice.
        """
        now = self._clock()
        self._windows = {key: one for key, one in self._windows.items() if now < one.ends_at}
        counted = {self._count(key, one): one for key, one in self._windows.items() if one.new}
        if counted:
            sums = await self._db.transaction(partial(add_counts, counts=counted))
            stored = {(one.name, one.subject, one.slot): one.hits for one in sums}
            for count, window in counted.items():
                window.new -= count.hits  # calls made in the meantime stay new
                window.stored = stored[count.name, count.subject, count.slot]
        if now - self._swept_at >= SWEEP_SECONDS:
            before = int(now) - KEPT_SECONDS
            await self._db.bulk(partial(sweep_counts, before=before))
            self._swept_at = now

    def _count(self, key: str, window: Window) -> Count:
        name, _, _ = key.partition("/")
        digest = hmac.digest(self._key, f"rate {key}".encode(), "sha256").hex()[:32]
        return Count(name, digest, window.slot, window.new)


# The limits.


CROWD_FACTOR = 20
"""Multiple of `PAYER_RATE` for one address, which many people may share. It limits the scripts of
open pages, views of pay pages, and payers with a cookie, who are also counted individually.
"""

PROBES = rates.Rate(120, 60)
"""Limit on payout accounts that an application connects; each probes a third-party server."""

PROBES_OF_OWNER = rates.Rate(30, 60)
"""The same limit for each seller, so that one seller can't use up the application's limit."""

DOWNLOADS = rates.Rate(60, 3600)
"""Limit on downloads of the goods of one payment, including parts of a file."""


class RateLimit:
    """One limit, counted by key; None means no limit."""

    def __init__(self, name: str, rate: rates.Rate | None, windows: FixedWindowRateLimiter) -> None:
        self._item = RateLimitItemPerSecond(rate.count, rate.seconds, name) if rate else None
        self._windows = windows

    def hit(self, key: str) -> None:
        """Count a call. Raises RateLimited with the number of seconds to wait."""
        if self._item is None or self._windows.hit(self._item, key):
            return
        opens_at = self._windows.get_window_stats(self._item, key).reset_time
        raise errors.RateLimited(max(1, math.ceil(opens_at - time.time())))


class RateLimits:
    """The limits of a service, counted in one storage; the default is this process's memory."""

    def __init__(
        self, api: rates.Rate | None, payer: rates.Rate | None, counts: Storage | None = None
    ) -> None:
        windows = FixedWindowRateLimiter(counts or MemoryStorage())
        crowd = payer and rates.Rate(payer.count * CROWD_FACTOR, payer.seconds)
        self.applications = RateLimit("application", api, windows)
        self.failed_logins = RateLimit("failed login", api, windows)
        self.probes = RateLimit("probe", PROBES, windows)
        self.probes_of_owner = RateLimit("probe of owner", PROBES_OF_OWNER, windows)
        self.payers = RateLimit("payer", payer, windows)
        self.checkouts = RateLimit("checkout", payer, windows)
        self.downloads = RateLimit("download", DOWNLOADS if payer else None, windows)
        self.crowds = RateLimit("crowd", crowd, windows)
        self.open_pages = RateLimit("open page", crowd, windows)

    def count_probe(self, app_id: str, owner: str) -> None:
        """Count a probe for a seller of an application. Raises RateLimited."""
        self.probes_of_owner.hit(f"{app_id}/{owner}")
        self.probes.hit(app_id)
