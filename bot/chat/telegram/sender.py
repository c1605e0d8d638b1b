"""Sending of messages to Telegram: one after the other in each chat, within Telegram's limits.

`MessageCalls` builds a message's call (chat/cards/message_calls.py), and `classify` classifies a
failed call (chat/telegram/transport.py). The sender makes the call, then settles the message in one
transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from telegram import InputFile, InputMediaPhoto, LinkPreviewOptions
from telegram.constants import ParseMode
from telegram.error import BadRequest, TelegramError, TimedOut

from bot.chat.cards import (
    alert_text,
    alerts,
    card_text,
    menus,
    message_calls,
    receipts,
    request_card,
)
from bot.chat.model import payloads, queues, replies
from bot.chat.store import link_rows, message_rows, post_rows
from bot.chat.telegram import receipt_calls, transport
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import lanes, outbox, queue_policy

if TYPE_CHECKING:
    from telegram import Bot


log = structlog.get_logger()

CALL_SECONDS = 45.0
"""Time limit of one call; the connection's own timeout restarts with each byte."""

NEW_MESSAGE = frozenset(["sendMessage", "sendPhoto", "sendDocument"])
"""Methods that send another message if they are repeated; a repeated edit changes nothing."""

UPLOADS = {method: kind for kind, method in receipts.METHODS.items()}
"""The file parameter of each method that sends a file."""

WITHOUT_TEXT = frozenset(
    ["answerCallbackQuery", payloads.ButtonRemoval.method, payloads.SecretRemoval.method]
)
"""Methods without a text in HTML."""

NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

CLASS_LABELS = {
    queue_policy.REPLY: "reply",
    queue_policy.ALERT: "alert",
    queue_policy.NOTICE: "notice",
}
"""The metrics labels of the priority classes."""

CHAT_FAILURES = frozenset(
    [
        transport.FailureKind.RATE_LIMITED,
        transport.FailureKind.CHAT_CLOSED,
        transport.FailureKind.CHAT_MOVED,
    ]
)
"""Failures that concern the whole chat; after any other failure, a removal of buttons is
dropped."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt to send a queued message with a call."""

    queue: queue_policy.Queue
    message: outbox.Message
    call: message_calls.Call


