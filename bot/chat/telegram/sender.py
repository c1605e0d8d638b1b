"""Messages out to Telegram: one after the other in each chat, at Telegram's pace.

`MessageCalls` builds the call of a message (chat/cards/message_calls.py) and `classify` reads a
failed one (chat/telegram/failures.py). The sender makes the call and settles its message in one
transaction.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog
from telegram import InputFile, InputMediaPhoto, LinkPreviewOptions
from telegram import Message as TelegramMessage
from telegram.constants import ParseMode
from telegram.error import BadRequest, TelegramError, TimedOut

from bot.chat.alerts import alert_text, delivery, hidden_words
from bot.chat.cards import menus
from bot.chat.cards.card_text import mark_possibly_repeated
from bot.chat.cards.message_calls import Built, Call, File, MessageCalls, NotYet, SentMessage
from bot.chat.cards.request_card import card_of
from bot.chat.messages.buttons import without_styles
from bot.chat.messages.payloads import (
    DELETION,
    Alert,
    ButtonRemoval,
    BuyerNotice,
    CardMessage,
    PosterFile,
    ReceiptMessage,
    Refresh,
    SecretRemoval,
    new_message,
)
from bot.chat.messages.queues import INLINE
from bot.chat.messages.reply import CAPTION_LIMIT, TEXT_LIMIT, shown_units
from bot.chat.receipts.delivered_file import METHODS
from bot.chat.store import listings, posts, shown_texts
from bot.chat.store.posts import MessagePlace
from bot.chat.telegram.failures import (
    FAILURE_LABELS,
    NEEDLESS,
    FailureKind,
    classify,
    is_dropped,
    is_given_up,
)
from bot.chat.telegram.transport import last_call_accepted
from bot.core.errors import StorageError
from bot.core.outbox import lanes, outbox
from bot.core.outbox.outbox import State
from bot.core.outbox.queue_policy import ALERT, NOTICE, REPLY
from bot.core.outbox.slots import SlotWait

if TYPE_CHECKING:
    from collections.abc import Callable

    from telegram import Bot

    from bot.chat.messages.payloads import CallbackAnswer, MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.telegram.failures import Failure
    from bot.chat.telegram.receipt_calls import ReceiptCalls
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.core.outbox.queue_policy import Queue

log = structlog.get_logger()

CALL_SECONDS = 45.0
"""The limit of one call; the timeout of its connection restarts with each byte."""

NEW_MESSAGE = frozenset(["sendMessage", "sendPhoto", "sendDocument"])
"""Methods whose repetition sends a second message; a repeated edit changes nothing."""

UPLOADS = {method: kind for kind, method in METHODS.items()}
"""The parameter of the file in methods that send one."""

WITHOUT_TEXT = frozenset(["answerCallbackQuery", ButtonRemoval.method, SecretRemoval.method])
"""Methods that take no text in HTML."""

NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

CLASS_LABELS = {REPLY: "reply", ALERT: "alert", NOTICE: "notice"}
"""The labels of priority classes in the metrics."""

HELD = frozenset([FailureKind.RATE_LIMITED, FailureKind.CHAT_CLOSED, FailureKind.CHAT_MOVED])
"""Failures that concern the whole chat; after any other one a removal of buttons is dropped."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt to perform a message of a queue by a call."""

    queue: Queue
    message: Message
    call: Call


