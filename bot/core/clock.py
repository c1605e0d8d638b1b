"""The clocks of this machine."""

from __future__ import annotations

import time


def now() -> int:
    """Return the time in UTC epoch milliseconds."""
    return time.time_ns() // 1_000_000