class Sender:
    """Sends the messages of the queues `messages` and `answers`.

    No call is started unless `may_call` returns True, because another process may already make the
    call.
    """

    def __init__(
        self,
        db: database.Database,
        bot: Bot,
        queues: queues.Queues,
        now: Callable[[], int],
        may_call: Callable[[], bool] = lambda: True,
        *,
        receipts: receipt_calls.ReceiptCalls | None = None,
    ) -> None:
        self._db = db
        self._bot = bot
        self._queues = queues
        self._now = now
        self._may_call = may_call
        self._calls = message_calls.MessageCalls(db, queues, now)
        self._receipts = receipts
        self._slots = lanes.SlotWait(queues.messages.pace, now)

    async def send(self, message: outbox.Message) -> None:
        """Send or edit one message in the chat of its lane.

        Raises StorageError, and then nothing was sent.
        """
        call = await self._build(message)
        if isinstance(call, message_calls.Call):
            await self._slots.until(message.starts_at)
            attempt = _Attempt(self._queues.messages, message, _marked_call(call, message))
            await self._perform(attempt)
        else:
            await self._db.transaction_until_stored(
                lambda tx: self._settle_unsent(tx, message, call)
            )

    async def _build(self, message: outbox.Message) -> message_calls.Built:
        """Return the call of a message; a receipt's text is fetched first."""
        body: payloads.MessagePayload = message.body
        if isinstance(body, payloads.Alert) and alerts.has_words(body):
            # The seller may have hidden the words meanwhile.
            body = await self._db.read(partial(alerts.current_alert, alert=body))
        shown = alert_text.alert_message(body) if isinstance(body, payloads.Alert) else body
        if isinstance(shown, payloads.ReceiptMessage | payloads.BuyerNotice):
            if self._receipts is None:
                return None
            found = await self._receipts.build(shown, message, self._now())
            if found is None or isinstance(found, message_calls.NotYet | message_calls.Call):
                return found
            shown = found
        return await self._calls.build(shown, message.lane, message.attempts)

    async def answer(self, message: outbox.Message) -> None:
        """Answer one callback query."""
        payload: payloads.CallbackAnswer = message.body
        text = {"text": payload.text} if payload.text else {}
        call = message_calls.Call(payload.method, {"callback_query_id": payload.query_id, **text})
        await self._perform(_Attempt(self._queues.answers, message, call))

    def on_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Record a message that became a dead letter; its payments are listed as undelivered."""
        alerts.announce_ended_drops(self._step(tx), message.body)

    async def _perform(self, attempt: _Attempt) -> None:
        if not self._may_call():
            raise errors.StorageError("another replica may lead by now")
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await self._make(attempt.call)
        except TimeoutError:
            await self._fail(attempt, TimedOut(f"no answer in {CALL_SECONDS:.0f} s"))
            return
        except TelegramError as error:
            await self._fail(attempt, error)
            return
        sent = _sent_message(answer, attempt.call.method)
        await self._db.transaction_until_stored(lambda tx: self._settle_sent(tx, attempt, sent))

    def _settle_sent(
        self, tx: database.Transaction, attempt: _Attempt, sent: message_calls.SentMessage
    ) -> None:
        queue, message, now = attempt.queue, attempt.message, self._now()
        self._count(tx, message, "repeated" if _is_repetition(message) else "sent")
        lanes.restart_interval(tx, queue, message.lane, now)
        if outbox.done(tx, queue, message, now) and queue is self._queues.messages:
            self._calls.record(tx, attempt.call, message.lane, sent)
            place = attempt.call.place
            if place is None and sent.message_id is not None:
                place = post_rows.MessagePlace(message.lane, sent.message_id)
            if place is not None and isinstance(message.body, payloads.Alert):
                alerts.record_sent(self._step(tx), place, message.body)
            self._record_delivered(tx, message)

    def _record_delivered(self, tx: database.Transaction, message: outbox.Message) -> None:
        if isinstance(message.body, payloads.Alert):
            alerts.record_delivered(self._step(tx), message.body)

    def _step(self, tx: database.Transaction) -> queues.Step:
        return queues.Step(tx, self._queues, self._now())

    def _settle_unsent(
        self, tx: database.Transaction, message: outbox.Message, delay: message_calls.NotYet | None
    ) -> None:
        """Settle a message for which there is nothing to send, or nothing yet."""
        queue, now = self._queues.messages, self._now()
        if delay is None:
            if outbox.done(tx, queue, message, now):
                self._record_delivered(tx, message)
                if isinstance(message.body, payloads.Refresh) and message.body.tries_picture:
                    post_rows.keep_retry(tx, message.body.post_id, now)
            self._count(tx, message, transport.NEEDLESS)
        else:
            following, body = None, message.body
            if isinstance(body, payloads.ReceiptMessage | payloads.BuyerNotice):
                # As a notice, so that replies to the buyer don't wait for it.
                since = now if body.tried_since is None else body.tried_since
                later = replace(body, tried_since=since)
                following = outbox.NextAttempt(later, priority=queue_policy.NOTICE)
            outbox.retry(
                tx, queue, message, now + delay.wait, delay.note,
                uncertain=message.uncertain, following=following,
            )  # fmt: skip

    async def _fail(self, attempt: _Attempt, error: TelegramError) -> None:
        failure = _about_picture(transport.classify(error, attempt.message.attempts), attempt.call)
        is_removal = attempt.call.method == payloads.ButtonRemoval.method
        if is_removal and failure.kind not in CHAT_FAILURES:
            failure = replace(failure, kind=transport.FailureKind.MESSAGE_GONE)
        log.warning(
            "telegram call failed", method=attempt.call.method, chat=attempt.message.lane,
            kind=failure.kind.name.lower(), reason=failure.note,
        )  # fmt: skip
        await self._db.transaction_until_stored(
            lambda tx: self._settle_failed(tx, attempt, failure)
        )

    def _settle_failed(
        self, tx: database.Transaction, attempt: _Attempt, failure: transport.Failure
    ) -> None:
        queue, message, call, now = attempt.queue, attempt.message, attempt.call, self._now()
        body = message.body
        self._count(tx, message, transport.FAILURE_LABELS[failure.kind])
        match failure.kind:
            case transport.FailureKind.POINTLESS if (
                isinstance(body, payloads.ButtonRemoval) and call.method == payloads.DELETION
            ):  # after 48 hours, a message can't be deleted, but its buttons can be removed
                kept = outbox.NextAttempt(replace(body, kept=True))
                outbox.retry(tx, queue, message, now, failure.note, following=kept)
            case transport.FailureKind.POINTLESS:  # the message shows this already
                if outbox.done(tx, queue, message, now) and call.place:
                    self._calls.record(tx, call, message.lane, message_calls.SentMessage())
                    self._record_delivered(tx, message)
            case transport.FailureKind.MESSAGE_GONE | transport.FailureKind.REFUSED if (
                isinstance(body, payloads.Alert) and body.message_id is not None
            ):  # the alert can't replace the claim's message
                as_new = outbox.NextAttempt(replace(body, message_id=None))
                outbox.retry(tx, queue, message, now, failure.note, following=as_new)
            case kind if transport.is_dropped(body, kind):
                if outbox.done(tx, queue, message, now):
                    _forget_post(tx, call)
            case transport.FailureKind.PICTURE:
                self._leave_picture(tx, attempt, failure.note)
            case transport.FailureKind.REFUSED if isinstance(body, payloads.Alert) and (
                single := alert_text.split_digest(body)
            ):
                outbox.split(tx, queue, message, single, now)
            case _ if transport.is_given_up(message, failure.kind):
                _forget_text(tx, call)
                log.error("message given up", chat=message.lane, reason=failure.note)
                if outbox.dead_letter(tx, queue, message, now, failure.note):
                    self.on_dead_letter(tx, message)
            case transport.FailureKind.RATE_LIMITED:
                due_at = now + failure.value
                if outbox.retry(tx, queue, message, due_at, failure.note):
                    lanes.hold(tx, queue, message.lane, due_at)
            case transport.FailureKind.CHAT_CLOSED:
                self._pause(tx, attempt, failure.note)
            case transport.FailureKind.CHAT_MOVED:
                if outbox.retry(tx, queue, message, now, failure.note):
                    outbox.move_lane(tx, queue, message.lane, str(failure.value))
                    link_rows.move_chat(tx, int(message.lane), failure.value)
            case transport.FailureKind.UNKNOWN_FILE if call.shows and isinstance(call.picture, str):
                post_rows.save_card_picture(tx, call.shows.link_id, None, None)
                outbox.retry(tx, queue, message, now, failure.note)
            case _:
                uncertain = failure.kind is transport.FailureKind.UNCERTAIN
                due_at = now + failure.value
                outbox.retry(tx, queue, message, due_at, failure.note, uncertain=uncertain)

    def _leave_picture(self, tx: database.Transaction, attempt: _Attempt, note: str) -> None:
        """Send a card's text at once, without the picture that Telegram refused.

        The picture is tried again later (store/post_rows.py). A poster is replaced with a text that
        has the link.
        """
        queue, message, call, now = attempt.queue, attempt.message, attempt.call, self._now()
        body = message.body
        if call.shows and call.shows.seen.picture and call.place:
            post_rows.record_refusal(tx, call.place, call.shows.seen.picture, now)
        if isinstance(body, payloads.CardMessage | payloads.Refresh):
            left = (
                replace(body, is_text=True)
                if isinstance(body, payloads.CardMessage)
                else replace(body, tries_picture=False)
            )
            following = outbox.NextAttempt(left)
            outbox.retry(
                tx, queue, message, now, note, uncertain=message.uncertain, following=following
            )
            return
        ours = outbox.dead_letter(tx, queue, message, now, note)
        if ours and isinstance(body, payloads.PosterFile):
            card = request_card.card_of(link_rows.get_link(tx, body.link_id), now)
            reply = menus.poster_refused(card, body.design, body.language)
            outbox.put(tx, queue, message.lane, payloads.new_message(reply, body.language), now)

    def _pause(self, tx: database.Transaction, attempt: _Attempt, reason: str) -> None:
        """Pause a chat; all messages but alerts, notices and refreshes become dead letters."""
        queue, message, now = attempt.queue, attempt.message, self._now()
        if queue is self._queues.answers or message.lane.startswith(queues.INLINE):
            _forget_post(tx, attempt.call)
            outbox.dead_letter(tx, queue, message, now, reason)  # nothing would resume the lane
            return
        _forget_text(tx, attempt.call)
        is_notice = isinstance(message.body, payloads.Refresh | payloads.BuyerNotice)
        if message.priority == queue_policy.ALERT or is_notice:
            ours = outbox.retry(tx, queue, message, now, reason)
        else:
            ours = outbox.dead_letter(tx, queue, message, now, reason)
        if ours:
            lanes.pause(tx, queue, message.lane, reason)

    def _count(self, tx: database.Transaction, message: outbox.Message, label: str) -> None:
        tx.count("telegram_messages", message.body.method, CLASS_LABELS[message.priority], label)

    async def _make(self, call: message_calls.Call) -> Any:
        """Make the call and return its result as JSON.

        A refused call is repeated without button styles, because a Bot API server may refuse
        unknown fields.
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
        try:
            return await transport.call(self._bot, call.method, args)
        except BadRequest as error:
            plain = replies.without_styles(args.get("reply_markup"))
            kind = transport.classify(error, 1).kind
            if plain is None or kind is not transport.FailureKind.REFUSED:
                raise
            return await transport.call(self._bot, call.method, {**args, "reply_markup": plain})


