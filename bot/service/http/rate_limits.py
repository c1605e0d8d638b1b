"""Rate limits on callers: `API_RATE` for an application, `PAYER_RATE` for a payer.

They are counted in fixed windows. A process alone counts in its memory, from a key's first call
on; replicas over one database share their counts (see shared_counts.py).
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from bot.core.errors import RateLimited
from bot.core.net.rates import Rate

if TYPE_CHECKING:
    from limits.storage import Storage

CROWD = 20
"""Multiple of `PAYER_RATE` for one address where many people may share it: the scripts of open
pages, views of pay pages, and payers with a cookie, who are also counted one by one."""


PROBES = Rate(120, 60)
"""Payout accounts that an application may connect: each probes a stranger's server."""

PROBES_OF_OWNER = Rate(30, 60)
"""Those of one of its sellers, so that none takes the turns of all."""


DOWNLOADS = Rate(60, 3600)
"""Downloads of what one payment bought, parts of a file included."""


class RateLimit:
    """One limit, by key; without a rate it limits nothing."""

    def __init__(self, name: str, rate: Rate | None, windows: FixedWindowRateLimiter) -> None:
        self._item = RateLimitItemPerSecond(rate.count, rate.seconds, name) if rate else None
        self._windows = windows

    def hit(self, key: str) -> None:
        """Count a call. Raises RateLimited with the whole seconds to wait."""
        if self._item is None or self._windows.hit(self._item, key):
            return
        opens_at = self._windows.get_window_stats(self._item, key).reset_time
        raise RateLimited(max(1, math.ceil(opens_at - time.time())))


class RateLimits:
    """The limits of a service; they share one storage, by default the memory of this process."""

    def __init__(self, api: Rate | None, payer: Rate | None, counts: Storage | None = None) -> None:
        windows = FixedWindowRateLimiter(counts or MemoryStorage())
        crowd = payer and Rate(payer.count * CROWD, payer.seconds)
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
