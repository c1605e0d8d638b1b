"""Whether something that everything needs works, as its last uses met it; the log has it calmly.

Many parts meet one trouble of the machine, each again and again. It is told here, once for all of
them: when it begins, from time to time while it lasts, and when it is over.
"""

from __future__ import annotations

import threading
import time

import structlog

log = structlog.get_logger()

REMIND_SECONDS = 30.0
"""Between two lines about one trouble that lasts."""

CALM_SECONDS = 1.0
"""Between two lines about troubles that come and go."""


class Health:
    """How it last went; every thread may tell. `trouble` and `over` are what the log calls it."""

    def __init__(self, trouble: str, over: str) -> None:
        self._lock = threading.Lock()
        self._names = trouble, over
        self._reason: str | None = None
        self._worked: float | None = None
        self._since, self._told = 0.0, float("-inf")
        self._failures = 0
        self._announced = False

    def worked_within(self, seconds: float) -> bool:
        """Whether it worked that long ago at most, and never failed since."""
        worked = self._worked
        return worked is not None and self._reason is None and time.monotonic() - worked < seconds

    def worked(self) -> None:
        """Note that it works."""
        with self._lock:
            self._worked = now = time.monotonic()
            if self._reason is not None:
                if self._announced:
                    lasted = round(now - self._since, 1)
                    log.warning(self._names[1], lasted_s=lasted, failures=self._failures)
                self._reason, self._failures, self._announced = None, 0, False

    def failed(self, reason: str) -> None:
        """Note that it does not work; `reason` names nobody and no secret."""
        with self._lock:
            now = time.monotonic()
            self._failures += 1
            self._since = now if self._reason is None else self._since
            if now - self._told >= (REMIND_SECONDS if self._announced else CALM_SECONDS):
                self._told, self._announced = now, True
                log.error(self._names[0], reason=reason, failures=self._failures)
            self._reason = reason
