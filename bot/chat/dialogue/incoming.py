"""`/payments`: the money that waits for its seller's word, then the latest payments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.incoming_texts import incoming_page
from bot.chat.store import claims, listings
from bot.chat.store.payment_search import payments_of_seller

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.messages.reply import Reply

PAGE = 5
"""Payments on one page, each with a button."""

MOST_WAITING = 5
"""Claims on one page, the same number as of payments."""


def page(context: EventContext, number: int) -> Reply:
    """Return a page of this person's claims and payments; `number` is from 0."""
    tx, person_id = context.tx, context.person.id
    found = payments_of_seller(tx, person_id, PAGE + 1, number * PAGE)
    shown = number * MOST_WAITING
    waiting = claims.waiting_claims(tx, person_id, context.now, MOST_WAITING, shown)
    count = claims.count_waiting(tx, person_id, context.now)
    listed = [(one, listings.get_listing(tx, one.listing_id)) for one in waiting]
    has_more = len(found) > PAGE or count > shown + MOST_WAITING
    return incoming_page(listed, found[:PAGE], (number, count, has_more), context.seller)