class Sender:
    """Performs the messages of the queues `messages` and `answers`.

    No call is begun unless `may_call`: another process may make it by then.
    """

    def __init__(
        self,
        db: Database,
        bot: Bot,
        queues: Queues,
        now: Callable[[], int],
        may_call: Callable[[], bool] = lambda: True,
        *,
        receipts: ReceiptCalls | None = None,
    ) -> None:
        self._db = db
        self._bot = bot
        self._queues = queues
        self._now = now
        self._may_call = may_call
        self._calls = MessageCalls(db, queues, now)
        self._receipts = receipts
        self._slots = SlotWait(queues.messages.pace, now)

    async def send(self, message: Message) -> None:
        """Send one message to the chat of its lane, or edit one there.

        Raises StorageError, and then nothing was sent.
        """
        call = await self._build(message)
        if isinstance(call, Call):
            await self._slots.until(message.starts_at)
            attempt = _Attempt(self._queues.messages, message, _marked_call(call, message))
            await self._perform(attempt)
        else:
            await self._db.transaction_until_stored(
                lambda tx: self._settle_unsent(tx, message, call)
            )

    async def _build(self, message: Message) -> Built:
        """Return the call of a message; a receipt's text is fetched first."""
        body: MessagePayload = message.body
        if isinstance(body, Alert) and hidden_words.has_words(body):  # hidden before it is sent
            body = await self._db.read(partial(hidden_words.current, alert=body))
        shown = alert_text.alert_message(body) if isinstance(body, Alert) else body
        if isinstance(shown, ReceiptMessage | BuyerNotice):
            if self._receipts is None:
                return None
            found = await self._receipts.build(shown, message, self._now())
            if found is None or isinstance(found, NotYet | Call):
                return found
            shown = found
        return await self._calls.build(shown, message.lane, message.attempts)

    async def answer(self, message: Message) -> None:
        """Answer one callback query."""
        payload: CallbackAnswer = message.body
        text = {"text": payload.text} if payload.text else {}
        call = Call(payload.method, {"callback_query_id": payload.query_id, **text})
        await self._perform(_Attempt(self._queues.answers, message, call))

    def buried(self, tx: Transaction, message: Message) -> None:
        """Record a message that the worker set aside: its payments are listed as undelivered."""
        delivery.announce_ended_drops(tx, self._queues, message.body, self._now())

    async def _perform(self, attempt: _Attempt) -> None:
        if not self._may_call():
            raise StorageError("another replica may lead by now")
        sent = SentMessage()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                sent = _sent_message(await self._make(attempt.call))
        except TimeoutError:
            await self._fail(attempt, TimedOut(f"no answer in {CALL_SECONDS:.0f} s"))
            return
        except TelegramError as error:
            await self._fail(attempt, error)
            return
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if not last_call_accepted():
                await self._fail(attempt, TelegramError(f"unreadable answer: {error!r}"))
                return
            log.warning("telegram's answer can't be read", method=attempt.call.method)
        await self._db.transaction_until_stored(lambda tx: self._settle_sent(tx, attempt, sent))

    def _settle_sent(self, tx: Transaction, attempt: _Attempt, sent: SentMessage) -> None:
        queue, message, now = attempt.queue, attempt.message, self._now()
        self._count(tx, message, "repeated" if _is_repetition(message) else "sent")
        lanes.restart_interval(tx, queue, message.lane, now)
        if outbox.done(tx, queue, message, now) and queue is self._queues.messages:
            self._calls.record(tx, attempt.call, message.lane, sent)
            place = attempt.call.place
            if place is None and sent.message_id is not None:
                place = MessagePlace(message.lane, sent.message_id)
            if place is not None and isinstance(message.body, Alert):
                hidden_words.record_sent(tx, self._queues, place, message.body, now)
            self._record_delivered(tx, message)

    def _record_delivered(self, tx: Transaction, message: Message) -> None:
        if isinstance(message.body, Alert):
            delivery.record_delivered(tx, self._queues, message.body, self._now())

    def _settle_unsent(self, tx: Transaction, message: Message, delay: NotYet | None) -> None:
        """Settle a message of which nothing is to be sent, or not yet."""
        queue, now = self._queues.messages, self._now()
        if delay is None:
            if outbox.done(tx, queue, message, now):
                self._record_delivered(tx, message)
                if isinstance(message.body, Refresh) and message.body.tries_picture:
                    posts.keep_retry(tx, message.body.post_id, now)
            self._count(tx, message, NEEDLESS)
        else:
            outbox.retry(
                tx, queue, message, now + delay.wait, delay.note,
                uncertain=message.uncertain, state=_held_back(message, now),
            )  # fmt: skip

    async def _fail(self, attempt: _Attempt, error: TelegramError) -> None:
        failure = _about_picture(classify(error, attempt.message.attempts), attempt.call)
        if attempt.call.method == ButtonRemoval.method and failure.kind not in HELD:
            failure = replace(failure, kind=FailureKind.MESSAGE_GONE)
        log.warning(
            "telegram call failed", method=attempt.call.method, chat=attempt.message.lane,
            kind=failure.kind.name.lower(), reason=failure.note,
        )  # fmt: skip
        await self._db.transaction_until_stored(
            lambda tx: self._settle_failed(tx, attempt, failure)
        )

    def _settle_failed(self, tx: Transaction, attempt: _Attempt, failure: Failure) -> None:
        queue, message, call = attempt.queue, attempt.message, attempt.call
        now = self._now()
        self._count(tx, message, FAILURE_LABELS[failure.kind])
        match failure.kind:
            case FailureKind.POINTLESS if isinstance(message.body, ButtonRemoval) and (
                call.method == DELETION
            ):  # after 48 hours its buttons can still go
                kept = State(replace(message.body, kept=True))
                outbox.retry(tx, queue, message, now, failure.note, state=kept)
            case FailureKind.POINTLESS:
                self._settle_pointless(tx, attempt)
            case FailureKind.MESSAGE_GONE | FailureKind.REFUSED if _replaces(message.body):
                state = State(replace(message.body, message_id=None))
                outbox.retry(tx, queue, message, now, failure.note, state=state)
            case kind if is_dropped(message.body, kind):
                self._forget(tx, attempt)
            case FailureKind.PICTURE:
                self._leave_picture(tx, attempt, failure.note)
            case FailureKind.REFUSED if alerts := _split(message.body):
                outbox.split(tx, queue, message, alerts, now)
            case _ if is_given_up(message, failure.kind):
                self._give_up(tx, attempt, failure.note)
            case FailureKind.RATE_LIMITED:
                self._hold(tx, attempt, failure)
            case FailureKind.CHAT_CLOSED:
                self._pause(tx, attempt, failure.note)
            case FailureKind.CHAT_MOVED:
                self._move(tx, attempt, failure)
            case FailureKind.UNKNOWN_FILE if call.shows and isinstance(call.picture, str):
                posts.save_card_picture(tx, call.shows.listing_id, None, None)
                outbox.retry(tx, queue, message, now, failure.note)
            case _:
                uncertain = failure.kind is FailureKind.UNCERTAIN
                due_at = now + failure.value
                outbox.retry(tx, queue, message, due_at, failure.note, uncertain=uncertain)

    def _settle_pointless(self, tx: Transaction, attempt: _Attempt) -> None:
        """Settle an edit to what the message shows already."""
        message, call = attempt.message, attempt.call
        if outbox.done(tx, attempt.queue, message, self._now()) and call.place:
            self._calls.record(tx, call, message.lane, SentMessage())
            self._record_delivered(tx, message)

    def _leave_picture(self, tx: Transaction, attempt: _Attempt, note: str) -> None:
        """Send the words of a card at once without the picture that Telegram refused.

        The picture is tried again later (chat/store/posts.py). A poster is replaced by its link.
        """
        queue, message, call, now = attempt.queue, attempt.message, attempt.call, self._now()
        body = message.body
        if call.shows and call.shows.seen.picture and call.place:
            posts.record_refusal(tx, call.place, call.shows.seen.picture, now)
        if isinstance(body, CardMessage | Refresh):
            left = (
                replace(body, is_text=True)
                if isinstance(body, CardMessage)
                else replace(body, tries_picture=False)
            )
            outbox.retry(
                tx, queue, message, now, note, uncertain=message.uncertain, state=State(left)
            )
        elif outbox.bury(tx, queue, message, now, note) and isinstance(body, PosterFile):
            listing = listings.get_listing(tx, body.listing_id)
            reply = menus.poster_refused(card_of(listing, now), body.design, body.language)
            outbox.put(tx, queue, message.lane, new_message(reply, body.language), now)

    def _forget(self, tx: Transaction, attempt: _Attempt) -> None:
        if outbox.done(tx, attempt.queue, attempt.message, self._now()):
            _forget_post(tx, attempt.call)

    def _hold(self, tx: Transaction, attempt: _Attempt, failure: Failure) -> None:
        queue, message, due_at = attempt.queue, attempt.message, self._now() + failure.value
        if outbox.retry(tx, queue, message, due_at, failure.note):
            lanes.hold(tx, queue, message.lane, due_at)

    def _move(self, tx: Transaction, attempt: _Attempt, failure: Failure) -> None:
        queue, message = attempt.queue, attempt.message
        if outbox.retry(tx, queue, message, self._now(), failure.note):
            outbox.move_lane(tx, queue, message.lane, str(failure.value))
            listings.move_chat(tx, int(message.lane), failure.value)

    def _give_up(self, tx: Transaction, attempt: _Attempt, reason: str) -> None:
        _forget_text(tx, attempt.call)
        log.error("message given up", chat=attempt.message.lane, reason=reason)
        if outbox.bury(tx, attempt.queue, attempt.message, self._now(), reason):
            self.buried(tx, attempt.message)

    def _pause(self, tx: Transaction, attempt: _Attempt, reason: str) -> None:
        """Pause a chat, keep its alerts, notices and its cards' refreshes, and bury the rest."""
        queue, message, now = attempt.queue, attempt.message, self._now()
        if queue is self._queues.answers or message.lane.startswith(INLINE):
            _forget_post(tx, attempt.call)
            outbox.bury(tx, queue, message, now, reason)  # nothing would resume the lane
            return
        _forget_text(tx, attempt.call)
        if message.priority == ALERT or isinstance(message.body, Refresh | BuyerNotice):
            ours = outbox.retry(tx, queue, message, now, reason)
        else:
            ours = outbox.bury(tx, queue, message, now, reason)
        if ours:
            lanes.pause(tx, queue, message.lane, reason)

    def _count(self, tx: Transaction, message: Message, label: str) -> None:
        tx.count("telegram_messages", message.body.method, CLASS_LABELS[message.priority], label)

    async def _make(self, call: Call) -> object:
        """Make the call and return Telegram's answer; the library has the Bot API's names too.

        A refused call is made once more without the styles of its buttons: a server of the Bot API
        may refuse fields that it doesn't know.
        """
        args = dict(call.args)
        if call.method not in WITHOUT_TEXT:
            args["parse_mode"] = ParseMode.HTML
        if call.method in {"sendMessage", "editMessageText"}:
            args["link_preview_options"] = NO_PREVIEW
        elif call.method == "editMessageMedia":
            caption = {name: args.pop(name) for name in ("caption", "parse_mode")}
            args["media"] = InputMediaPhoto(_media(call), **caption)
        elif call.method in UPLOADS:
            args[UPLOADS[call.method]] = _media(call)
        method = getattr(self._bot, call.method)
        try:
            return await method(**args)
        except BadRequest as error:
            plain = without_styles(args.get("reply_markup"))
            if plain is None or classify(error, 1).kind is not FailureKind.REFUSED:
                raise
            return await method(**{**args, "reply_markup": plain})