def _about_picture(failure: transport.Failure, call: message_calls.Call) -> transport.Failure:
    """Attribute the refusal of a call with a picture to the picture: its text may be accepted.

    An unknown file_id is first replaced with the picture itself.
    """
    kind, kinds = failure.kind, transport.FailureKind
    is_drawn = isinstance(call.picture, message_calls.File) or call.shows is None
    if call.picture is None:
        kind = kinds.REFUSED if kind is kinds.PICTURE else kind
    elif kind is kinds.REFUSED or (kind is kinds.UNKNOWN_FILE and is_drawn):
        kind = kinds.PICTURE
    return replace(failure, kind=kind)


def _media(call: message_calls.Call) -> InputFile | str:
    if isinstance(call.picture, message_calls.File):
        return InputFile(call.picture.data, filename=call.picture.name, attach=True)
    return str(call.picture)


def _sent_message(result: Any, method: str) -> message_calls.SentMessage:
    """Read the result of an accepted call; another Bot API server may leave out fields."""
    match result:
        case {"message_id": int(number), "photo": [*_, {"file_id": str(file_id)}]}:
            return message_calls.SentMessage(number, file_id)
        case {"message_id": int(number)}:
            return message_calls.SentMessage(number)
    if result is not True:
        log.warning("telegram's answer can't be read", method=method)
    return message_calls.SentMessage()


def _forget_post(tx: database.Transaction, call: message_calls.Call) -> None:
    _forget_text(tx, call)
    if call.place is not None:
        post_rows.delete_post(tx, call.place)


def _forget_text(tx: database.Transaction, call: message_calls.Call) -> None:
    """Delete the stored text of a message whose edit has no clear outcome."""
    if call.place is not None:
        message_rows.forget_text(tx, call.place)


def _is_repetition(message: outbox.Message) -> bool:
    """True if the chat may have the message already."""
    return message.uncertain and message.body.method in NEW_MESSAGE


def _marked_call(call: message_calls.Call, message: outbox.Message) -> message_calls.Call:
    """Mark a message that may be a repetition, if there is room for the mark."""
    field = "caption" if call.picture else "text"
    if not _is_repetition(message) or field not in call.args:
        return call
    limit = replies.CAPTION_LIMIT if call.picture else replies.TEXT_LIMIT
    text = card_text.mark_possibly_repeated(call.args[field], message.body.language)
    is_short = replies.shown_units(text) <= limit
    return replace(call, args={**call.args, field: text}) if is_short else call
