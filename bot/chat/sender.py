"""Messages out to Telegram: one after the other in each chat, at Telegram's pace.

What becomes of a call that failed is decided by `verdict`, a table; the sender
carries it out in one transaction.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import httpx
import structlog
from telegram import Bot, InputFile, LinkPreviewOptions
from telegram.constants import ParseMode
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from bot.chat import alerts, store
from bot.chat.cards import possibly_repeated
from bot.chat.queues import INLINE
from bot.chat.refusals import told
from bot.chat.replies import CAPTION_LIMIT, TEXT_LIMIT, shown_units
from bot.chat.transport import accepted
from bot.core import lanes, outbox, qr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.chat.queues import Queues
    from bot.core.db import Database, Transaction
    from bot.core.lanes import Queue
    from bot.core.outbox import Message

log = structlog.get_logger()

BACKOFF = (1_000, 2_000, 5_000, 15_000, 30_000, 60_000)
"""Milliseconds until the next try while Telegram can't be reached, the last for ever."""

LONGEST = 45.0
"""Seconds for one call; the time-outs of its connection begin anew with each byte."""

TRIES = 10
"""Tries after which a message that is refused, or never clearly answered, is given up."""

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures of httpx that leave no doubt: nothing reached the other side."""

POINTLESS = (
    "message is not modified",
    "query is too old",
    "message to edit not found",
    "message can't be edited",
    "message to delete not found",
    "message can't be deleted",
)
"""Telegram's answers after which nothing is left to do."""

NEW = frozenset(["sendMessage", "sendPhoto"])
"""Methods that make a message: the others, done twice, are done once."""

NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

CLASSES = {lanes.REPLY: "reply", lanes.ALERT: "alert", lanes.NOTICE: "notice"}
"""What the metrics call the classes of messages."""

TOO_MANY = "too many requests"
"""A 429 that does not say how long to wait is a refusal all the same."""

CHAT_GONE = ("chat not found", "user is deactivated", "chat_write_forbidden", "need administrator")


class Fate(Enum):
    """What becomes of a message whose call failed."""

    DONE = auto()
    AGAIN = auto()
    IN_DOUBT = auto()
    HELD = auto()
    PAUSED = auto()
    MOVED = auto()
    UNHEARD = auto()
    DEAD = auto()


COUNTED = {
    Fate.DONE: "needless",
    Fate.AGAIN: "failed",
    Fate.IN_DOUBT: "unclear",
    Fate.HELD: "throttled",
    Fate.PAUSED: "blocked",
    Fate.MOVED: "moved",
    Fate.UNHEARD: "refused",
    Fate.DEAD: "refused",
}
"""What the metrics call the ways in which a call fails, beside `sent` and `repeated`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A fate with its reason; `value` is the wait in ms, or the chat moved to."""

    fate: Fate
    note: str
    value: int = 0


def verdict(error: TelegramError, attempts: int) -> Verdict:
    """Say what becomes of a message whose call ended in `error`."""
    wait = BACKOFF[min(attempts, len(BACKOFF)) - 1]
    match error:
        case RetryAfter():
            found = Verdict(Fate.HELD, "Telegram asks to wait", _milliseconds(error))
        case ChatMigrated():
            found = Verdict(Fate.MOVED, "the group became a supergroup", error.new_chat_id)
        case Forbidden() if attempts == 1:  # let in since, that update may have come before this
            found = Verdict(Fate.AGAIN, error.message, wait)
        case Forbidden():
            found = Verdict(Fate.PAUSED, error.message)
        case InvalidToken() if "not found" in error.message.lower():
            found = Verdict(Fate.UNHEARD, "the server knows no such method", BACKOFF[-1])
        case InvalidToken():
            found = Verdict(Fate.AGAIN, "Telegram refuses the token", BACKOFF[-1])
        case BadRequest():
            found = _bad_request(error)
        case _ if _in_doubt(error):
            found = Verdict(Fate.IN_DOUBT, f"Telegram's answer was lost: {told(error)}", wait)
        case _:
            found = Verdict(Fate.AGAIN, told(error), wait)
    return found


def _bad_request(error: BadRequest) -> Verdict:
    words = error.message.lower()
    if any(part in words for part in POINTLESS):
        return Verdict(Fate.DONE, error.message)
    if any(part in words for part in CHAT_GONE):
        return Verdict(Fate.PAUSED, error.message)
    return Verdict(Fate.DEAD, error.message, BACKOFF[-1])


def _in_doubt(error: TelegramError) -> bool:
    """Whether the call may have been done: something was sent, and no answer says what came of it.

    A 5xx says nothing, nor does an answer that is no JSON.
    """
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return not isinstance(cause, UNSENT)
    unread = isinstance(cause, ValueError | TelegramError)
    unclear = isinstance(error, NetworkError) and cause is None
    return unread or (unclear and TOO_MANY not in error.message.lower())


def _milliseconds(error: RetryAfter) -> int:
    wait = error.retry_after
    return int((wait if isinstance(wait, int) else wait.total_seconds()) * 1000)


def _hopeless(message: Message, fate: Fate) -> bool:
    """Whether a message is given up: an alert only after many tries, for money stands behind it."""
    if message.priority == lanes.ALERT:
        return fate is Fate.DEAD and message.attempts >= TRIES
    lasting = fate is Fate.IN_DOUBT and message.attempts >= TRIES
    return lasting or fate in {Fate.DEAD, Fate.UNHEARD}


