"""Bot API calls, built from payloads when they are sent, with the data of that moment.

A payload names a link and its view, or the post to refresh (store/post_rows.py). `MessageCalls`
builds the call, and afterwards records the content of the message.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bot.chat.cards import claim_cards, views
from bot.chat.model import payloads, queues, replies
from bot.chat.store import claim_rows, link_rows, message_rows, post_rows, seller_rows
from bot.core import errors
from bot.core.database import database

PICTURE_WAIT, PICTURE_ATTEMPTS = 3_000, 4
"""How long (ms) and how often a shared card waits for the picture of the seller's card."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to upload."""

    data: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A file that is not drawn yet: a poster, or the card if `design` is None."""

    view: views.View
    design: str | None = None
    name: str = "card.jpg"


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """The content to record once Telegram has accepted a call."""

    link_id: str
    own: int
    """SHARED, OWN or VISITED, as in store/post_rows.py."""
    seen: post_rows.PostContent
    post_id: str | None = None
    """The post that a refresh changes."""
    gone: bool = False
    """True if the picture shows that the request is deleted: the post needs no further refresh."""
    refused: str | None = None
    """Key of the picture that was left out because Telegram refused it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A Bot API call."""

    method: str
    args: Mapping[str, Any]
    picture: File | Drawing | str | None = None
    """A file to upload, drawn by `MessageCalls.build`, or the file_id of an earlier upload."""
    place: post_rows.MessagePlace | None = None
    """The message that the call edits; None for a new message."""
    shows: ShownRequest | None = None
    asks: bool = False
    """True if the message asks a question of a form."""
    is_passing: bool = False
    """True if the message is deleted once its form continues."""
    claim_id: str | None = None
    """The claim that the message shows."""
    digest_of: str | None = None
    """The link whose digest of claims the message shows."""


@dataclass(frozen=True, slots=True)
class NotYet:
    """The result if a payload must wait `wait` ms before it is sent; `note` is the reason."""

    wait: int
    note: str = "waits for its picture"


@dataclass(frozen=True, slots=True)
class SentMessage:
    """The message in Telegram's answer and the file_id of its picture; None if unreadable."""

    message_id: int | None = None
    file_id: str | None = None


Built = Call | NotYet | None
Sendable = (
    payloads.TextMessage
    | payloads.CardMessage
    | payloads.PosterFile
    | payloads.Refresh
    | payloads.ButtonRemoval
    | payloads.SecretRemoval
    | payloads.ClaimAlert
    | payloads.ClaimDigest
)


