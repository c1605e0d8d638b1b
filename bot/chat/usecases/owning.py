"""Whose request it is: rights are checked at each action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat import store
from bot.chat.standing import card_of

if TYPE_CHECKING:
    from bot.chat.cards import Card
    from bot.chat.store import Listing
    from bot.chat.usecases.turn import Turn


def own_listing(turn: Turn, listing_id: str) -> Listing | str:
    """Give this person's listing that can be managed, or in words why there is none."""
    listing = store.listing(turn.tx, listing_id)
    if listing is None or listing.seller_id != turn.person.id or listing.state == store.DELETED:
        return turn.words("listing-gone")
    if listing.answer is None:
        return turn.words("listing-not-ready")
    return listing


def own_card(turn: Turn, listing: Listing) -> Card:
    """Give a request's card as its seller sees it."""
    taken = store.taken(turn.tx, listing.id)
    return card_of(listing, turn.now, taken=taken, zone=turn.seller.zone)
