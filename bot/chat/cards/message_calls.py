"""A request as a call of the Bot API: made when it is sent, from how it stands then.

A body of the queue names a listing and what to draw of it, or the post that is to change (see
store/posts.py). `Showing` makes its call, and notes afterwards what the message shows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.chat.cards.drawing import File, draw
from bot.chat.cards.views import View, content_key, view_of
from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import CardMessage, PosterFile, Refresh, TextMessage
from bot.chat.messages.queues import INLINE
from bot.chat.store import listings, posts, seller_images, shown_texts
from bot.chat.store.listings import DELETED
from bot.chat.store.posts import OWN, SHARED, VISITED, MessagePlace, Shown
from bot.core.database import file_handles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bot.chat.messages.queues import Queues
    from bot.chat.store.posts import Post
    from bot.core.database.database import Database, Transaction

LENDING, LENDING_TRIES = 3_000, 4
"""Milliseconds between looks for the picture that the own card is to lend, and how many."""


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """What is to be noted once Telegram took a call.

    `post_id` where a refresh made it, `gone` where there is nothing more to follow: the request is
    deleted, and the picture says so too.
    """

    listing_id: str
    own: int
    seen: Shown
    post_id: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the Bot API; `picture` is a file to upload or the file_id of one it has.

    `place` is the message that it changes, None where it makes one.
    """

    method: str
    args: Mapping[str, Any]
    picture: File | str | None = None
    place: MessagePlace | None = None
    showed: ShownRequest | None = None


@dataclass(frozen=True, slots=True)
class NotYet:
    """Nothing can be sent yet; `wait` in ms."""

    wait: int


@dataclass(frozen=True, slots=True)
class SentMessage:
    """What Telegram answered: the message, and the file_id of its picture, where it told them."""

    message_id: int | None = None
    file_id: str | None = None


@dataclass(frozen=True, slots=True)
class _UndrawnCall:
    """A call whose picture is still to be drawn: the poster of that design, or the card."""

    call: Call
    design: str | None
    view: View


Made = Call | NotYet | _UndrawnCall | None
Sendable = TextMessage | CardMessage | PosterFile | Refresh


class MessageCalls:
    """Makes the calls of bodies, at `now` (epoch ms)."""

    def __init__(self, db: Database, queues: Queues, now: Callable[[], int]) -> None:
        self._db = db
        self._queues = queues
        self._now = now

    async def call(self, body: Sendable, lane: str, attempts: int) -> Call | NotYet | None:
        """Return the call that sends a payload now; None where there is nothing left to send.

        Raises StorageError.
        """
        make: Callable[[Transaction], Made]
        now = self._now()
        match body:
            case Refresh():
                make = partial(_refreshed, post_id=body.post_id, attempts=attempts, now=now)
            case CardMessage():
                make = partial(_card, body=body, lane=lane, now=now)
            case PosterFile():
                make = partial(_poster, body=body, lane=lane, now=now)
            case TextMessage(message_id=None):
                return _text(body, lane)
            case TextMessage():
                make = partial(_changed_text, body=body, lane=lane)
        made = await self._db.read(make)
        return await self._drawn(made) if isinstance(made, _UndrawnCall) else made

    async def _drawn(self, plan: _UndrawnCall) -> Call:
        image = plan.view.card.image
        photo = await seller_images.image_data(self._db, image) if image else None
        with file_handles.required():
            data = await asyncio.to_thread(draw, plan.design, plan.view, photo)
        name = plan.call.picture.name if isinstance(plan.call.picture, File) else "card.jpg"
        return replace(plan.call, picture=File(data, name))

    def note(self, tx: Transaction, call: Call, lane: str, sent: SentMessage) -> None:
        """Keep what a message shows, in the transaction that settles the call for it."""
        showed, place = call.showed, call.place
        if place is None and sent.message_id is not None:
            place = MessagePlace(lane, sent.message_id)
        if place is None:
            return
        if place.message_id and "reply_markup" in call.args:
            shown_texts.save_text(tx, place, _words(call), self._now())
        if showed is None:
            if call.place is not None:
                posts.mark_replaced(tx, place)
            return
        if showed.gone:
            self._lend(tx, showed, sent.file_id)
            posts.delete_post(tx, place)
            return
        self._keep(tx, showed, place, sent.file_id)
        if call.place is None:
            self._catch_up(tx, place)

    def _keep(
        self, tx: Transaction, showed: ShownRequest, place: MessagePlace, file_id: str | None
    ) -> None:
        """Keep what a message shows."""
        post_id = showed.post_id
        if post_id is None:
            post_id = posts.save_post(tx, showed.listing_id, place, showed.own, self._now()).id
        posts.record_shown(tx, post_id, showed.seen)
        self._lend(tx, showed, file_id)

    def _lend(self, tx: Transaction, showed: ShownRequest, file_id: str | None) -> None:
        """Let an own card lend its picture to those shared inline."""
        listing_id, picture = showed.listing_id, showed.seen.picture
        if (
            showed.own == OWN
            and picture
            and file_id
            and (file_id, picture) != posts.card_picture(tx, listing_id)
        ):
            posts.save_card_picture(tx, listing_id, file_id, picture)
            posts.refresh_shared(tx, self._queues, listing_id, picture, self._now())

    def _catch_up(self, tx: Transaction, place: MessagePlace) -> None:
        """Let a new card change at once if its request did while it was on its way."""
        post, now = posts.post_at(tx, place), self._now()
        if post is None or post.own != OWN:
            return
        view = view_of(tx, listings.get_listing(tx, post.listing_id), OWN, now)
        if post.seen != view.seen:
            posts.refresh_one(tx, self._queues, post, now)


