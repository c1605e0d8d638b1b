"""The queues of the chat: what comes in, what is asked of the service, what goes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.lanes import Pace, Queue

if TYPE_CHECKING:
    from bot.core.rates import Rate

CHAT_BURST = 4
"""Messages that one chat takes at once before a second's pace holds (Telegram's limits)."""

SEEN_FOR = 48 * 3600 * 1000
"""Milliseconds that handled updates are remembered; Telegram hands out none older than a day."""

FAILED_FOR = 30 * 24 * 3600 * 1000
"""Milliseconds that messages which were given up can be looked at."""


@dataclass(frozen=True, slots=True)
class Queues:
    """updates in, calls to the service, messages and callback answers out."""

    updates: Queue
    calls: Queue
    messages: Queue
    answers: Queue


def make_queues(total: Rate | None, chat: Rate | None, group: Rate | None) -> Queues:
    """Give the queues at these rates; a lane of messages is a chat's id, negative for groups."""
    alone = _pace(chat, CHAT_BURST)
    together = _window(group)

    def lane_pace(lane: str) -> Pace | None:
        return together if lane.startswith("-") else alone

    return Queues(
        updates=Queue("updates", lease=60_000, keep=True),
        calls=Queue("calls", lease=60_000),
        messages=Queue(
            "messages",
            lease=60_000,
            pace=_pace(total, 1),
            lane_pace=lane_pace,
        ),
        answers=Queue("answers", lease=60_000, ordered=False, width=8),
    )


def _pace(rate: Rate | None, burst: int) -> Pace | None:
    return Pace(-(-rate.seconds * 1000 // rate.count), burst) if rate else None


def _window(rate: Rate | None) -> Pace | None:
    """Give a pace that, its burst included, keeps to `count` in every window of `seconds`."""
    if rate is None:
        return None
    burst = min(CHAT_BURST, rate.count)
    return Pace(-(-rate.seconds * 1000 // (rate.count - burst + 1)), burst)