class Sender:
    """Sends what the queues `messages` and `answers` hold."""

    def __init__(self, db: Database, bot: Bot, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._bot = bot
        self._queues = queues
        self._now = now

    async def send(self, message: Message) -> None:
        """Send one message to the chat that its lane names."""
        await self._attempt(self._queues.messages, message)

    async def answer(self, message: Message) -> None:
        """Answer one callback query."""
        await self._attempt(self._queues.answers, message)

    async def _attempt(self, queue: Queue, message: Message) -> None:
        try:
            async with asyncio.timeout(LONGEST):
                await self._call(message)
        except TimeoutError:
            await self._refused(queue, message, TimedOut(f"no answer in {LONGEST:.0f} s"))
        except TelegramError as error:
            await self._refused(queue, message, error)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if not accepted():
                await self._refused(queue, message, TelegramError(f"unreadable answer: {error!r}"))
                return
            log.warning("telegram's answer can't be read", method=_written(message)["method"])
            await self._done(queue, message)
        else:
            await self._done(queue, message)

    async def _done(self, queue: Queue, message: Message) -> None:
        now = self._now()

        def work(tx: Transaction) -> None:
            outbox.done(tx, queue, message, now)
            self._count(tx, message, "repeated" if _repeats(message) else "sent")

        await self._db.insist(work)

    async def _refused(self, queue: Queue, message: Message, error: TelegramError) -> None:
        outcome = verdict(error, message.attempts)
        log.warning(
            "telegram refused", method=_written(message)["method"], chat=message.lane,
            fate=outcome.fate.name.lower(), reason=outcome.note,
        )  # fmt: skip
        await self._db.insist(lambda tx: self._settle(tx, queue, message, outcome))

    def _count(self, tx: Transaction, message: Message, came: str) -> None:
        tx.count("telegram_messages", _method(message), CLASSES[message.priority], came)

    def _settle(self, tx: Transaction, queue: Queue, message: Message, outcome: Verdict) -> None:
        now = self._now()
        self._count(tx, message, COUNTED[outcome.fate])
        match outcome.fate:
            case Fate.DONE:
                outbox.done(tx, queue, message, now)
            case Fate.DEAD if single := alerts.apart(message.body):
                outbox.split(tx, queue, message, single, now)
            case _ if _hopeless(message, outcome.fate):
                log.error("message given up", chat=message.lane, reason=outcome.note)
                outbox.bury(tx, queue, message, now, outcome.note)
            case Fate.HELD:
                outbox.retry(tx, queue, message, now + outcome.value, outcome.note)
                lanes.hold(tx, queue, message.lane, now + outcome.value)
            case Fate.PAUSED:
                self._pause(tx, queue, message, outcome.note)
            case Fate.MOVED:
                outbox.retry(tx, queue, message, now, outcome.note)
                outbox.move(tx, queue, message.lane, str(outcome.value))
                store.move_chat(tx, int(message.lane), outcome.value)
            case _:
                doubt = outcome.fate is Fate.IN_DOUBT
                due_at = now + outcome.value
                outbox.retry(tx, queue, message, due_at, outcome.note, uncertain=doubt)

    def _pause(self, tx: Transaction, queue: Queue, message: Message, why: str) -> None:
        """Keep a chat's alerts until it can be written to again; the rest is of no use then."""
        if queue is self._queues.answers:  # a lane that nothing would resume
            outbox.bury(tx, queue, message, self._now(), why)
            return
        if message.priority == lanes.ALERT:
            outbox.retry(tx, queue, message, self._now(), why)
        else:
            outbox.bury(tx, queue, message, self._now(), why)
        lanes.pause(tx, queue, message.lane, why)

    async def _call(self, message: Message) -> None:
        body = _written(message)
        method: str = body["method"]
        if method == "answerCallbackQuery":
            await self._bot.answer_callback_query(**body["args"])
            return
        args = (
            body["args"]
            if message.lane.startswith(INLINE)
            else {"chat_id": int(message.lane), **body["args"]}
        )
        await self._write(method, args, body.get("qr"))

    async def _write(self, method: str, args: dict[str, Any], code: str | None) -> None:
        bot, html = self._bot, ParseMode.HTML
        match method:
            case "sendMessage":
                await bot.send_message(**args, parse_mode=html, link_preview_options=NO_PREVIEW)
            case "sendPhoto":
                photo = InputFile(qr.png(code or ""), filename="qr.png")
                await bot.send_photo(photo=photo, **args, parse_mode=html)
            case "editMessageText":
                await bot.edit_message_text(
                    **args, parse_mode=html, link_preview_options=NO_PREVIEW
                )
            case "editMessageCaption":
                await bot.edit_message_caption(**args, parse_mode=html)
            case _:
                raise ValueError(method)


def _written(message: Message) -> Mapping[str, Any]:
    """Give the call that a message is; one that may be a repetition says so."""
    body = alerts.worded(message.body)
    return {**body, "args": _marked(body)} if _repeats(message) else body


def _method(message: Message) -> str:
    """Give the method of a message; alerts that wait for their words are put into new ones."""
    return str(message.body.get("method", "sendMessage"))


def _repeats(message: Message) -> bool:
    """Whether a message is sent that its chat may have already."""
    return message.uncertain and _method(message) in NEW


def _marked(body: Mapping[str, Any]) -> dict[str, Any]:
    """Say on a message that comes again because its answer was lost that it may be a second."""
    field, limit = ("caption", CAPTION_LIMIT) if "caption" in body["args"] else ("text", TEXT_LIMIT)
    text = possibly_repeated(body["args"][field], body["language"])
    return {**body["args"], field: text} if shown_units(text) <= limit else body["args"]
