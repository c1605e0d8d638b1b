"""Messages out to Telegram: one after the other in each chat, at Telegram's pace.

What a message says is made by `showing`, what becomes of a call that failed is decided by
`verdicts`; the sender makes the call and carries that out in one transaction.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
from telegram import InputFile, InputMediaPhoto, LinkPreviewOptions
from telegram import Message as Posted
from telegram.constants import ParseMode
from telegram.error import TelegramError, TimedOut

from bot.chat.alerts import alert_text, delivery
from bot.chat.cards.card_text import mark_possibly_repeated
from bot.chat.cards.drawing import File
from bot.chat.cards.message_calls import Call, MessageCalls, NotYet, SentMessage
from bot.chat.messages.payloads import Alert, Refresh
from bot.chat.messages.queues import INLINE
from bot.chat.messages.reply import CAPTION_LIMIT, TEXT_LIMIT, shown_units
from bot.chat.store import listings, posts, shown_texts
from bot.chat.telegram.failures import FailureKind, classify
from bot.chat.telegram.transport import last_call_accepted
from bot.core.outbox import lanes, outbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from telegram import Bot

    from bot.chat.messages.payloads import CallbackAnswer, MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.telegram.failures import Failure
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.lanes import Queue
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

LONGEST = 45.0
"""Seconds for one call; the time-outs of its connection begin anew with each byte."""

TRIES = 10
"""Tries after which a message that is refused, or never clearly answered, is given up."""

NEW = frozenset(["sendMessage", "sendPhoto", "sendDocument"])
"""Methods that make a message: the others, done twice, are done once."""

NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

CLASS_LABELS = {lanes.REPLY: "reply", lanes.ALERT: "alert", lanes.NOTICE: "notice"}
"""What the metrics call the classes of messages."""

NEEDLESS = "needless"
"""What the metrics call a message that was of no use any more when its turn came."""

FAILURE_LABELS = {
    FailureKind.POINTLESS: NEEDLESS,
    FailureKind.MESSAGE_GONE: NEEDLESS,
    FailureKind.NOT_SENT: "failed",
    FailureKind.UNKNOWN_FILE: "failed",
    FailureKind.UNCERTAIN: "unclear",
    FailureKind.RATE_LIMITED: "throttled",
    FailureKind.CHAT_CLOSED: "blocked",
    FailureKind.CHAT_MOVED: "moved",
    FailureKind.UNKNOWN_METHOD: "refused",
    FailureKind.REFUSED: "refused",
}
"""What the metrics call the ways in which a call fails, beside `sent` and `repeated`."""


def _hopeless(message: Message, kind: FailureKind) -> bool:
    """Whether a message is given up: an alert only after many tries, for money stands behind it."""
    if message.priority == lanes.ALERT:
        return kind is FailureKind.REFUSED and message.attempts >= TRIES
    lasting = (
        kind in {FailureKind.UNCERTAIN, FailureKind.UNKNOWN_FILE} and message.attempts >= TRIES
    )
    return lasting or kind in {FailureKind.REFUSED, FailureKind.UNKNOWN_METHOD}


class Sender:
    """Sends what the queues `messages` and `answers` hold."""

    def __init__(self, db: Database, bot: Bot, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._bot = bot
        self._queues = queues
        self._now = now
        self._showing = MessageCalls(db, queues, now)

    async def send(self, message: Message) -> None:
        """Send one message to the chat that its lane names, or change one there.

        Raises StorageError, and then nothing was sent.
        """
        body: MessagePayload = message.body
        sendable = alert_text.alert_message(body) if isinstance(body, Alert) else body
        call = await self._showing.call(sendable, message.lane, message.attempts)
        if isinstance(call, Call):
            await self._attempt(self._queues.messages, message, _marked(call, message))
        else:
            await self._db.transaction_until_stored(lambda tx: self._unsent(tx, message, call))

    async def answer(self, message: Message) -> None:
        """Answer one callback query."""
        body: CallbackAnswer = message.body
        words = {"text": body.text} if body.text else {}
        call = Call(body.method, {"callback_query_id": body.query_id, **words})
        await self._attempt(self._queues.answers, message, call)

    def buried(self, tx: Transaction, message: Message) -> None:
        """Note that a message was set aside: its payments are listed, and no drop waits for it."""
        delivery.record_buried(tx, self._queues, message.body, self._now())

    async def _attempt(self, queue: Queue, message: Message, call: Call) -> None:
        sent = SentMessage()
        try:
            async with asyncio.timeout(LONGEST):
                sent = _sent(await self._make(call))
        except TimeoutError:
            error = TimedOut(f"no answer in {LONGEST:.0f} s")
            await self._refused(queue, message, call, error)
            return
        except TelegramError as error:
            await self._refused(queue, message, call, error)
            return
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if not last_call_accepted():
                unread = TelegramError(f"unreadable answer: {error!r}")
                await self._refused(queue, message, call, unread)
                return
            log.warning("telegram's answer can't be read", method=call.method)
        await self._db.transaction_until_stored(
            lambda tx: self._done(tx, queue, message, call, sent)
        )

    def _done(
        self, tx: Transaction, queue: Queue, message: Message, call: Call, sent: SentMessage
    ) -> None:
        """Settle what Telegram took, unless it is another's by now."""
        now = self._now()
        self._count(tx, message, "repeated" if _repeats(message) else "sent")
        lanes.went(tx, queue, message.lane, now)
        if outbox.done(tx, queue, message, now) and queue is self._queues.messages:
            self._showing.note(tx, call, message.lane, sent)
            delivery.record_delivered(tx, self._queues, message.body, now)

    def _unsent(self, tx: Transaction, message: Message, later: NotYet | None) -> None:
        """Settle a message of which nothing is to be sent, or not yet."""
        queue, now = self._queues.messages, self._now()
        if later is None:
            outbox.done(tx, queue, message, now)
            self._count(tx, message, NEEDLESS)
        else:
            outbox.retry(tx, queue, message, now + later.wait, "waits for its picture")

    async def _refused(
        self, queue: Queue, message: Message, call: Call, error: TelegramError
    ) -> None:
        outcome = classify(error, message.attempts)
        log.warning(
            "telegram refused", method=call.method, chat=message.lane,
            kind=outcome.kind.name.lower(), reason=outcome.note,
        )  # fmt: skip
        await self._db.transaction_until_stored(
            lambda tx: self._settle(tx, queue, message, call, outcome)
        )

    def _count(self, tx: Transaction, message: Message, came: str) -> None:
        tx.count("telegram_messages", message.body.method, CLASS_LABELS[message.priority], came)

    def _settle(
        self, tx: Transaction, queue: Queue, message: Message, call: Call, outcome: Failure
    ) -> None:
        now = self._now()
        self._count(tx, message, FAILURE_LABELS[outcome.kind])
        match outcome.kind:
            case FailureKind.POINTLESS:
                if outbox.done(tx, queue, message, now) and call.place:
                    self._showing.note(tx, call, message.lane, SentMessage())
            case FailureKind.MESSAGE_GONE:
                outbox.done(tx, queue, message, now)
                _forget(tx, call)
            case FailureKind.REFUSED if single := _split(message.body):
                outbox.split(tx, queue, message, single, now)
            case _ if _hopeless(message, outcome.kind):
                _unknow(tx, call)
                self._give_up(tx, queue, message, outcome.note)
            case FailureKind.RATE_LIMITED:
                outbox.retry(tx, queue, message, now + outcome.value, outcome.note)
                lanes.hold(tx, queue, message.lane, now + outcome.value)
            case FailureKind.CHAT_CLOSED:
                self._pause(tx, queue, message, call, outcome.note)
            case FailureKind.CHAT_MOVED:
                outbox.retry(tx, queue, message, now, outcome.note)
                outbox.move(tx, queue, message.lane, str(outcome.value))
                listings.move_chat(tx, int(message.lane), outcome.value)
            case FailureKind.UNKNOWN_FILE if call.showed and isinstance(call.picture, str):
                posts.save_card_picture(tx, call.showed.listing_id, None, None)
                outbox.retry(tx, queue, message, now, outcome.note)
            case _:
                doubt = outcome.kind is FailureKind.UNCERTAIN
                due_at = now + outcome.value
                outbox.retry(tx, queue, message, due_at, outcome.note, uncertain=doubt)

    def _give_up(self, tx: Transaction, queue: Queue, message: Message, why: str) -> None:
        log.error("message given up", chat=message.lane, reason=why)
        if outbox.bury(tx, queue, message, self._now(), why):
            delivery.record_buried(tx, self._queues, message.body, self._now())

    def _pause(self, tx: Transaction, queue: Queue, message: Message, call: Call, why: str) -> None:
        """Keep a chat's alerts until it can be written to again, and the news of its cards.

        The rest is of no use then.
        """
        if queue is self._queues.answers or message.lane.startswith(INLINE):
            _forget(tx, call)
            outbox.bury(tx, queue, message, self._now(), why)  # nothing would resume the lane
            return
        _unknow(tx, call)
        if message.priority == lanes.ALERT or isinstance(message.body, Refresh):
            outbox.retry(tx, queue, message, self._now(), why)
        else:
            outbox.bury(tx, queue, message, self._now(), why)
        lanes.pause(tx, queue, message.lane, why)

    async def _make(self, call: Call) -> object:
        """Make the call; Telegram's answer."""
        calling: Awaitable[object]
        args = {**call.args, "parse_mode": ParseMode.HTML}
        match call.method:
            case "answerCallbackQuery":
                calling = self._bot.answer_callback_query(**call.args)
            case "sendMessage":
                calling = self._bot.send_message(**args, link_preview_options=NO_PREVIEW)
            case "sendPhoto":
                calling = self._bot.send_photo(photo=_media(call), **args)
            case "sendDocument":
                calling = self._bot.send_document(document=_media(call), **args)
            case "editMessageText":
                calling = self._bot.edit_message_text(**args, link_preview_options=NO_PREVIEW)
            case "editMessageCaption":
                calling = self._bot.edit_message_caption(**args)
            case "editMessageMedia":
                media = InputMediaPhoto(
                    _media(call), caption=args.pop("caption"), parse_mode=args.pop("parse_mode")
                )
                calling = self._bot.edit_message_media(media, **args)
            case _:
                raise ValueError(call.method)
        return await calling


