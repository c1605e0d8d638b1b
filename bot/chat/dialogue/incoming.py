"""`/payments`: the money that waits for its seller's word, then the latest payments; one payment.

A payment is marked as paid back by its seller's word alone: no money moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.incoming_texts import incoming_page, payment_reply
from bot.chat.dialogue.form_effects import apply_outcome
from bot.chat.forms.payback_form import payback_form
from bot.chat.model.payment_key import PaymentKey
from bot.chat.requests import audit_trail
from bot.chat.store import claims, listings, paybacks
from bot.chat.store.payment_search import payment_by_key, payments_of_seller

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.messages.reply import Reply
    from bot.chat.store.claims import Claim
    from bot.chat.store.payment_search import FoundPayment

PAGE = 5
"""Payments on one page, each with a button."""

MOST_WAITING = 5
"""Claims on the first page; the next ones follow once these are decided."""

WORDS = frozenset(["payment", "paid-back", "paid-back-undo"])
"""The buttons of one payment."""


def page(context: EventContext, number: int) -> Reply:
    """Return a page of this person's claims and payments; `number` is from 0."""
    tx, person_id = context.tx, context.person.id
    found = payments_of_seller(tx, person_id, PAGE + 1, number * PAGE)
    waiting = []
    if number == 0:
        waiting = claims.waiting_claims(tx, person_id, context.now, MOST_WAITING + 1)
    listed = [(one, listings.get_listing(tx, one.listing_id)) for one in waiting[:MOST_WAITING]]
    has_more = len(waiting) > MOST_WAITING, len(found) > PAGE
    return incoming_page(listed, found[:PAGE], (number, *has_more), context.seller)


def handle_press(context: EventContext, words: tuple[str, ...]) -> str | None:
    """Perform a button of a payment; return the text of the answer, if any."""
    word, listing_id, at, digest = words
    key = PaymentKey(listing_id, int(at), digest)
    found = payment_by_key(context.tx, context.person.id, key)
    if found is None:
        return context.text("claims-gone")
    if word == "payment":
        context.without_press().reply(_payment(context, found))
        return None
    is_undone = word == "paid-back-undo"
    if not is_undone and _is_accepted(_claim(context, found)):
        return context.text("claims-toast-busy")
    if not _mark(context, found, is_undone=is_undone):
        return context.text("claims-toast-unchanged")
    context.reply(_payment(context, _again(context, key) or found))
    if not is_undone:
        form = payback_form(
            ":".join(key.words), listings.short_id(6), context.seller, context.draft
        )
        apply_outcome(context.without_press(), form)
    return None


def _payment(context: EventContext, found: FoundPayment) -> Reply:
    """Return one payment; an underpaid one that its seller may accept has a button for it."""
    claim = _claim(context, found)
    accept = claim.id if claim and claim.state == claims.UNDERPAID else None
    return payment_reply(found, context.seller, accept)


def _claim(context: EventContext, found: FoundPayment) -> Claim | None:
    """Return the claim by which an underpaid payment is accepted, None for other payments."""
    checkout_id = found.checkout_id if found.is_short else None
    return claims.claim_of_checkout(context.tx, checkout_id) if checkout_id else None


def _is_accepted(claim: Claim | None) -> bool:
    """Check whether a payment is about to become a sale, whose record would lose the mark."""
    return claim is not None and claim.state in (claims.CONFIRMING, claims.CONFIRMED)


def _mark(context: EventContext, found: FoundPayment, *, is_undone: bool) -> bool:
    """Store whether a payment is paid back; return False if it was so before."""
    tx, now = context.tx, context.now
    is_new = (
        paybacks.unmark_paid_back(tx, found)
        if is_undone
        else paybacks.mark_paid_back(tx, found, now)
    )
    if is_new:
        audit_trail.record_payback(tx, context.person.id, found.ids, now, undone=is_undone)
    return is_new


def _again(context: EventContext, key: PaymentKey) -> FoundPayment | None:
    return payment_by_key(context.tx, context.person.id, key)
