"""Buttons of one payment: its facts, its seller's marks, and the payer's words hidden.

Sent and paid back are the seller's word alone: no money moves. A mark is sent to the service once
its note is there, or was skipped, so that the buyer hears of both in one message.
"""

from __future__ import annotations

from dataclasses import replace

from bot.chat.alerts import delivery
from bot.chat.cards import claim_cards, payment_lines, payment_texts, request_card
from bot.chat.conversation import event_context, form_effects, sharing
from bot.chat.forms import form
from bot.chat.jobs import audit_trail
from bot.chat.model import jobs, replies
from bot.chat.model.payment import HIDDEN, PAID_BACK, PaymentKey
from bot.chat.store import claim_rows, link_lists, link_rows, payment_marks, post_rows

# `/find`: a payment by its transaction number, or a payment link by its name.


MOST_PAYMENTS = 5
MOST_LINKS = 8
"""What one answer shows; with more of the number or name there are fewer."""

_TYPED = 80
"""UTF-16 units of what was typed, repeated in the answer."""


def find_payment(context: event_context.EventContext, text: str) -> None:
    """Answer `/find`: this person's payments with that number, else their links of that name."""
    tx, person_id = context.tx, context.person.id
    if not text:
        context.reply(replies.Reply(context.text("find-help", least=payment_marks.SHORTEST_PART)))
        return
    claim = next(iter(claim_rows.claims_by_reference(tx, person_id, text, 1)), None)
    if claim is not None:
        link = link_rows.get_link(tx, claim.link_id)
        context.reply(claim_cards.claim_reply(claim, link, context.seller, context.now))
        return
    if show_found(context, text):
        return
    links = link_lists.search_present(tx, person_id, text, MOST_LINKS + 1)
    if not links:
        nothing = context.text(
            "find-none", text=replies.escaped(text, _TYPED), least=payment_marks.SHORTEST_PART
        )
        context.reply(replies.Reply(nothing))
        return
    cards = [request_card.card_of(link, context.now) for link in links[:MOST_LINKS]]
    more = len(links) > MOST_LINKS
    context.reply(payment_texts.found_links(cards, text, context.seller.language, more=more))


def show_found(context: event_context.EventContext, text: str) -> bool:
    """Show this person's payments with that number; return False where there are none."""
    payments = payment_marks.find_payments(context.tx, context.person.id, text, MOST_PAYMENTS + 1)
    more, shown = len(payments) > MOST_PAYMENTS, payments[:MOST_PAYMENTS]
    if shown:
        context.reply(payment_texts.found_payments(shown, text, context.seller, more=more))
    return bool(shown)


# `/payments`: the money that waits for its seller's word, then the latest payments.


PAGE = 5
"""Payments on one page, each with a button."""

MOST_WAITING = 5
"""Claims on one page, the same number as of payments."""


def incoming_page(context: event_context.EventContext, number: int) -> replies.Reply:
    """Return a page of this person's claims and payments; `number` is from 0."""
    tx, person_id = context.tx, context.person.id
    found = payment_marks.payments_of_seller(tx, person_id, PAGE + 1, number * PAGE)
    shown = number * MOST_WAITING
    waiting = claim_rows.waiting_claims(tx, person_id, context.now, MOST_WAITING, shown)
    count = claim_rows.count_waiting(tx, person_id, context.now)
    listed = [(one, link_rows.get_link(tx, one.link_id)) for one in waiting]
    has_more = len(found) > PAGE or count > shown + MOST_WAITING
    return payment_texts.incoming_page(
        listed, found[:PAGE], (number, count, has_more), context.seller
    )


# Buttons of claims: the money has arrived, or it has not.
#
# A press stores the decision and queues its call; the state in the database lets only one press
# through, from whatever message and however often it is made.


CLAIM_WORDS = frozenset(["claim", "received", "missing", "missing-yes"])
"""The buttons of claims."""


def handle_claim_press(context: event_context.EventContext, words: tuple[str, ...]) -> str | None:
    """Perform a button of a claim; return the text of the answer, if any."""
    word, claim_id, *place = words
    claim = claim_rows.find_claim(context.tx, claim_id)
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
        link = link_rows.get_link(context.tx, claim.link_id)
        asking.reply(claim_cards.rejection_question(claim, link, context.seller.language))
        return None
    return _decide(context, claim, claim_rows.REJECTING)


def _has_button(claim: claim_rows.Claim, word: str) -> bool:
    """True if a claim can have this button: underpaid money can't be missing."""
    return claim.state != claim_rows.UNDERPAID or word == "received"


def _confirm(
    context: event_context.EventContext, claim: claim_rows.Claim, listed_in: str
) -> str | None:
    if claim.state in (claim_rows.CONFIRMED, claim_rows.PAID):
        return context.text("claims-toast-confirmed")
    if claim.state not in (claim_rows.WAITING, claim_rows.REJECTED, claim_rows.UNDERPAID):
        return context.text("claims-toast-busy" if claim.is_under_way() else "claims-gone")
    if claim.state == claim_rows.UNDERPAID and payment_marks.is_paid_back(
        context.tx, claim.checkout_id
    ):
        return context.text("claims-toast-paid-back")
    return _decide(context, claim, claim_rows.CONFIRMING, listed_in)