class MessageCalls:
    """Builds the calls that send payloads, and records the content of sent messages."""

    def __init__(
        self, db: database.Database, queues: queues.Queues, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._queues = queues
        self._now = now

    async def build(self, payload: Sendable, lane: str, attempts: int) -> Built:
        """Return the call that sends a payload now, or None if there is nothing left to send.

        Raises StorageError.
        """
        build: Callable[[database.Transaction], Built]
        now = self._now()
        match payload:
            case payloads.Refresh():
                build = partial(_refresh, payload=payload, attempts=attempts, now=now)
            case payloads.CardMessage():
                build = partial(_card, payload=payload, lane=lane, now=now)
            case payloads.PosterFile():
                build = partial(_poster, payload=payload, lane=lane, now=now)
            case payloads.ButtonRemoval():
                build = partial(_removal, payload=payload, lane=lane)
            case payloads.ClaimAlert():
                build = partial(_claim, payload=payload, lane=lane, now=now)
            case payloads.ClaimDigest():
                build = partial(_claim_digest, payload=payload, lane=lane, now=now)
            case payloads.SecretRemoval():
                return Call(payload.method, _target(lane, payload.message_id))
            case payloads.TextMessage(message_id=None):
                return _text(payload, lane)
            case payloads.TextMessage():
                build = partial(_edited_text, payload=payload, lane=lane)
        built = await self._db.read(build)
        if isinstance(built, Call) and isinstance(built.picture, Drawing):
            return replace(built, picture=await self._draw(built.picture))
        return built

    async def _draw(self, drawing: Drawing) -> File:
        view, card = drawing.view, drawing.view.card
        photo = await self._image(card.image)
        portrait = await self._image(card.seller.image) if card.seller.name else None
        draw = partial(view.draw_poster, drawing.design) if drawing.design else view.draw_card
        try:
            return File(await asyncio.to_thread(draw, photo, portrait), drawing.name)
        except OSError as error:  # drawing opens files late, such as fonts and modules
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            raise errors.StorageError("no file handle is left") from error

    async def _image(self, image_id: str | None) -> bytes | None:
        return await seller_rows.image_data(self._db, image_id) if image_id else None

    def record(self, tx: database.Transaction, call: Call, lane: str, sent: SentMessage) -> None:
        """Store the content of a sent message, in the transaction that settles the call."""
        shows, place = call.shows, call.place
        step = queues.Step(tx, self._queues, self._now())
        if place is None and sent.message_id is not None:
            place = post_rows.MessagePlace(lane, sent.message_id)
        if place is None:
            return
        if call.method in (payloads.ButtonRemoval.method, payloads.DELETION):
            message_rows.forget_text(tx, place)
        elif place.message_id and "reply_markup" in call.args:
            message_rows.save_text(tx, place, _text_key(call), self._now())
        if call.asks:
            message_rows.record_question(step, place)
        if call.claim_id is not None:
            claim_cards.record_sent(step, call.claim_id, place)
        if call.digest_of is not None:
            claim_cards.record_digest(step, call.digest_of, place)
        if shows is None:
            if call.place is not None:
                post_rows.mark_replaced(tx, place)
        elif shows.gone:
            _share_picture(step, shows, sent.file_id)
            post_rows.delete_post(tx, place)
        else:
            post_id = shows.post_id
            if post_id is None:
                post_id = post_rows.save_post(tx, shows.link_id, place, shows.own, self._now()).id
            post_rows.record_shown(tx, post_id, shows.seen)
            if shows.refused is not None:
                post_rows.record_refusal(tx, place, shows.refused, self._now())
            _share_picture(step, shows, sent.file_id)
            if call.place is None:
                _catch_up(step, place)


def _share_picture(step: queues.ChatStep, shows: ShownRequest, file_id: str | None) -> None:
    """Store the picture of a seller's card, and refresh the shared cards that use it."""
    link_id, picture = shows.link_id, shows.seen.picture
    if shows.own != post_rows.OWN or not picture or not file_id:
        return
    if (file_id, picture) != post_rows.card_picture(step.tx, link_id):
        post_rows.save_card_picture(step.tx, link_id, file_id, picture)
        post_rows.refresh_shared(step, link_id, picture)


def _catch_up(step: queues.ChatStep, place: post_rows.MessagePlace) -> None:
    """Queue the refresh of a new card if its request changed during sending."""
    post = post_rows.post_at(step.tx, place)
    if post is None or post.own != post_rows.OWN:
        return
    link = link_rows.get_link(step.tx, post.link_id)
    view = views.view_of(step.tx, link, post_rows.OWN, step.now)
    picture = post.seen.picture if post.refused == view.seen.picture else view.seen.picture
    if post.seen != replace(view.seen, picture=picture):
        post_rows.refresh_one(step, post)


def _text(payload: payloads.TextMessage, lane: str) -> Call:
    field, message_id = "caption" if payload.is_caption else "text", payload.message_id
    args = {field: payload.text, **_target(lane, message_id)}
    if payload.topic_id is not None:
        args["message_thread_id"] = payload.topic_id
    if payload.is_silent:
        args["disable_notification"] = True
    if message_id is not None or payload.keyboard is not None:
        args["reply_markup"] = payload.keyboard
    place = None if message_id is None else post_rows.MessagePlace(lane, message_id)
    asks = replies.is_question(payload.keyboard)
    return Call(
        payload.method, args, place=place, asks=asks,
        is_passing=payload.is_passing, claim_id=payload.claim_id,
    )  # fmt: skip


def _removal(tx: database.Transaction, payload: payloads.ButtonRemoval, lane: str) -> Call | None:
    """Return the call that removes a question's buttons or deletes a passing message.

    None if the message has changed.
    """
    place = post_rows.MessagePlace(lane, payload.message_id)
    if message_rows.text_key_at(tx, place) != payload.shown:
        return None
    target = _target(lane, payload.message_id)
    if payload.shown.startswith(message_rows.PASSING) and not payload.kept:
        return Call(payloads.DELETION, target, place=place)
    return Call(payload.method, {**target, "reply_markup": None}, place=place)


def _claim(
    tx: database.Transaction, payload: payloads.ClaimAlert, lane: str, now: int
) -> Call | None:
    """Return the call that sends a claim, or None if it has been decided or has lapsed."""
    claim = claim_rows.find_claim(tx, payload.claim_id)
    if claim is None or not claim.is_waiting(now):
        return None
    link, seller = claim_cards.link_and_seller(tx, claim.link_id)
    reply = claim_cards.claim_reply(claim, link, seller, now, is_reminder=payload.is_reminder)
    keyboard = replies.markup(reply.rows)
    text = payloads.TextMessage(reply.text, seller.language, keyboard, is_silent=payload.is_silent)
    return replace(_text(text, lane), claim_id=claim.id)


def _claim_digest(
    tx: database.Transaction, payload: payloads.ClaimDigest, lane: str, now: int
) -> Call | None:
    """Return the call that sends or edits a digest, or None if no call is needed."""
    at = None if payload.is_new else claim_rows.find_digest(tx, payload.link_id).message_id
    reply = claim_cards.digest_of(tx, payload.link_id, now)
    if not reply.rows if payload.is_new else at is None:
        return None
    text = payloads.TextMessage(
        reply.text, payload.language, replies.markup(reply.rows), at,
        is_silent=payload.is_silent, is_passing=True,
    )  # fmt: skip
    call = _edited_text(tx, text, lane)
    return call and replace(call, digest_of=payload.link_id)


def _edited_text(tx: database.Transaction, payload: payloads.TextMessage, lane: str) -> Call | None:
    """Return the call that edits a text, or None if the message already shows it."""
    call = _text(payload, lane)
    known = message_rows.text_key_at(tx, call.place) if call.place else None
    return None if known == _text_key(call) else call


def _text_key(call: Call) -> str:
    args = call.args
    keyboard = args.get("reply_markup")
    key = views.content_key(args.get("text", args.get("caption")), keyboard)
    if call.is_passing:
        return f"{message_rows.PASSING}{key}"
    return key if keyboard else f"{message_rows.BARE}{key}"


def _card(tx: database.Transaction, payload: payloads.CardMessage, lane: str, now: int) -> Built:
    link = link_rows.get_link(tx, payload.link_id)
    own, language = (
        (post_rows.VISITED, payload.language) if payload.is_public else (post_rows.OWN, None)
    )
    view = views.view_of(tx, link, own, now, language).with_menu(payload.menu)
    if payload.message_id is None:
        return _new_card(tx, view, lane, is_text=payload.is_text)
    place = post_rows.MessagePlace(lane, payload.message_id)
    return _edited_card(tx, view, place, post_rows.post_at(tx, place), is_text=payload.is_text)


def _poster(tx: database.Transaction, payload: payloads.PosterFile, lane: str, now: int) -> Built:
    link = link_rows.get_link(tx, payload.link_id)
    view = views.view_of(tx, link, post_rows.VISITED, now, payload.language)
    drawing = Drawing(view, payload.design, payload.file_name)
    return Call(payload.method, _target(lane), drawing)


def _refresh(tx: database.Transaction, payload: payloads.Refresh, attempts: int, now: int) -> Built:
    """Build the call that refreshes a post; None if the post is up to date or was replaced."""
    post = post_rows.find_post(tx, payload.post_id)
    if post is None or post.seen.words is None:
        return None
    link = link_rows.get_link(tx, post.link_id)
    view = views.view_of(tx, link, post.own, now).with_menu(post.seen.menu)
    waits = attempts <= PICTURE_ATTEMPTS and post_rows.has_live_card(tx, post.link_id)
    if payload.tries_picture:
        post = replace(post, refused=None)
    built = _edited_card(tx, view, post.place, post, waits=waits)
    if not isinstance(built, Call):
        return built
    # Keep the post and its age: only a button press makes a card the newest.
    return replace(built, shows=built.shows and replace(built.shows, post_id=post.id))


def _new_card(tx: database.Transaction, view: views.View, lane: str, *, is_text: bool) -> Call:
    seen = view.seen
    if seen.picture is None:
        return Call("sendMessage", _card_args(view, "text", lane))
    if is_text:
        shows = replace(_shown(view, replace(seen, picture=None)), refused=seen.picture)
        return Call("sendMessage", _card_args(view, "text", lane), shows=shows)
    picture = _card_picture(tx, view, seen.picture)
    args = _card_args(view, "caption", lane)
    return Call("sendPhoto", args, picture, shows=_shown(view, seen))


def _edited_card(
    tx: database.Transaction,
    view: views.View,
    place: post_rows.MessagePlace,
    post: post_rows.Post | None,
    *,
    waits: bool = False,
    is_text: bool = False,
) -> Built:
    """Build the smallest edit that brings a message up to date; None if it already is.

    Inline messages can't receive uploads: until Telegram has the picture, the edit `waits` or
    changes only the words. It also changes only the words if Telegram refused the picture.
    """
    seen = post.seen if post else None
    picture = view.seen.picture
    is_refused = is_text or (post is not None and post.refused == picture)
    if picture is None or is_refused or (seen and seen.picture == picture):
        return _edited_words(view, place, seen)
    if view.own == post_rows.SHARED:
        known = post_rows.card_picture(tx, view.link.id)
        if known is None or known[1] != picture:
            return NotYet(PICTURE_WAIT) if waits else _edited_words(view, place, seen)
    args = _card_args(view, "caption", place.lane, place.message_id)
    shows = _shown(view, view.seen)
    return Call("editMessageMedia", args, _card_picture(tx, view, picture), place, shows)


def _edited_words(
    view: views.View, place: post_rows.MessagePlace, seen: post_rows.PostContent | None
) -> Call | None:
    """Build the edit of text and buttons only; None if the message already has them."""
    if seen and seen.words == view.seen.words:
        return None
    is_text = seen is not None and seen.picture is None
    method, field = ("editMessageText", "text") if is_text else ("editMessageCaption", "caption")
    shows = replace(view.seen, picture=seen.picture if seen else None)
    args = _card_args(view, field, place.lane, place.message_id)
    return Call(method, args, place=place, shows=_shown(view, shows))


def _shown(view: views.View, seen: post_rows.PostContent) -> ShownRequest:
    gone = view.link.state == link_rows.DELETED and seen.picture == view.seen.picture
    return ShownRequest(view.link.id, view.own, seen, gone=gone)


def _card_picture(tx: database.Transaction, view: views.View, key: str) -> Drawing | str:
    """Return the file_id of the picture if Telegram has it, or else its Drawing."""
    known = post_rows.card_picture(tx, view.link.id)
    return known[0] if known and known[1] == key else Drawing(view)


def _card_args(
    view: views.View, field: str, lane: str, message_id: int | None = None
) -> dict[str, Any]:
    keyboard = replies.markup(view.reply.rows)
    return {field: view.reply.text, "reply_markup": keyboard, **_target(lane, message_id)}


def _target(lane: str, message_id: int | None = None) -> dict[str, Any]:
    """Return the arguments that name a chat, a message in a chat, or an inline message."""
    if lane.startswith(queues.INLINE):
        return {"inline_message_id": lane.removeprefix(queues.INLINE)}
    chat = {"chat_id": int(lane)}
    return chat if message_id is None else {**chat, "message_id": message_id}
