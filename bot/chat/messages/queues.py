"""The queues of the chat: what comes in, what is asked of the service, what goes out.

What goes out has a class, which says what goes first within a lane, and a rate:

| call                           | lane               | class         | rate                      |
|--------------------------------|--------------------|---------------|---------------------------|
| sendMessage, sendPhoto and the | the chat           | reply, alert  | the chat's, the bot's     |
| like                           |                    |               |                           |
| editMessage…, pressed for      | the chat           | reply         | the chat's, the bot's     |
| editMessage…, a card refreshed | the chat           | notice        | the chat's, the bot's     |
| editMessage… shared inline     | the inline message | notice        | a group's, the bot's      |
| answerCallbackQuery            | the chat           | all alike     | none: one for each press  |
| answerInlineQuery              | never queued       |               | none: at once or never    |

Telegram names limits for messages only (core.telegram.org/bots/faq) and counts edits as it likes,
so they count as messages here. The queue of answers is its own, so that a button never waits for
what is being said. Of alerts, replies and notices each has its share of the turns and of the
connections, so that none of them waits for the end of a flood of another.

Updates are handled no faster than they can be answered, whoever was served least first: who floods
waits, nobody else does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.messages.jobs import JOBS
from bot.chat.messages.payloads import ANSWERS, MESSAGES, PHOTOS
from bot.core.outbox.queue_policy import ALERT, NOTICE, REPLY, BackPressure, Gather, Pace, Queue
from bot.core.outbox.retry_table import RetryTable

if TYPE_CHECKING:
    from bot.core.net.rates import Rate

INLINE = "inline:"
"""What the lane of a message begins with that was posted inline: its id follows."""

CHAT_BURST = 4
"""Messages that one chat takes at once before a second's pace holds (Telegram's limits)."""

TOTAL_BURST = 2
"""Messages at once in all, so that a claim that comes late costs no turn."""

SENT_AT_ONCE = 8
"""Messages under way at once: few on purpose, for the client's pool costs more than it gives."""

CLASS_WIDTH = {REPLY: 4, ALERT: 6, NOTICE: 2}
"""Of them of one class: whatever hangs, alerts have connections that nothing else can take."""

PERSON = Pace(1_000, burst=20)
"""What an update costs the person who caused it. Nobody is made to wait by it: who caused more
than others comes behind them, and a burst of presses before all who never rest."""

REPLIES_WAITING = 20
"""Replies of one chat that wait to be sent before its next update does: more than people cause in
a moment, pressing one button after the other."""

SEEN_FOR = 48 * 3600 * 1000
"""Milliseconds that handled updates are remembered; Telegram hands out none older than a day."""

FAILED_FOR = 30 * 24 * 3600 * 1000
"""Milliseconds that messages which were given up can be looked at."""

UPDATE_FAILURES = RetryTable((5_000, 10_000))
"""Three attempts at an update whose handler raises: then the person is asked to try again."""

PHOTO_CRASHES = 3
"""Attempts at a photo that may end the process: of all messages these are the likeliest to, so they
are set aside before any that was under way beside them."""

BACKGROUND = "background:"
"""Prefix of the lanes of jobs that no button press waits for; the listing's id follows."""

MOST_IN_BACKGROUND = 4
"""Background jobs under way at once, so that a service that hangs leaves room for the others."""


@dataclass(frozen=True, slots=True)
class Queues:
    """updates in, jobs at the service, photos to be fetched, messages and callback answers out."""

    updates: Queue
    jobs: Queue
    messages: Queue
    answers: Queue
    photos: Queue


def make_queues(
    total: Rate | None,
    chat: Rate | None,
    group: Rate | None,
    *,
    gather: Gather | None = None,
) -> Queues:
    """Return the queues at these rates; `gather` joins alerts when they are claimed.

    A lane of messages is a chat's id, negative for groups.

    A message posted inline may stand in a group, and is changed at the pace of one.
    Payments that would have to wait for a rate are told together. Where a rate is lifted, updates
    wait for nothing that it alone makes scarce.
    """
    alone = _pace(chat, CHAT_BURST)
    together = _window(group, CHAT_BURST)

    def lane_pace(lane: str) -> Pace | None:
        return together if lane.startswith(("-", INLINE)) else alone

    messages = Queue(
        "messages",
        lease=60_000,
        pace=_window(total, TOTAL_BURST),
        lane_pace=lane_pace,
        class_width=CLASS_WIDTH,
        gather=gather,
        payloads=MESSAGES,
    )
    return Queues(
        updates=Queue(
            "updates",
            lease=60_000,
            keep=True,
            failures=UPDATE_FAILURES,
            pace=_pace(total, total.count) if total else None,
            account_pace=PERSON if total or chat else None,
            back_pressure=BackPressure(messages, REPLIES_WAITING, _half_a_second(total))
            if chat
            else None,
        ),
        jobs=Queue(
            "jobs",
            lease=60_000,
            group=_background,
            group_width=MOST_IN_BACKGROUND,
            payloads=JOBS,
        ),
        messages=messages,
        answers=Queue("answers", lease=60_000, ordered=False, width=4, payloads=ANSWERS),
        photos=Queue("photos", lease=60_000, crashes=PHOTO_CRASHES, payloads=PHOTOS),
    )


def _half_a_second(total: Rate | None) -> int | None:
    """Return how many replies go in that time, at least one."""
    return max(1, total.count // total.seconds // 2) if total else None


def _background(lane: str) -> str | None:
    return BACKGROUND if lane.startswith(BACKGROUND) else None


def _pace(rate: Rate | None, burst: int) -> Pace | None:
    return Pace(-(-rate.seconds * 1000 // rate.count), burst) if rate else None


def _window(rate: Rate | None, most: int) -> Pace | None:
    """Give a pace that, its burst included, keeps to `count` in every window of `seconds`."""
    if rate is None:
        return None
    burst = min(most, rate.count)
    return Pace(-(-rate.seconds * 1000 // (rate.count - burst + 1)), burst)
