"""The health of a shared resource, such as the database, as its last uses found it.

Many parts meet the same failure again and again. The log gets one line for all of them when it
begins, one from time to time while it lasts, and one when it is over.
"""

from __future__ import annotations

import threading
import time

import structlog

log = structlog.get_logger()

REMIND_SECONDS = 30.0
"""Between two log lines about one lasting failure."""

CALM_SECONDS = 1.0
"""Between two log lines about failures that come and go."""


class Health:
    """The outcome of the last use, reported by any thread.

    `failed_event` and `recovered_event` are the log's events. `failures` is the number of failures
    so far: whoever remembers it can recognize newer ones.
    """

    def __init__(self, failed_event: str, recovered_event: str) -> None:
        self._lock = threading.Lock()
        self._failed_event, self._recovered_event = failed_event, recovered_event
        self._reason: str | None = None
        self._since, self._logged_at = 0.0, float("-inf")
        self._in_a_row = 0
        self._announced = False
        self.failures = 0

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
