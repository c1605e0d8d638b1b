"""A request shown to others: in messages posted inline, and to who followed its link."""

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
    from bot.chat.dialogue.events import Chosen, Tapped
    from bot.chat.dialogue.turn import Turn
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction

BETWEEN = "-"
"""What parts a result's id: the listing's, and the key of the words that it posts."""

SHOWN = frozenset([LIVE, STOPPED])
"""States of listings that others may see."""


def result_id(listing_id: str, words: str) -> str:
    """Give the id of an inline result, by which `take_chosen` knows what was posted."""
    return f"{listing_id}{BETWEEN}{words}"


def take_chosen(tx: Transaction, queues: Queues, event: Chosen, now: int) -> None:
    """Note where a request was posted, and let that message become a card with a picture.

    Only a seller's own request: results are offered to nobody else.
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


def follow_link(turn: Turn, payload: str) -> bool:
    """Answer who followed a request's deep link; False for what `/start` brings otherwise.

    Its seller gets their card, anybody else what others see. Of one that is gone nothing is said,
    not even whether it was ever there.
    """
    if not payload.startswith(DEEP_LINK_PREFIX):
        return False
    listing = listings.find_listing(turn.tx, payload.removeprefix(DEEP_LINK_PREFIX))
    if listing is None or listing.answer is None or listing.state not in SHOWN:
        turn.say(Reply(turn.words("link-gone")))
    elif listing.seller_id == turn.person.id:
        own = view_of(turn.tx, listing, OWN, turn.now)
        turn.put(new_message(own.reply, own.language))
    else:
        turn.put(CardMessage(listing.id, turn.seller.language, is_public=True))
    return True


def look(turn: Turn, tapped: Tapped, listing_id: str) -> str | None:
    """Bring a visitor's card up to date in its place; the words of the answer, if any."""
    listing = listings.find_listing(turn.tx, listing_id)
    known = (*SHOWN, DELETED)
    if listing is None or listing.answer is None or listing.state not in known:
        return turn.words("link-gone")
    place = tapped.message_id if tapped.picture else None
    turn.put(CardMessage(listing.id, turn.seller.language, place, is_public=True))
    return None