def _about_picture(failure: Failure, call: Call) -> Failure:
    """Return a failure as one of the picture, where the call has one: its words may be taken.

    A file_id that is unknown is first replaced by the picture itself.
    """
    kind = failure.kind
    if call.picture is None:
        is_refused = kind is FailureKind.PICTURE
        return replace(failure, kind=FailureKind.REFUSED) if is_refused else failure
    is_drawn = isinstance(call.picture, File) or call.shows is None
    if kind is FailureKind.REFUSED or (kind is FailureKind.UNKNOWN_FILE and is_drawn):
        return replace(failure, kind=FailureKind.PICTURE)
    return failure


def _held_back(message: Message, now: int) -> State | None:
    """Return a receipt's message as a notice: replies to its buyer don't wait for it."""
    body = message.body
    if not isinstance(body, ReceiptMessage | BuyerNotice):
        return None
    since = now if body.tried_since is None else body.tried_since
    return State(replace(body, tried_since=since), priority=NOTICE)


def _media(call: Call) -> InputFile | str:
    if isinstance(call.picture, File):
        return InputFile(call.picture.data, filename=call.picture.name, attach=True)
    return str(call.picture)


def _sent_message(answer: object) -> SentMessage:
    if not isinstance(answer, TelegramMessage):
        return SentMessage()
    return SentMessage(answer.message_id, answer.photo[-1].file_id if answer.photo else None)


