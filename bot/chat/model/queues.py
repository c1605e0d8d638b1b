"""The queues of the chat: updates, jobs, downloads, messages and callback answers.

Messages have a class, which determines their order within a lane, and a rate limit:

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
counts edits, so edits count as messages here. Callback answers have a separate queue, so that a
button never waits for messages. Each class has a share of the slots and of the connections, so that
a flood in one class does not block the others.

Updates are handled no faster than they can be answered, and the account that was served least comes
first: a person who floods the bot waits, other people don't.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Protocol

from bot.chat.model import jobs, payloads
from bot.core.database import database
from bot.core.net import rates
from bot.core.outbox import outbox, queue_policy

WRITE_SCOPE = "chat"
"""The write scope of the chat: only one of its transactions runs at a time, on any replica."""

INLINE = "inline:"
"""Lane prefix for inline messages; the inline_message_id follows."""

CHAT_BURST = 4
"""Burst of messages to one chat before its rate limit applies (Telegram's limits)."""

TOTAL_BURST = 2
"""Burst of messages to all chats, so that a late claim wastes no slot."""

CLAIMED_AHEAD = 300
"""Milliseconds by which messages are claimed before their slot in the bot's rate limit: during a
rush of payments, a claim waits for the database longer than a slot lasts."""

SENT_AT_ONCE = 20
"""Messages claimed at once, both in transfer and due in the next CLAIMED_AHEAD ms."""

CLASS_WIDTH = {queue_policy.REPLY: 12, queue_policy.ALERT: 16, queue_policy.NOTICE: 4}
"""Messages of each class claimed at once; alerts have reserved connections."""

PERSON = queue_policy.Pace(1_000, burst=20)
"""Cost of an update for its sender, used for ordering only: people with more updates come later,
but a short burst comes before people who never pause."""

REPLIES_WAITING = 20
"""Number of unsent replies in a chat above which its next update waits: more than a person causes
by pressing buttons quickly."""

SEEN_FOR = 48 * 3600 * 1000
"""Milliseconds that handled updates are kept; Telegram resends updates for up to a day."""

UPDATE_FAILURES = queue_policy.RetryTable((5_000, 10_000))
"""An update whose handler raises is tried three times; then the person is asked to try again."""

PHOTO_CRASHES = 3
"""Attempts at a photo whose worker died. Photos are the likeliest cause of a crash, so they become
dead letters before the messages that were handled at the same time."""

FILE_LEASE = 180_000
"""Milliseconds to download a file of 20 MB from Telegram and upload it to the service."""

FILES_AT_ONCE = 2
"""Files of up to 20 MB in memory at once; they occupy connections longer than photos."""

BACKGROUND = "background:"
"""Lane prefix for background jobs, which no button press waits for; the link's id follows."""

WALLETS = "wallets:"
"""Lane prefix for jobs that wait for sellers' wallets; the seller's reference follows."""

RECEIPTS = "receipts:"
"""Lane prefix for jobs that fetch a receipt; the buyer's account follows."""

MOST_IN_GROUP = 4
"""Jobs of one group that run at once. There are three groups: background jobs, which could all hang
with the service; jobs that wait for wallets, which a seller could make wait for the whole time
limit; and receipts, which anybody may request."""

JOBS_AT_ONCE = 4 * MOST_IN_GROUP
"""Jobs that run at once; the three groups leave a quarter for button presses."""


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues of updates, jobs, photo and file downloads, messages and callback answers."""

    updates: queue_policy.Queue
    jobs: queue_policy.Queue
    messages: queue_policy.Queue
    answers: queue_policy.Queue
    photos: queue_policy.Queue
    files: queue_policy.Queue

    def __iter__(self) -> Iterator[queue_policy.Queue]:
        return (getattr(self, field.name) for field in fields(self))


class ChatStep(Protocol):
    """A step of the chat's work in one transaction, such as an event or the outcome of a job."""

    @property
    def tx(self) -> database.Transaction: ...

    @property
    def queues(self) -> Queues:
        """The queues that the step fills."""

    @property
    def now(self) -> int:
        """Epoch ms."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step without an event or a job."""

    tx: database.Transaction
    queues: Queues
    now: int


def put_message(
    step: ChatStep,
    lane: str,
    body: payloads.MessagePayload,
    priority: int = queue_policy.NOTICE,
    *,
    key: str | None = None,
    due_at: int | None = None,
) -> None:
    """Queue a message in a chat's lane."""
    outbox.put(
        step.tx, step.queues.messages, lane, body, step.now,
        key=key, priority=priority, due_at=due_at,
    )  # fmt: skip


def put_job(step: ChatStep, job: jobs.Job) -> None:
    """Queue a job about a link in the background, where no button press waits for it."""
    lane = f"{BACKGROUND}{job.link_id}"
    outbox.put(step.tx, step.queues.jobs, lane, job, step.now, priority=queue_policy.NOTICE)


def make_queues(
    total: rates.Rate | None,
    chat: rates.Rate | None,
    group: rates.Rate | None,
    *,
    gather: queue_policy.Gather | None = None,
) -> Queues:
    """Return the queues with these rate limits (None means unlimited); `gather` merges alerts.

    The lane of a message is its chat id, which is negative for groups. An inline message may be in
    a group, so it is edited at a group's rate. Without rate limits, updates don't wait for replies.
    """
    alone = _pace(chat, CHAT_BURST)
    together = _window(group, CHAT_BURST)

    def lane_pace(lane: str) -> queue_policy.Pace | None:
        return together if lane.startswith(("-", INLINE)) else alone

    queue = partial(queue_policy.Queue, lease=60_000, write_scope=WRITE_SCOPE)
    messages = queue(
        "messages",
        pace=_window(total, TOTAL_BURST),
        lane_pace=lane_pace,
        class_width=CLASS_WIDTH,
        gather=gather,
        payloads=payloads.MESSAGES,
    )
    replies_at_once = max(1, total.count // total.seconds // 2) if total else None  # in 0.5 s
    back_pressure = queue_policy.BackPressure(messages, REPLIES_WAITING, replies_at_once)
    return Queues(
        updates=queue(
            "updates",
            keep=True,
            kept_for=SEEN_FOR,
            failures=UPDATE_FAILURES,
            pace=_pace(total, total.count) if total else None,
            account_pace=PERSON if total or chat else None,
            back_pressure=back_pressure if chat else None,
        ),
        jobs=queue("jobs", group=_slow, group_width=MOST_IN_GROUP, payloads=jobs.JOBS),
        messages=messages,
        answers=queue("answers", ordered=False, width=4, payloads=payloads.ANSWERS),
        photos=queue("photos", max_crashes=PHOTO_CRASHES, payloads=payloads.PHOTOS),
        files=queue("files", lease=FILE_LEASE, payloads=payloads.FILES),
    )


def _slow(lane: str) -> str | None:
    return next(
        (group for group in (BACKGROUND, WALLETS, RECEIPTS) if lane.startswith(group)), None
    )


def _pace(rate: rates.Rate | None, burst: int) -> queue_policy.Pace | None:
    return queue_policy.Pace(-(-rate.seconds * 1000 // rate.count), burst) if rate else None


def _window(rate: rates.Rate | None, most: int) -> queue_policy.Pace | None:
    """Return a pace that never exceeds the rate in any window, including the burst."""
    if rate is None:
        return None
    burst = min(most, rate.count)
    return queue_policy.Pace(-(-rate.seconds * 1000 // (rate.count - burst + 1)), burst)
