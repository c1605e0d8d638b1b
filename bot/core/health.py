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
    """How it last went; every thread may tell. `trouble` and `over` are what the log calls it.

    `failures` counts them all, so that who remembers the number knows of newer ones.
    """

    def __init__(self, trouble: str, over: str) -> None:
        self._lock = threading.Lock()
        self._names = trouble, over
        self._reason: str | None = None
        self._since, self._told = 0.0, float("-inf")
        self._in_a_row = 0
        self._announced = False
        self.failures = 0

    def worked(self) -> None:
        """Note that it works."""
        with self._lock:
            if self._reason is not None:
                if self._announced:
                    lasted = round(time.monotonic() - self._since, 1)
                    log.warning(self._names[1], lasted_s=lasted, failures=self._in_a_row)
                self._reason, self._in_a_row, self._announced = None, 0, False

    def failed(self, reason: str) -> None:
        """Note that it does not work; `reason` names nobody and no secret."""
        with self._lock:
            now = time.monotonic()
            self.failures += 1
            self._in_a_row += 1
            self._since = now if self._reason is None else self._since
            if now - self._told >= (REMIND_SECONDS if self._announced else CALM_SECONDS):
                self._told, self._announced = now, True
                log.error(self._names[0], reason=reason, failures=self._in_a_row)
            self._reason = reason