def _decide(
    context: event_context.EventContext, claim: claim_rows.Claim, state: str, listed_in: str = ""
) -> str:
    """Store the decision and queue its call; return the text of the answer.

    The button was in the claim's own message, or `listed_in` a list or a digest.
    """
    press = None if listed_in else context.press
    place = press.message_id if press else None
    claim_rows.change_state(context.tx, claim, state, place)
    if place is not None:
        own = post_rows.MessagePlace(str(context.person.chat_id), place)
        claim_cards.move_to(context.tx, context.queues, claim, own, context.now)
    confirms = state == claim_rows.CONFIRMING
    reply_to = context.reply_to(press)
    context.add_job(
        jobs.DecideClaim(claim.link_id, reply_to, claim.id, confirms, claim.state, context.now)
    )
    audit_trail.record_decision(context.tx, claim, context.now, confirms=confirms)
    if listed_in == claim_cards.IN_DIGEST:
        digest = claim_cards.digest_of(context.tx, claim.link_id, context.now)
        context.reply(replace(digest, is_passing=True))
    elif listed_in:
        context.reply(incoming_page(context, 0))
    if not claim.alone:
        claim_cards.refresh_digest(context.tx, context.queues, claim.link_id, context.now)
    return context.text("claims-toast-confirming" if confirms else "claims-toast-rejecting")


def _show(context: event_context.EventContext, claim: claim_rows.Claim) -> None:
    """Show a claim in the place of the message as it stands."""
    link = link_rows.get_link(context.tx, claim.link_id)
    context.reply(claim_cards.claim_reply(claim, link, context.seller, context.now))


WORDS = frozenset(["payment", *audit_trail.MARK_ACTIONS])
"""The buttons of one payment."""

_UNDO = "-undo"


def handle_press(context: event_context.EventContext, words: tuple[str, ...]) -> str | None:
    """Perform a button of a payment; return the text of the answer, if any."""
    word, link_id, at, digest, *places = words
    key, place = PaymentKey(link_id, int(at), digest), "".join(places)
    found = payment_marks.payment_by_key(context.tx, context.person.id, key)
    if found is None:
        return context.text("claims-gone")
    if word == "payment":
        context.without_press().reply(_payment(context, found))
        return None
    if word.removesuffix(_UNDO) == HIDDEN:
        return _hide(context, found, word, place)
    return _press_mark(context, found, word, is_alert=bool(place))


def _press_mark(
    context: event_context.EventContext,
    found: payment_marks.FoundPayment,
    word: str,
    *,
    is_alert: bool,
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
        form_effects.send_mark(context, found, mark)
        if ended := form.end_with_mark(context.draft, payment, mark, context.seller):
            form_effects.apply_result(context.without_press(), ended)
        return None
    form_effects.send_mark(context, found, mark, delay=form_effects.NOTE_TIME)
    draft_id = link_rows.short_id(6)
    asked = form.mark_form(mark, payment, draft_id, context.seller, context.draft)
    form_effects.apply_result(context.without_press(), asked)
    return None


def _payment(
    context: event_context.EventContext, found: payment_marks.FoundPayment
) -> replies.Reply:
    """Return one payment; an underpaid one that its seller may accept has a button for it."""
    claim = _claim(context, found)
    accept = claim.id if claim and claim.state == claim_rows.UNDERPAID else None
    return payment_texts.payment_reply(found, context.seller, accept)


def _claim(
    context: event_context.EventContext, found: payment_marks.FoundPayment
) -> claim_rows.Claim | None:
    """Return the claim by which an underpaid payment is accepted, None for other payments."""
    checkout_id = found.checkout_id if found.is_short else None
    return claim_rows.claim_of_checkout(context.tx, checkout_id) if checkout_id else None


def _is_accepted(claim: claim_rows.Claim | None) -> bool:
    """True if a payment is about to become a sale, whose record would lose the mark."""
    return claim is not None and claim.state in (claim_rows.CONFIRMING, claim_rows.CONFIRMED)


def _mark(
    context: event_context.EventContext, found: payment_marks.FoundPayment, word: str
) -> bool:
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
        post_rows.refresh(tx, context.queues, found.link_id, now)
    return is_new


def _hide(
    context: event_context.EventContext, found: payment_marks.FoundPayment, word: str, place: str
) -> str:
    """Hide the payer's words everywhere, or show them again; return the text of the answer."""
    is_hidden = word == HIDDEN
    is_new = payment_marks.set_hidden(context.tx, found, hidden=is_hidden)
    if is_new:
        audit_trail.record_mark(context.tx, context.person.id, found.ids, word, context.now)
        form_effects.send_mark(context, found, HIDDEN)
    is_written = _show_hidden(context, found, place)
    if not is_hidden:
        return context.text("toast-shown")
    if not is_written:
        return context.text("toast-hidden-elsewhere")
    return context.text("toast-hidden" if is_new else "toast-hidden-already")


def _show_hidden(
    context: event_context.EventContext, found: payment_marks.FoundPayment, place: str
) -> bool:
    """Write the tapped message again, and the alert of the payment.

    Return False for a digest that is not stored any more: nothing else has its other payments.
    """
    pressed = context.press.message_id if context.press else None
    tapped = (
        None if pressed is None else post_rows.MessagePlace(str(context.person.chat_id), pressed)
    )
    tx, queues, now = context.tx, context.queues, context.now
    is_alert = delivery.rewrite_alert(tx, queues, found, tapped, now)
    if is_alert:
        return True
    if place.startswith(payment_lines.ON_INCOMING):
        context.reply(incoming_page(context, int(place[1:])))
    elif place.startswith(payment_lines.ON_LIST):
        sharing.show_payments(context, link_rows.get_link(tx, found.link_id), int(place[1:]))
    elif place.startswith(payment_lines.FOUND_BY):
        show_found(context, payment_lines.typed_for(found, place))
    elif place != payment_lines.ON_DIGEST:
        context.reply(_payment(context, _again(context, found)))
    return place != payment_lines.ON_DIGEST


def _again(
    context: event_context.EventContext, found: payment_marks.FoundPayment
) -> payment_marks.FoundPayment:
    return payment_marks.payment_by_key(context.tx, context.person.id, found.key) or found
