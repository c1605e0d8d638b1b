"""Rate limits on callers: `API_RATE` for an application, `PAYER_RATE` for a payer.

Calls are counted in fixed windows. A single process counts in its memory, from a key's first call
on; replicas over one database share their counts.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage, Storage
from limits.strategies import FixedWindowRateLimiter

from bot.core import errors
from bot.core.database import database
from bot.core.net import rates

# The rows of all replicas' counts.


BATCH_SIZES = (64, 8, 1)
"""Rows that one statement adds: few sizes, so that few statements are prepared."""


@dataclass(frozen=True, slots=True, order=True)
class Count:
    """The calls that one subject of a limit made in one window."""

    name: str
    """The limit."""

    subject: str
    slot: int
    """When the window began, in epoch seconds."""

    hits: int


def add_counts(tx: database.Transaction, counts: Iterable[Count]) -> list[Count]:
    """Add our calls to the other replicas' calls; return the sums.

    The rows are locked in one order, or two replicas would wait for each other.
    """
    ordered, done = sorted(counts), 0
    sums: list[Count] = []
    for size in BATCH_SIZES:
        while len(ordered) - done >= size:
            batch = ordered[done : done + size]
            sums += [Count(**row) for row in tx.query(_insert(size), **_parameters(batch))]
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


def _parameters(counts: Sequence[Count]) -> dict[str, object]:
    return {
        f"{name}{i}": getattr(one, name)
        for i, one in enumerate(counts)
        for name in ("name", "subject", "slot", "hits")
    }


# Counts that all replicas share.


SHARE_SECONDS = 1.0
SWEEP_SECONDS = 60
KEPT_SECONDS = 300
"""How long the sums of a window are kept: longer than a window and than clocks may differ."""


@dataclass(slots=True)
class Window:
    """The calls of one key from `slot` until `ends_at` (epoch seconds)."""

    slot: int
    ends_at: int
    stored: int = 0
    """The sum of all replicas when it was last read."""

    new: int = 0
    """Our calls that the stored sum doesn't contain yet."""


class SharedCounts(Storage):
    """Storage for the package `limits` whose counts all replicas over one database share.

    A call is counted in memory at once. Once a second a replica adds its new calls to the sums in
    the database and reads these back. So a limit is exceeded at most by what each other replica
    admits in that second, and while the database can't be used each replica counts on alone.

    Windows begin at multiples of their length, so that all replicas have the same ones. Everything
    runs on the event loop.
    """

    STORAGE_SCHEME = None

    def __init__(
        self, db: database.Database, key: bytes, clock: Callable[[], float] = time.time
    ) -> None:
        """Count under digests of addresses by `key`, which replicas share, in epoch seconds."""
        super().__init__()
        self._db = db
        self._key = key
        self._clock = clock
        self._windows: dict[str, Window] = {}
        self._swept_at = clock()

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return the errors that `limits` would wrap; this storage does no I/O when it counts."""
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
        """Share the counts each second until cancelled; they wait for a database that is away."""
        while True:
            await asyncio.sleep(SHARE_SECONDS)
            with suppress(errors.StorageError):
                await self.share()

    async def share(self) -> None:
        """Add our new calls to the sums of all replicas, and read the sums back.

        Raises StorageError. If only the answer of the commit is lost, our calls are added twice.
        """
        now = self._clock()
        self._windows = {key: one for key, one in self._windows.items() if now < one.ends_at}
        counted = {self._count(key, one): one for key, one in self._windows.items() if one.new}
        if counted:
            sums = await self._db.transaction(partial(add_counts, counts=counted))
            stored = {(one.name, one.subject, one.slot): one.hits for one in sums}
            for count, window in counted.items():
                window.new -= count.hits  # calls made since then stay new
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
"""Multiple of `PAYER_RATE` for one address that many people may share: the scripts of open pages,
views of pay pages, and payers with a cookie, who are also counted one by one."""

PROBES = rates.Rate(120, 60)
"""Payout accounts that an application may connect: each probes a stranger's server."""

PROBES_OF_OWNER = rates.Rate(30, 60)
"""The same for one of its sellers, so that one seller can't use up the calls of all."""

DOWNLOADS = rates.Rate(60, 3600)
"""Downloads of what one payment bought, parts of a file included."""


class RateLimit:
    """One limit, counted by key; a rate of None limits nothing."""

    def __init__(self, name: str, rate: rates.Rate | None, windows: FixedWindowRateLimiter) -> None:
        self._item = RateLimitItemPerSecond(rate.count, rate.seconds, name) if rate else None
        self._windows = windows

    def hit(self, key: str) -> None:
        """Count a call. Raises RateLimited with the whole seconds to wait."""
        if self._item is None or self._windows.hit(self._item, key):
            return
        opens_at = self._windows.get_window_stats(self._item, key).reset_time
        raise errors.RateLimited(max(1, math.ceil(opens_at - time.time())))


class RateLimits:
    """The limits of a service; all count in one storage, by default this process's memory."""

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
