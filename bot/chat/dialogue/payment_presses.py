"""Buttons of one payment: its facts, its seller's marks, and the payer's words hidden.

Sent and paid back are the seller's word alone: no money moves. A mark is sent to the service once
its note is there, or was skipped, so that the buyer hears of both in one message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.alerts import hidden_words
from bot.chat.cards.incoming_texts import payment_reply
from bot.chat.cards.payer_words_text import (
    FOUND_BY,
    ON_DIGEST,
    ON_INCOMING,
    ON_LIST,
    typed_for,
)
from bot.chat.dialogue import find_command, incoming
from bot.chat.dialogue.form_effects import apply_outcome
from bot.chat.dialogue.mark_jobs import NOTE_TIME, send_mark
from bot.chat.dialogue.posters import show_payments
from bot.chat.forms.mark_form import end_with_mark, mark_form
from bot.chat.model.payment_key import PaymentKey
from bot.chat.model.payment_marks import HIDDEN, PAID_BACK
from bot.chat.requests import audit_trail
from bot.chat.store import claims, listings, payment_marks, posts
from bot.chat.store.payment_search import payment_by_key
from bot.chat.store.posts import MessagePlace

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.messages.reply import Reply
    from bot.chat.store.claims import Claim
    from bot.chat.store.payment_search import FoundPayment

WORDS = frozenset(["payment", *audit_trail.MARKED])
"""The buttons of one payment."""

_UNDO = "-undo"


def handle_press(context: EventContext, words: tuple[str, ...]) -> str | None:
    """Perform a button of a payment; return the text of the answer, if any."""
    word, listing_id, at, digest, *places = words
    key, place = PaymentKey(listing_id, int(at), digest), "".join(places)
    found = payment_by_key(context.tx, context.person.id, key)
    if found is None:
        return context.text("claims-gone")
    if word == "payment":
        context.without_press().reply(_payment(context, found))
        return None
    if word.removesuffix(_UNDO) == HIDDEN:
        return _hide(context, found, word, place)
    return _press_mark(context, found, word, is_alert=bool(place))


def _press_mark(
    context: EventContext, found: FoundPayment, word: str, *, is_alert: bool
) -> str | None:
    """Set a mark and ask for its note, or take back both; return the text of the answer, if any.

    The view of the payment is written again; `is_alert`: the button is below an alert, which stays.
    """
    mark = word.removesuffix(_UNDO)
    if word == PAID_BACK and _is_accepted(_claim(context, found)):
        return context.text("claims-toast-busy")
    if not _mark(context, found, word):
        return context.text("claims-toast-unchanged")
    if not is_alert:
        context.reply(_payment(context, _again(context, found)))
    payment = ":".join(found.key.words)
    if word != mark:
        send_mark(context, found, mark)
        if ended := end_with_mark(context.draft, payment, mark, context.seller):
            apply_outcome(context.without_press(), ended)
        return None
    send_mark(context, found, mark, delay=NOTE_TIME)
    draft_id = listings.short_id(6)
    form = mark_form(mark, payment, draft_id, context.seller, context.draft)
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


def _mark(context: EventContext, found: FoundPayment, word: str) -> bool:
    """Store a mark, or that it is taken back; return False if it was so before."""
    tx, now, mark = context.tx, context.now, word.removesuffix(_UNDO)
    is_new = (
        payment_marks.set_mark(tx, found, mark, now)
        if word == mark
        else payment_marks.clear_mark(tx, found, mark)
    )
    if is_new:
        audit_trail.record_mark(tx, context.person.id, found.ids, word, now)
    if is_new and mark == PAID_BACK:  # cards show what was raised, and what was earned
        posts.refresh(tx, context.queues, found.listing_id, now)
    return is_new


def _hide(context: EventContext, found: FoundPayment, word: str, place: str) -> str:
    """Hide the payer's words everywhere, or show them again; return the text of the answer."""
    is_hidden = word == HIDDEN
    is_new = payment_marks.set_hidden(context.tx, found, hidden=is_hidden)
    if is_new:
        audit_trail.record_mark(context.tx, context.person.id, found.ids, word, context.now)
        send_mark(context, found, HIDDEN)
    is_written = _show_hidden(context, found, place)
    if not is_hidden:
        return context.text("toast-shown")
    if not is_written:
        return context.text("toast-hidden-elsewhere")
    return context.text("toast-hidden" if is_new else "toast-hidden-already")


def _show_hidden(context: EventContext, found: FoundPayment, place: str) -> bool:
    """Write the tapped message again, and the alert of the payment.

    Return False for a digest that is not stored any more: nothing else has its other payments.
    """
    pressed = context.press.message_id if context.press else None
    tapped = None if pressed is None else MessagePlace(str(context.person.chat_id), pressed)
    tx, queues, now = context.tx, context.queues, context.now
    is_alert = hidden_words.rewrite(tx, queues, found, tapped, now)
    if is_alert:
        return True
    if place.startswith(ON_INCOMING):
        context.reply(incoming.page(context, int(place[1:])))
    elif place.startswith(ON_LIST):
        show_payments(context, listings.get_listing(tx, found.listing_id), int(place[1:]))
    elif place.startswith(FOUND_BY):
        find_command.show_found(context, typed_for(found, place))
    elif place != ON_DIGEST:
        context.reply(_payment(context, _again(context, found)))
    return place != ON_DIGEST


def _again(context: EventContext, found: FoundPayment) -> FoundPayment:
    return payment_by_key(context.tx, context.person.id, found.key) or found
