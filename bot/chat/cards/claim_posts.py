"""The messages of claims: where each is shown, and its edits once it is decided.

The first claims of a listing have messages of their own. Those beyond are in its digest, one
message that is edited as they come and go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards.claim_text import claim_reply, digest_reply
from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import ClaimDigest, TextMessage
from bot.chat.model.draft import Seller
from bot.chat.store import claims, listings, questions, sellers
from bot.chat.store.posts import MessagePlace
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT, NOTICE
from bot.core.text.translations import choose

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.chat.messages.reply import Reply
    from bot.chat.store.claims import Claim
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction

LISTED = 5
"""Claims that a digest lists, each with its buttons."""

EDIT_DELAY = 3_000
"""Milliseconds for which changes of a digest are collected into one edit."""


def known(tx: Transaction, claim: Claim) -> tuple[Listing, Seller]:
    """Return a claim's listing and seller."""
    return owned(tx, claim.listing_id)


def owned(tx: Transaction, listing_id: str) -> tuple[Listing, Seller]:
    """Return a listing and its seller."""
    listing = listings.get_listing(tx, listing_id)
    return listing, sellers.find_seller(tx, listing.seller_id) or Seller(choose(None))


def show(tx: Transaction, queues: Queues, claim_id: str, now: int) -> None:
    """Queue the edit that shows a claim in its own message as it stands now, if it has one.

    In the class of alerts, whose order is kept: a payment's alert that takes the place of the claim
    comes after it. A digest that lists the claim is brought up to date.
    """
    claim = claims.find_claim(tx, claim_id)
    if claim is not None and not claim.alone:
        refresh_digest(tx, queues, claim.listing_id, now)
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


def refresh_digest(tx: Transaction, queues: Queues, listing_id: str, now: int) -> None:
    """Queue the edit of a listing's digest, if it has one and none waits."""
    digest = claims.find_digest(tx, listing_id)
    if digest.message_id is None or digest.editing or digest.sending:
        return
    listing, seller = owned(tx, listing_id)
    key, body = outbox.new_id(now), ClaimDigest(listing_id, seller.language)
    outbox.put(
        tx, queues.messages, str(listing.chat_id), body, now,
        key=key, priority=NOTICE, due_at=now + EDIT_DELAY,
    )  # fmt: skip
    claims.save_digest(tx, replace(digest, editing=key))


def record_digest(
    tx: Transaction, queues: Queues, listing_id: str, place: MessagePlace, now: int
) -> None:
    """Store where a digest is shown; its message before that is deleted.

    It is edited once more, for claims may have come and gone while it was sent.
    """
    digest = claims.find_digest(tx, listing_id)
    if digest.message_id == place.message_id:
        return
    if digest.message_id is not None:
        questions.remove_buttons(tx, queues, MessagePlace(place.lane, digest.message_id), now)
    claims.save_digest(tx, replace(digest, message_id=place.message_id))
    refresh_digest(tx, queues, listing_id, now)


def digest_of(tx: Transaction, listing_id: str, now: int) -> Reply:
    """Return the digest of a listing's claims at `now` (epoch ms); an empty one has no buttons."""
    listing, seller = owned(tx, listing_id)
    listed, count = claims.digest_claims(tx, listing_id, now, LISTED)
    return digest_reply(listed, count, listing, seller)
