"""What happened, numbered, for whoever watches the world from outside (the chat page)."""

from collections import deque
from typing import Any

Json = dict[str, Any]

KEPT = 2000


class Feed:
    """The newest events. A watcher names the last number it has seen."""

    def __init__(self, first: int) -> None:
        self.seq = first
        self._events: deque[Json] = deque(maxlen=KEPT)

    def add(self, kind: str, chat_id: int, **more: Any) -> None:
        self.seq += 1
        self._events.append({"seq": self.seq, "type": kind, "chat_id": chat_id, **more})

    def since(self, seq: int) -> list[Json] | None:
        """Return the events after `seq`; None when some are no longer kept or never were."""
        oldest = self._events[0]["seq"] if self._events else self.seq + 1
        if not oldest - 1 <= seq <= self.seq:
            return None
        return [event for event in self._events if event["seq"] > seq]
