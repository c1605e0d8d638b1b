"""What happened how often in this process, by name and labels; /metrics shows it.

A figure that belongs to a change is counted by `Transaction.count`, once the change is committed:
what is undone was no payment.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Tally:
    """Counts by `(name, *labels)`; every thread may add. Labels are few words, never ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, ...]] = Counter()

    def add(self, happened: Iterable[tuple[str, ...]]) -> None:
        """Add one for each."""
        with self._lock:
            for key in happened:
                self._counts[key] += 1

    def read(self) -> dict[tuple[str, ...], int]:
        """Give all counts as they are now."""
        with self._lock:
            return dict(self._counts)
