"""How many webhooks are under way at once to one endpoint, and to one host: slow start.

An unknown one begins with a few. Each quick success makes its window one wider, so that it doubles
with every round; a failure closes it. So a peer that hangs holds few places, and one that answers
has as many as it can use. A host keeps room for its other endpoints: it closes only where nothing
answered in time. Windows are the process's own; after a start they begin again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.core.outbox.queue_policy import Queue
    from bot.service.notify.delivery_outcomes import Outcome

SLOW = 2_000
"""Milliseconds; a place that is held for so long is missed by others."""

MOST_KNOWN = 2_000
"""Windows of a kind that are remembered, the last used ones; for the others they begin again."""


@dataclass(slots=True)
class Windows:
    """The windows of a kind of groups, by name."""

    least: int
    start: int
    most: int
    _known: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def width_of(self, name: str) -> int:
        """Return the present width of a group."""
        return self._known.get(name, self.start)

    def widen(self, name: str) -> None:
        """Store that something succeeded quickly."""
        self._store(name, min(self.most, self.width_of(name) + 1))

    def close(self, name: str) -> None:
        """Store that something failed, or took long."""
        self._store(name, self.least)

    def _store(self, name: str, width: int) -> None:
        self._known[name] = width
        self._known.move_to_end(name)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class EndpointWindows:
    """The windows of endpoints and hosts, the groups of the queue of webhooks."""

    endpoints: Windows = field(default_factory=lambda: Windows(least=1, start=8, most=32))
    hosts: Windows = field(default_factory=lambda: Windows(least=16, start=16, most=32))

    def bound(self, queue: Queue) -> Queue:
        """Return the queue with these windows as the widths of its groups."""
        return replace(queue, group_width=self.width_of)

    def width_of(self, name: str) -> int:
        """Return the width of a group, an endpoint or a host."""
        return self._of(name).width_of(name)

    def store(self, groups: tuple[str, ...], outcome: Outcome, took: int) -> None:
        """Store how an attempt ended that took so many milliseconds."""
        is_slow = took >= SLOW
        for name in groups:
            windows = self._of(name)
            if outcome.delivered and not is_slow:
                windows.widen(name)
            elif windows is self.endpoints or outcome.trouble or is_slow:
                windows.close(name)

    def _of(self, name: str) -> Windows:
        return self.endpoints if "/" in name else self.hosts
