"""The queue of updates for the bot, kept until the bot has confirmed them."""

from collections import deque
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

# Sent only to bots that ask for them by name (getUpdates, allowed_updates).
_ON_REQUEST = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
_EPOCH = 1_735_689_600  # 2025-01-01
_PER_SECOND = 8
_POSITIVE_INT32 = 2**31


def first_id(now: float) -> int:
    """Choose a number to count on from, higher at each start of the world.

    A bot keeps what it has seen across restarts of the sandbox, which remembers nothing: numbers
    that began at one again would look like repeats. Rises faster than people can click.
    """
    return max(int((now - _EPOCH) * _PER_SECOND), 0) % _POSITIVE_INT32 + 1


class Updates:
    """Pending updates, oldest first, and which kinds the bot wants."""

    def __init__(self, first: int) -> None:
        self.pending: deque[Json] = deque()
        self.allowed: frozenset[str] = frozenset()
        self._next = first

    def allow(self, kinds: Iterable[str] | None) -> None:
        """Remember allowed_updates: None keeps the last choice, empty means the default."""
        if kinds is not None:
            self.allowed = frozenset(map(str, kinds))

    def put(self, kind: str, body: Json) -> bool:
        """Queue one update, unless the bot doesn't want its kind."""
        wanted = kind in self.allowed if self.allowed else kind not in _ON_REQUEST
        if wanted:
            self.pending.append({"update_id": self._next, kind: body})
            self._next += 1
        return wanted

    def confirm(self, offset: int) -> None:
        """Forget what lies before `offset`; a negative one keeps that many from the end."""
        if offset < 0:
            offset = self._next + offset
        while self.pending and self.pending[0]["update_id"] < offset:
            self.pending.popleft()

    def first(self, limit: int) -> list[Json]:
        return [update for update, _ in zip(self.pending, range(limit), strict=False)]
