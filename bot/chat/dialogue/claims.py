"""Buttons of claims: the money has arrived, or it has not.

A press stores the decision and queues its call; the state in the database lets only one press
through, from whatever message and however often it is made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards import claim_posts
from bot.chat.cards.claim_text import IN_DIGEST, claim_reply, rejection_question
from bot.chat.dialogue import incoming
from bot.chat.messages.jobs import DecideClaim
from bot.chat.requests import audit_trail
from bot.chat.store import claims, listings, payment_marks
from bot.chat.store.claims import (
    CONFIRMED,
    CONFIRMING,
    PAID,
    REJECTED,
    REJECTING,
    UNDERPAID,
    WAITING,
)
from bot.chat.store.posts import MessagePlace

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.store.claims import Claim

WORDS = frozenset(["claim", "received", "missing", "missing-yes"])
"""The buttons of claims."""


def handle_press(context: EventContext, words: tuple[str, ...]) -> str | None:
    """Perform a button of a claim; return the text of the answer, if any."""
    word, claim_id, *place = words
    claim = claims.find_claim(context.tx, claim_id)
    if claim is None or claim.seller_id != context.person.id or not _has_button(claim, word):
        return context.text("claims-gone")
    listed_in = "".join(place)
    if word == "received":
        return _confirm(context, claim, listed_in)
    if claim.is_under_way():
        return context.text("claims-toast-busy")
    if word == "claim" or not claim.is_waiting(context.now):
        _show(context, claim)
        return None
    if word == "missing":
        asking = context.without_press() if listed_in else context
        listing = listings.get_listing(context.tx, claim.listing_id)
        asking.reply(rejection_question(claim, listing, context.seller.language))
        return None
    return _decide(context, claim, REJECTING)


def _has_button(claim: Claim, word: str) -> bool:
    """Check whether a claim can have this button: underpaid money can't be missing."""
    return claim.state != UNDERPAID or word == "received"


def _confirm(context: EventContext, claim: Claim, listed_in: str) -> str | None:
    if claim.state in (CONFIRMED, PAID):
        return context.text("claims-toast-confirmed")
    if claim.state not in (WAITING, REJECTED, UNDERPAID):
        return context.text("claims-toast-busy" if claim.is_under_way() else "claims-gone")
    if claim.state == UNDERPAID and payment_marks.is_paid_back(context.tx, claim.checkout_id):
        return context.text("claims-toast-paid-back")
    return _decide(context, claim, CONFIRMING, listed_in)


def _decide(context: EventContext, claim: Claim, state: str, listed_in: str = "") -> str:
    """Store the decision and queue its call; return the text of the answer.

    The button was in the claim's own message, or `listed_in` a list or a digest.
    """
    press = None if listed_in else context.press
    place = press.message_id if press else None
    claims.change_state(context.tx, claim, state, place)
    if place is not None:
        own = MessagePlace(str(context.person.chat_id), place)
        claim_posts.move_to(context.tx, context.queues, claim, own, context.now)
    confirms = state == CONFIRMING
    reply_to = context.reply_to(press)
    context.add_job(
        DecideClaim(claim.listing_id, reply_to, claim.id, confirms, claim.state, context.now)
    )
    audit_trail.record_decision(context.tx, claim, context.now, confirms=confirms)
    if listed_in == IN_DIGEST:
        digest = claim_posts.digest_of(context.tx, claim.listing_id, context.now)
        context.reply(replace(digest, is_passing=True))
    elif listed_in:
        context.reply(incoming.page(context, 0))
    if not claim.alone:
        claim_posts.refresh_digest(context.tx, context.queues, claim.listing_id, context.now)
    return context.text("claims-toast-confirming" if confirms else "claims-toast-rejecting")


def _show(context: EventContext, claim: Claim) -> None:
    """Show a claim in the place of the message as it stands."""
    listing = listings.get_listing(context.tx, claim.listing_id)
    context.reply(claim_reply(claim, listing, context.seller, context.now))