def _forget_post(tx: Transaction, call: Call) -> None:
    _forget_text(tx, call)
    if call.place is not None:
        posts.delete_post(tx, call.place)


def _forget_text(tx: Transaction, call: Call) -> None:
    """Forget the text of a message whose edit has no clear outcome."""
    if call.place is not None:
        shown_texts.forget_text(tx, call.place)


def _split(payload: MessagePayload | CallbackAnswer) -> list[Alert]:
    return alert_text.split_digest(payload) if isinstance(payload, Alert) else []


def _replaces(payload: MessagePayload | CallbackAnswer) -> bool:
    """Check whether an alert takes the place of a claim; it is a new message if it can't."""
    return isinstance(payload, Alert) and payload.message_id is not None


def _is_repetition(message: Message) -> bool:
    """Check whether the chat may have the message already."""
    return message.uncertain and message.body.method in NEW_MESSAGE


def _marked_call(call: Call, message: Message) -> Call:
    """Mark a message that may be a repetition as such, where there is room for the mark."""
    field = "caption" if call.picture else "text"
    if not _is_repetition(message) or field not in call.args:
        return call
    limit = CAPTION_LIMIT if call.picture else TEXT_LIMIT
    text = mark_possibly_repeated(call.args[field], message.body.language)
    return replace(call, args={**call.args, field: text}) if shown_units(text) <= limit else call