def _media(call: Call) -> InputFile | str:
    if isinstance(call.picture, File):
        return InputFile(call.picture.data, filename=call.picture.name, attach=True)
    return call.picture or ""


def _sent(answer: object) -> SentMessage:
    """Read the message that Telegram answers, as far as it is one."""
    if not isinstance(answer, Posted):
        return SentMessage()
    return SentMessage(answer.message_id, answer.photo[-1].file_id if answer.photo else None)


def _forget(tx: Transaction, call: Call) -> None:
    _unknow(tx, call)
    if call.place is not None:
        posts.delete_post(tx, call.place)


def _unknow(tx: Transaction, call: Call) -> None:
    """Nobody knows what a message says whose last edit came to no clear end."""
    if call.place is not None:
        shown_texts.forget_text(tx, call.place)


def _split(body: MessagePayload | CallbackAnswer) -> list[Alert]:
    return alert_text.split_digest(body) if isinstance(body, Alert) else []


def _repeats(message: Message) -> bool:
    """Whether a message is sent that its chat may have already."""
    return message.uncertain and message.body.method in NEW


def _marked(call: Call, message: Message) -> Call:
    """Say on a message that comes again because its answer was lost that it may be a second."""
    field = "caption" if call.picture else "text"
    if not _repeats(message) or field not in call.args:
        return call
    limit = CAPTION_LIMIT if call.picture else TEXT_LIMIT
    text = mark_possibly_repeated(call.args[field], message.body.language)
    return replace(call, args={**call.args, field: text}) if shown_units(text) <= limit else call
