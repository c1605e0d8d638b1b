"""The messages of claims: where each is shown, and its edits once it is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.claim_text import claim_reply
from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import TextMessage
from bot.chat.model.draft import Seller
from bot.chat.store import claims, listings, questions, sellers
from bot.chat.store.posts import MessagePlace
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import choose

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.chat.store.claims import Claim
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction


def known(tx: Transaction, claim: Claim) -> tuple[Listing, Seller]:
    """Return a claim's listing and seller."""
    listing = listings.get_listing(tx, claim.listing_id)
    return listing, sellers.find_seller(tx, claim.seller_id) or Seller(choose(None))


def show(tx: Transaction, queues: Queues, claim_id: str, now: int) -> None:
    """Queue the edit that shows a claim in its own message as it stands now, if it has one.

    In the class of alerts, whose order is kept: a payment's alert that takes the place of the claim
    comes after it.
    """
    claim = claims.find_claim(tx, claim_id)
    if claim is None or claim.message_id is None:
        return
    listing, seller = known(tx, claim)
    reply, language = claim_reply(claim, listing, seller, now), seller.language
    message = TextMessage(reply.text, language, markup(reply.rows), claim.message_id)
    outbox.put(tx, queues.messages, str(listing.chat_id), message, now, priority=ALERT)


def record_sent(
    tx: Transaction, queues: Queues, claim_id: str, place: MessagePlace, now: int
) -> None:
    """Store where a claim is shown; its message before that loses its buttons.

    A claim that was decided while its alert was sent is shown as it is then.
    """
    claim = claims.find_claim(tx, claim_id)
    if claim is None:
        return
    move_to(tx, queues, claim, place, now)
    if not claim.is_open(now):
        show(tx, queues, claim_id, now)


def move_to(tx: Transaction, queues: Queues, claim: Claim, place: MessagePlace, now: int) -> None:
    """Make a message the claim's own; the one before it loses its buttons."""
    if claim.message_id == place.message_id:
        return
    if claim.message_id is not None:
        before = MessagePlace(place.lane, claim.message_id)
        questions.remove_buttons(tx, queues, before, now)
    claims.set_message(tx, claim.id, place.message_id)
