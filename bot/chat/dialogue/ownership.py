"""Whose request it is: rights are checked at each action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.request_card import card_of
from bot.chat.store import listings, received_payments
from bot.chat.store.listings import DELETED

if TYPE_CHECKING:
    from bot.chat.cards.request_card import Card
    from bot.chat.dialogue.turn import Turn
    from bot.chat.store.listings import Listing


def own_listing(turn: Turn, listing_id: str) -> Listing | str:
    """Give this person's listing that can be managed, or in words why there is none."""
    listing = listings.find_listing(turn.tx, listing_id)
    if listing is None or listing.seller_id != turn.person.id or listing.state == DELETED:
        return turn.words("listing-gone")
    if listing.answer is None:
        return turn.words("listing-not-ready")
    return listing


def own_card(turn: Turn, listing: Listing) -> Card:
    """Give a request's card as its seller sees it."""
    taken = received_payments.takings(turn.tx, listing.id)
    return card_of(listing, turn.now, taken=taken, zone=turn.seller.zone)
