"""Counts of rate limits that all replicas over one database share.

A call is counted in memory at once. Once a second a replica adds its new calls to the sums in the
database and reads these back. So a limit is exceeded at most by what each other replica admits in
that second, and while the database can't be used each replica counts on alone.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from limits.storage import Storage

from bot.core.errors import StorageError
from bot.service.store import rate_counts
from bot.service.store.rate_counts import Count

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database

SHARE_SECONDS = 1.0
SWEEP_SECONDS = 60
KEPT_SECONDS = 300
"""For which the sums of a window are kept: longer than a window and than clocks may differ."""


@dataclass(slots=True)
class Window:
    """The calls of one key from `slot` until `ends_at` (epoch seconds).

    `stored` is the sum of all replicas when it was last read, `new` are our calls beside it.
    """

    slot: int
    ends_at: int
    stored: int = 0
    new: int = 0


class SharedCounts(Storage):
    """A storage of `limits` whose windows begin at multiples of their length, the same everywhere.

    `key` is a secret that the replicas share: rows have keyed digests in the place of addresses.
    Everything runs on the event loop. `clock` returns epoch seconds.
    """

    STORAGE_SCHEME = None

    def __init__(self, db: Database, key: bytes, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._db = db
        self._key = key
        self._clock = clock
        self._windows: dict[str, Window] = {}
        self._swept_at = clock()

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return what `limits` would wrap: this storage does no I/O of its own."""
        return StorageError

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
        """Return that calls can be counted: always, in memory."""
        return True

    def reset(self) -> int:
        """Forget all counts of this process; return how many there were."""
        number = len(self._windows)
        self._windows.clear()
        return number

    def clear(self, key: str) -> None:
        """Forget the count of one key."""
        self._windows.pop(key, None)

    async def run(self) -> None:
        """Call `share` each second until cancelled; calls wait for a database that is away."""
        while True:
            await asyncio.sleep(SHARE_SECONDS)
            with suppress(StorageError):
                await self.share()

    async def share(self) -> None:
        """Add our new calls to the sums of all replicas, and take these over.

        Raises StorageError. If only the answer of the commit is lost, our calls are added twice.
        """
        now = self._clock()
        self._windows = {key: one for key, one in self._windows.items() if now < one.ends_at}
        counted = {self._count(key, one): one for key, one in self._windows.items() if one.new}
        if counted:
            self._take_over(
                counted, await self._db.transaction(partial(rate_counts.add, counts=counted))
            )
        if now - self._swept_at >= SWEEP_SECONDS:
            before = int(now) - KEPT_SECONDS
            await self._db.bulk(partial(rate_counts.sweep, before=before))
            self._swept_at = now

    def _count(self, key: str, window: Window) -> Count:
        name, _, _ = key.partition("/")
        digest = hmac.digest(self._key, f"rate {key}".encode(), "sha256").hex()[:32]
        return Count(name, digest, window.slot, window.new)

    @staticmethod
    def _take_over(counted: dict[Count, Window], sums: list[Count]) -> None:
        """Put the sums into the windows, whose calls since then stay new."""
        found = {(one.name, one.subject, one.slot): one.hits for one in sums}
        for ours, window in counted.items():
            window.new -= ours.hits
            window.stored = found[ours.name, ours.subject, ours.slot]
