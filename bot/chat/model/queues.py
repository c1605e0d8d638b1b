"""The queues of the chat: updates in, jobs at the service, downloads, messages and answers out.

Messages have a class, which orders them within a lane, and a rate limit:

| call                           | lane               | class         | rate                      |
|--------------------------------|--------------------|---------------|---------------------------|
| sendMessage, sendPhoto and the | the chat           | reply, alert  | the chat's, the bot's     |
| like                           |                    |               |                           |
| editMessage…, pressed for      | the chat           | reply         | the chat's, the bot's     |
| editMessage…, a card refreshed | the chat           | notice        | the chat's, the bot's     |
| editMessage… of a question | the chat           | notice        | the chat's, the bot's     |
| that is answered           |                    |               |                           |
| deleteMessage of a secret  | the chat           | reply         | the chat's, the bot's     |
| editMessage… shared inline     | the inline message | notice        | a group's, the bot's      |
| answerCallbackQuery            | the chat           | all alike     | none: one for each press  |
| answerInlineQuery              | never queued       |               | none: at once or never    |

Telegram documents limits for messages only (core.telegram.org/bots/faq) and does not say how it
counts edits, so they count as messages here. Answers have a queue of their own, so that a button
never waits for messages. Each class has its share of the turns and of the connections, so that no
class waits for the end of a flood of another.

Updates are handled no faster than they can be answered, the account that was served least first:
a person who floods the bot waits, other people don't.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.chat.model import jobs, payloads
from bot.core.net import rates
from bot.core.outbox import queue_policy

WRITE_SCOPE = "chat"
"""The write scope of the chat: its transactions run one at a time, whichever replica runs them."""

INLINE = "inline:"
"""Prefix of the lanes of messages posted inline; the inline_message_id follows."""

CHAT_BURST = 4
"""Messages to one chat at once, before its rate limit applies (Telegram's limits)."""

TOTAL_BURST = 2
"""Messages at once in all, so that a late claim wastes no slot."""

CLAIMED_AHEAD = 300
"""Milliseconds by which messages are claimed before their slot of the bot's rate limit: while
payments come in, a claim waits for the database for longer than a slot lasts."""

SENT_AT_ONCE = 20
"""Messages claimed at once: those that are being sent, and those of the next CLAIMED_AHEAD ms."""

CLASS_WIDTH = {queue_policy.REPLY: 12, queue_policy.ALERT: 16, queue_policy.NOTICE: 4}
"""Messages of one class claimed at once: alerts have connections that nothing else can use."""

PERSON = queue_policy.Pace(1_000, burst=20)
"""What an update costs its person. It only orders: a person with more updates comes behind others,
and a burst of presses before people who never pause."""

REPLIES_WAITING = 20
"""Unsent replies of one chat beyond which its next update waits: more than a person causes by
pressing buttons quickly."""

SEEN_FOR = 48 * 3600 * 1000
"""Milliseconds that handled updates are kept; Telegram sends none older than a day."""

FAILED_FOR = 30 * 24 * 3600 * 1000
"""Milliseconds that dead letters are kept."""

UPDATE_FAILURES = queue_policy.RetryTable((5_000, 10_000))
"""Three attempts at an update whose handler raises: then the person is asked to try again."""

PHOTO_CRASHES = 3
"""Attempts at a photo whose worker died: photos are the likeliest to end the process, so they are
dead letters before the messages that were handled beside them."""

FILE_LEASE = 180_000
"""Milliseconds for a file of 20 MB to come from Telegram and go to the service."""

FILES_AT_ONCE = 2
"""Files in memory, of 20 MB each. They hold their connections longer than photos do."""

BACKGROUND = "background:"
"""Prefix of the lanes of jobs that no button press waits for; the link's id follows."""

WALLETS = "wallets:"
"""Prefix of the lanes of jobs that wait for sellers' wallets; the seller's reference follows."""

RECEIPTS = "receipts:"
"""Prefix of the lanes of jobs that fetch a receipt; the buyer's account follows."""

MOST_IN_GROUP = 4
"""Jobs of one group that are performed at once. The groups are background jobs, so that a service
that hangs leaves room; jobs that wait for wallets, each for its whole time limit if its seller
likes; and receipts, which anybody may ask for."""

JOBS_AT_ONCE = 4 * MOST_IN_GROUP
"""Jobs performed at once: the three groups leave a quarter of the room to presses."""


@dataclass(frozen=True, slots=True)
class Queues:
    """Updates, jobs at the service, photo and file downloads, messages and callback answers."""

    updates: queue_policy.Queue
    jobs: queue_policy.Queue
    messages: queue_policy.Queue
    answers: queue_policy.Queue
    photos: queue_policy.Queue
    files: queue_policy.Queue


def make_queues(
    total: rates.Rate | None,
    chat: rates.Rate | None,
    group: rates.Rate | None,
    *,
    gather: queue_policy.Gather | None = None,
) -> Queues:
    """Return the queues with these rate limits, None for no limit; `gather` joins alerts.

    The lane of a message is the id of its chat, negative for groups. A message posted inline may be
    in a group, so it is edited at the rate of one. Without a rate limit updates don't wait for
    replies.
    """
    alone = _pace(chat, CHAT_BURST)
    together = _window(group, CHAT_BURST)

    def lane_pace(lane: str) -> queue_policy.Pace | None:
        return together if lane.startswith(("-", INLINE)) else alone

    messages = queue_policy.Queue(
        "messages",
        lease=60_000,
        pace=_window(total, TOTAL_BURST),
        lane_pace=lane_pace,
        class_width=CLASS_WIDTH,
        gather=gather,
        payloads=payloads.MESSAGES,
        write_scope=WRITE_SCOPE,
    )
    replies_at_once = max(1, total.count // total.seconds // 2) if total else None  # in 0.5 s
    back_pressure = queue_policy.BackPressure(messages, REPLIES_WAITING, replies_at_once)
    return Queues(
        updates=queue_policy.Queue(
            "updates",
            lease=60_000,
            keep=True,
            failures=UPDATE_FAILURES,
            pace=_pace(total, total.count) if total else None,
            account_pace=PERSON if total or chat else None,
            back_pressure=back_pressure if chat else None,
            write_scope=WRITE_SCOPE,
        ),
        jobs=queue_policy.Queue(
            "jobs",
            lease=60_000,
            group=_slow,
            group_width=MOST_IN_GROUP,
            payloads=jobs.JOBS,
            write_scope=WRITE_SCOPE,
        ),
        messages=messages,
        answers=queue_policy.Queue(
            "answers",
            lease=60_000,
            ordered=False,
            width=4,
            payloads=payloads.ANSWERS,
            write_scope=WRITE_SCOPE,
        ),
        photos=queue_policy.Queue(
            "photos",
            lease=60_000,
            max_crashes=PHOTO_CRASHES,
            payloads=payloads.PHOTOS,
            write_scope=WRITE_SCOPE,
        ),
        files=queue_policy.Queue(
            "files", lease=FILE_LEASE, payloads=payloads.FILES, write_scope=WRITE_SCOPE
        ),
    )


def _slow(lane: str) -> str | None:
    return next(
        (group for group in (BACKGROUND, WALLETS, RECEIPTS) if lane.startswith(group)), None
    )


def _pace(rate: rates.Rate | None, burst: int) -> queue_policy.Pace | None:
    return queue_policy.Pace(-(-rate.seconds * 1000 // rate.count), burst) if rate else None


def _window(rate: rates.Rate | None, most: int) -> queue_policy.Pace | None:
    """Return a pace that never exceeds the rate in any window, its burst included."""
    if rate is None:
        return None
    burst = min(most, rate.count)
    return queue_policy.Pace(-(-rate.seconds * 1000 // (rate.count - burst + 1)), burst)