def _text(body: TextMessage, lane: str) -> Call:
    args: dict[str, Any] = {"caption" if body.is_caption else "text": body.text}
    if body.is_silent:
        args["disable_notification"] = True
    if body.message_id is not None:
        place = MessagePlace(lane, body.message_id)
        edit = {**args, **_address(place), "reply_markup": body.keyboard}
        return Call(body.method, edit, place=place)
    if body.keyboard is not None:
        args["reply_markup"] = body.keyboard
    return Call(body.method, {**args, **_chat(lane)})


def _changed_text(tx: Transaction, body: TextMessage, lane: str) -> Call | None:
    """Return the call that edits a text; None where the message has just that text already."""
    call = _text(body, lane)
    known = shown_texts.text_key_at(tx, call.place) if call.place else None
    return None if known == _words(call) else call


def _words(call: Call) -> str:
    args = call.args
    return content_key(args.get("text", args.get("caption")), args.get("reply_markup"))


def _card(tx: Transaction, body: CardMessage, lane: str, now: int) -> Made:
    listing = listings.get_listing(tx, body.listing_id)
    own, language = (VISITED, body.language) if body.is_public else (OWN, None)
    view = view_of(tx, listing, own, now, language)
    if body.message_id is None:
        return _new(tx, view, lane)
    place = MessagePlace(lane, body.message_id)
    return _changed(tx, view, place, posts.post_at(tx, place))


def _poster(tx: Transaction, body: PosterFile, lane: str, now: int) -> Made:
    listing = listings.get_listing(tx, body.listing_id)
    view = view_of(tx, listing, VISITED, now, body.language)
    call = Call(body.method, _chat(lane), File(b"", body.file_name))
    return _UndrawnCall(call, body.design, view)


def _refreshed(tx: Transaction, post_id: str, attempts: int, now: int) -> Made:
    """Make the call that brings a post up to date; None where it is, or shows something else."""
    post = posts.find_post(tx, post_id)
    if post is None or post.seen.words is None:
        return None
    view = view_of(tx, listings.get_listing(tx, post.listing_id), post.own, now)
    waits = attempts <= LENDING_TRIES and posts.has_live_card(tx, post.listing_id)
    made = _changed(tx, view, post.place, post, waits=waits)
    if isinstance(made, _UndrawnCall):
        return replace(made, call=_of_post(made.call, post))
    return _of_post(made, post) if isinstance(made, Call) else made


def _of_post(call: Call, post: Post) -> Call:
    """Leave a post as old as it is: only a press makes a card the newest again."""
    return replace(call, showed=call.showed and replace(call.showed, post_id=post.id))


def _new(tx: Transaction, view: View, lane: str) -> Call | _UndrawnCall:
    if view.seen.picture is None:
        return Call("sendMessage", {**_said(view, "text"), **_chat(lane)})
    args = {**_said(view, "caption"), **_chat(lane)}
    return _pictured(tx, Call("sendPhoto", args, showed=_showed(view, view.seen)), view)


def _changed(
    tx: Transaction, view: View, place: MessagePlace, post: Post | None, *, waits: bool = False
) -> Made:
    """Make the call that changes a message, as little as has to be; None for nothing at all.

    A message posted inline takes only a picture that Telegram has: it `waits` for that, or goes on
    without.
    """
    seen = post.seen if post else None
    picture = view.seen.picture
    if picture is None or (seen and seen.picture == picture):
        return _reworded(view, place, seen)
    if view.own == SHARED:
        lent = posts.card_picture(tx, view.listing.id)
        if lent is None or lent[1] != picture:
            return NotYet(LENDING) if waits else _reworded(view, place, seen)
    args = {**_said(view, "caption"), **_address(place)}
    call = Call("editMessageMedia", args, place=place, showed=_showed(view, view.seen))
    return _pictured(tx, call, view)


def _reworded(view: View, place: MessagePlace, seen: Shown | None) -> Call | None:
    """Change the words alone, unless they are said already; a text stays one."""
    if seen and seen.words == view.seen.words:
        return None
    is_text = seen is not None and seen.picture is None
    method, what = ("editMessageText", "text") if is_text else ("editMessageCaption", "caption")
    shows = Shown(seen.picture if seen else None, view.seen.words)
    args = {**_said(view, what), **_address(place)}
    return Call(method, args, place=place, showed=_showed(view, shows))


def _showed(view: View, seen: Shown) -> ShownRequest:
    gone = view.listing.state == DELETED and seen.picture == view.seen.picture
    return ShownRequest(view.listing.id, view.own, seen, gone=gone)


def _pictured(tx: Transaction, call: Call, view: View) -> Call | _UndrawnCall:
    """Take the picture that Telegram has, else let it be drawn."""
    lent = posts.card_picture(tx, view.listing.id)
    if lent and lent[1] == view.seen.picture:
        return replace(call, picture=lent[0])
    return _UndrawnCall(call, None, view)


def _said(view: View, what: str) -> dict[str, Any]:
    return {what: view.reply.text, "reply_markup": markup(view.reply.rows)}


def _chat(lane: str) -> dict[str, Any]:
    """Name the chat of a lane, or the message that was posted inline."""
    if lane.startswith(INLINE):
        return {"inline_message_id": lane.removeprefix(INLINE)}
    return {"chat_id": int(lane)}


def _address(place: MessagePlace) -> dict[str, Any]:
    return {**_chat(place.lane), **({"message_id": place.message_id} if place.message_id else {})}
