"""Telegram's limits on how fast a bot may send.

Source: core.telegram.org/bots/faq, "My bot is hitting limits": one message a second in a chat
with short bursts, 20 a minute in a group, about 30 a second in all. Telegram answers 429 to edits
as well and publishes no figures for them: here an edit counts as a message of its chat, and that
of an inline message, which stands in a chat unknown to the bot, at the pace of a group.
"""

import math
from dataclasses import dataclass, field

# Telegram's own count is not exact; a bot that keeps to the rates must not fail for the
# unevenness of the network between it and the server.
JITTER_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` messages in `seconds`, `burst` of them at once after a rest."""

    count: float
    seconds: float
    burst: int

    @property
    def interval(self) -> float:
        return self.seconds / self.count


@dataclass(frozen=True, slots=True)
class Limits:
    """The rates; None switches one off. `inline` is for the edits of one inline message."""

    chat: Rate | None = Rate(1, 1.0, 4)
    group: Rate | None = Rate(20, 60.0, 20)
    inline: Rate | None = Rate(20, 60.0, 4)
    total: Rate | None = Rate(30, 1.0, 30)


NO_LIMITS = Limits(chat=None, group=None, inline=None, total=None)


@dataclass(slots=True)
class Limiter:
    """Counts messages by the generic cell rate algorithm, one cell a chat and one for all."""

    limits: Limits
    _due: dict[int | str | None, float] = field(default_factory=dict)

    def take(self, chat_id: int, now: float, *, group: bool) -> int:
        """Count one message or edit; 0, or the whole seconds to wait and nothing counted."""
        return self._take(chat_id, self.limits.group if group else self.limits.chat, now)

    def take_inline(self, inline_message_id: str, now: float) -> int:
        """Count one edit of an inline message; answers as `take`."""
        return self._take(inline_message_id, self.limits.inline, now)

    def _take(self, place: int | str, own: Rate | None, now: float) -> int:
        cells = ((place, own), (None, self.limits.total))
        kept: list[tuple[int | str | None, Rate]] = [(key, rate) for key, rate in cells if rate]
        wait = max((self._wait(key, rate, now) for key, rate in kept), default=0.0)
        if wait > JITTER_SECONDS:
            return math.ceil(wait - JITTER_SECONDS)
        for key, rate in kept:
            self._due[key] = max(self._due.get(key, now), now) + rate.interval
        return 0

    def _wait(self, key: int | str | None, rate: Rate, now: float) -> float:
        return self._due.get(key, now) - (rate.burst - 1) * rate.interval - now
