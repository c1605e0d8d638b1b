"""`/find`: a payment by its transaction number, or a payment link by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.claim_text import claim_reply
from bot.chat.cards.payment_texts import found_links, found_payments
from bot.chat.cards.request_card import card_of
from bot.chat.messages.reply import Reply, escaped
from bot.chat.store import listings, queries
from bot.chat.store.claims import claims_by_reference
from bot.chat.store.payment_search import SHORTEST_PART, find_payments

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext

MOST_PAYMENTS = 5
MOST_LINKS = 8
"""What one answer shows; with more of the number or name there are fewer."""

_TYPED = 80
"""UTF-16 units of what was typed, repeated in the answer."""


def find(context: EventContext, text: str) -> None:
    """Answer `/find`: this person's payments with that number, else their links of that name."""
    tx, person_id = context.tx, context.person.id
    if not text:
        context.reply(Reply(context.text("find-help", least=SHORTEST_PART)))
        return
    claim = next(iter(claims_by_reference(tx, person_id, text, 1)), None)
    if claim is not None:
        listing = listings.get_listing(tx, claim.listing_id)
        context.reply(claim_reply(claim, listing, context.seller, context.now))
        return
    if show_found(context, text):
        return
    links = queries.search_present(tx, person_id, text, MOST_LINKS + 1)
    if not links:
        nothing = context.text("find-none", text=escaped(text, _TYPED), least=SHORTEST_PART)
        context.reply(Reply(nothing))
        return
    cards = [card_of(listing, context.now) for listing in links[:MOST_LINKS]]
    more = len(links) > MOST_LINKS
    context.reply(found_links(cards, text, context.seller.language, more=more))


def show_found(context: EventContext, text: str) -> bool:
    """Show this person's payments with that number; return False where there are none."""
    payments = find_payments(context.tx, context.person.id, text, MOST_PAYMENTS + 1)
    more, shown = len(payments) > MOST_PAYMENTS, payments[:MOST_PAYMENTS]
    if shown:
        context.reply(found_payments(shown, text, context.seller, more=more))
    return bool(shown)
