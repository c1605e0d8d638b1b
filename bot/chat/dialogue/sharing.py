"""Requests shown to others: messages posted inline, and visitors of a deep link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import DEEP_LINK_PREFIX
from bot.chat.cards.views import view_of
from bot.chat.messages.payloads import CardMessage, new_message
from bot.chat.messages.queues import INLINE
from bot.chat.messages.reply import Reply
from bot.chat.store import listings, posts
from bot.chat.store.listings import DELETED, LIVE, STOPPED
from bot.chat.store.posts import OWN, SHARED, MessagePlace, Shown

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.dialogue.events import PostedEvent, PressEvent
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction

BETWEEN = "-"
"""Separator in the id of a result, between the listing's id and the key of the text."""

SHOWN = frozenset([LIVE, STOPPED])
"""States of listings that others may see."""


def result_id(listing_id: str, words: str) -> str:
    """Return the id of an inline result, from which `handle_posted` reads what was posted."""
    return f"{listing_id}{BETWEEN}{words}"


def handle_posted(tx: Transaction, queues: Queues, event: PostedEvent, now: int) -> None:
    """Store where a request was posted, and queue the refresh that adds the picture.

    Only for the request's seller, the only one to whom results are offered.
    """
    listing_id, _, words = event.result_id.partition(BETWEEN)
    listing = listings.find_listing(tx, listing_id)
    if event.message_id is None or listing is None or listing.seller_id != event.person.id:
        return
    post = posts.save_post(
        tx, listing.id, MessagePlace(f"{INLINE}{event.message_id}", 0), SHARED, now
    )
    posts.record_shown(tx, post.id, Shown(None, words))
    posts.refresh_one(tx, queues, post, now)


def open_deep_link(context: EventContext, payload: str) -> bool:
    """Reply to a visitor of a request's deep link; False for another payload of `/start`.

    Its seller gets their own card, other people the public one. The reply about a deleted request
    is the same as about one that never existed.
    """
    if not payload.startswith(DEEP_LINK_PREFIX):
        return False
    listing = listings.find_listing(context.tx, payload.removeprefix(DEEP_LINK_PREFIX))
    if listing is None or listing.answer is None or listing.state not in SHOWN:
        context.reply(Reply(context.text("link-gone")))
    elif listing.seller_id == context.person.id:
        own = view_of(context.tx, listing, OWN, context.now)
        context.put(new_message(own.reply, own.language))
    else:
        context.put(CardMessage(listing.id, context.seller.language, is_public=True))
    return True


def refresh_visited_card(context: EventContext, press: PressEvent, listing_id: str) -> str | None:
    """Refresh a visitor's card in its place; return the text of the answer, if any."""
    listing = listings.find_listing(context.tx, listing_id)
    known = (*SHOWN, DELETED)
    if listing is None or listing.answer is None or listing.state not in known:
        return context.text("link-gone")
    place = press.message_id if context.is_card(press) else None
    context.put(CardMessage(listing.id, context.seller.language, place, is_public=True))
    return None
