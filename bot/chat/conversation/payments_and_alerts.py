"""Payments in the chat: search, lists, claims, marks and alerts.

The marks "sent" and "paid back" only record what the seller says: no money moves. A mark is sent to
the service after its note was written or skipped, so that the buyer gets both in one message.
"""

from __future__ import annotations

from dataclasses import replace

from bot.chat.cards import (
    alert_text,
    alerts,
    claim_cards,
    payment_lines,
    payment_texts,
    request_card,
)
from bot.chat.conversation import form_effects, sharing
from bot.chat.conversation.event_context import EventContext
from bot.chat.forms import inputs
from bot.chat.model import jobs, moments, replies
from bot.chat.model.payment import HIDDEN, PAID_BACK, PaymentKey
from bot.chat.store import claim_rows, link_rows, payment_marks, post_rows
from bot.core.outbox import queries

# `/find`: a payment by its transaction number, or a payment link by its name.

MOST_PAYMENTS = 5
MOST_LINKS = 8
"""Payments and links in one answer."""

_TYPED = 80
"""UTF-16 units of the search text that the answer repeats."""


def find_payment(context: EventContext, text: str) -> None:
    """Answer `/find` with this person's payments of that number, else their links of that name."""
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
    links = link_rows.search_links(tx, person_id, text, MOST_LINKS + 1)
    if not links:
        nothing = context.text(
            "find-none", text=replies.escaped(text, _TYPED), least=payment_marks.SHORTEST_PART
        )
        context.reply(replies.Reply(nothing))
        return
    cards = [request_card.card_of(link, context.now) for link in links[:MOST_LINKS]]
    more = len(links) > MOST_LINKS
    context.reply(payment_texts.found_links(cards, text, context.seller.language, more=more))


def show_found(context: EventContext, text: str) -> bool:
    """Show this person's payments with that number; return False if there are none."""
    payments = payment_marks.find_payments(context.tx, context.person.id, text, MOST_PAYMENTS + 1)
    more, shown = len(payments) > MOST_PAYMENTS, payments[:MOST_PAYMENTS]
    if shown:
        context.reply(payment_texts.found_payments(shown, text, context.seller, more=more))
    return bool(shown)


# `/payments`: claims waiting for the seller's decision, then the latest payments.

PAGE = 5
"""Payments on one page, each with a button."""

MOST_WAITING = 5
"""Claims on one page."""


def incoming_page(context: EventContext, number: int) -> replies.Reply:
    """Return a page of this person's claims and payments; `number` counts from 0."""
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


# Buttons of claims: the money has arrived or has not arrived. A press stores the decision and
# queues its call. The claim's state in the database allows only one decision, from whichever
# message.


def handle_claim_press(context: EventContext, words: tuple[str, ...]) -> str | None:
    """Handle a button of a claim; return the text of the answer, if any."""
    word, claim_id, *place = words
    claim = claim_rows.find_claim(context.tx, claim_id)
    if claim is None or claim.seller_id != context.person.id:
        return context.text("claims-gone")
    if claim.state == claim_rows.UNDERPAID and word != "received":  # it can't be missing
        return context.text("claims-gone")
    listed_in = "".join(place)
    if word == "received":
        if claim.state in (claim_rows.CONFIRMED, claim_rows.PAID):
            return context.text("claims-toast-confirmed")
        if claim.state not in (claim_rows.WAITING, claim_rows.REJECTED, claim_rows.UNDERPAID):
            return context.text("claims-toast-busy" if claim.is_under_way() else "claims-gone")
        is_short = claim.state == claim_rows.UNDERPAID
        if is_short and payment_marks.is_paid_back(context.tx, claim.checkout_id):
            return context.text("claims-toast-paid-back")
        return _decide(context, claim, claim_rows.CONFIRMING, listed_in)
    if claim.is_under_way():
        return context.text("claims-toast-busy")
    if word == "claim" or not claim.is_waiting(context.now):
        link = link_rows.get_link(context.tx, claim.link_id)
        context.reply(claim_cards.claim_reply(claim, link, context.seller, context.now))
        return None
    if word == "missing":
        asking = context.without_press() if listed_in else context
        link = link_rows.get_link(context.tx, claim.link_id)
        asking.reply(claim_cards.rejection_question(claim, link, context.seller.language))
        return None
    return _decide(context, claim, claim_rows.REJECTING)


def _decide(context: EventContext, claim: claim_rows.Claim, state: str, listed_in: str = "") -> str:
    """Store the decision and queue its call; return the text of the answer.

    The button was in the claim's own message, or in the list or digest `listed_in`.
    """
    press = None if listed_in else context.press
    place = press.message_id if press else None
    claim_rows.change_state(context.tx, claim, state, place)
    if place is not None:
        own = post_rows.MessagePlace(str(context.person.chat_id), place)
        claim_cards.move_to(context, claim, own)
    confirms = state == claim_rows.CONFIRMING
    reply_to = context.reply_to(press)
    context.add_job(jobs.DecideClaim(claim.link_id, reply_to, claim.id, confirms, claim.state))
    action = "claim.confirm-asked" if confirms else "claim.reject-asked"
    details = {"checkout": claim.checkout_id, "reference": claim.reference}
    context.audit(action, claim.request_id, details)
    if listed_in == claim_cards.IN_DIGEST:
        digest = claim_cards.digest_of(context.tx, claim.link_id, context.now)
        context.reply(replace(digest, is_passing=True))
    elif listed_in:
        context.reply(incoming_page(context, 0))
    if not claim.alone:
        claim_cards.refresh_digest(context, claim.link_id)
    return context.text("claims-toast-confirming" if confirms else "claims-toast-rejecting")


# Buttons of one payment: show its facts, set its marks, and hide the payer's words.

_UNDO = "-undo"


def handle_press(context: EventContext, words: tuple[str, ...]) -> str | None:
    """Handle a button of a payment; return the text of the answer, if any."""
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
    context: EventContext, found: payment_marks.FoundPayment, word: str, *, is_alert: bool
) -> str | None:
    """Set a mark and ask for its note, or remove both; return the text of the answer, if any.

    The view of the payment is updated. An alert (`is_alert`) stays unchanged.
    """
    tx, now, mark = context.tx, context.now, word.removesuffix(_UNDO)
    if word == PAID_BACK:
        claim = _claim(context, found)
        if claim and claim.state in (claim_rows.CONFIRMING, claim_rows.CONFIRMED):
            return context.text("claims-toast-busy")  # the sale's record would lose the mark
    is_new = (
        payment_marks.set_mark(tx, found, mark, now)
        if word == mark
        else payment_marks.clear_mark(tx, found, mark)
    )
    if not is_new:
        return context.text("claims-toast-unchanged")
    _audit_mark(context, found, word)
    if mark == PAID_BACK:  # cards show the sums raised and earned
        post_rows.refresh(context, found.link_id)
    if not is_alert:
        context.reply(_payment(context, _again(context, found)))
    payment = ":".join(found.key.words)
    if word != mark:
        form_effects.send_mark(context, found, mark)
        if ended := inputs.end_with_mark(context.draft, payment, mark, context.seller):
            form_effects.apply_result(context.without_press(), ended)
        return None
    form_effects.send_mark(context, found, mark, delay=form_effects.NOTE_TIME)
    draft_id = link_rows.short_id(6)
    asked = inputs.mark_form(mark, payment, draft_id, context.seller, context.draft)
    form_effects.apply_result(context.without_press(), asked)
    return None


def _payment(context: EventContext, found: payment_marks.FoundPayment) -> replies.Reply:
    """Return one payment; an underpaid payment has a button to accept it, if that is possible."""
    claim = _claim(context, found)
    accept = claim.id if claim and claim.state == claim_rows.UNDERPAID else None
    return payment_texts.payment_reply(found, context.seller, accept)


def _claim(context: EventContext, found: payment_marks.FoundPayment) -> claim_rows.Claim | None:
    """Return the claim that accepts a payment; None if the payment isn't underpaid."""
    checkout_id = found.checkout_id if found.is_short else None
    return claim_rows.claim_of_checkout(context.tx, checkout_id) if checkout_id else None


MARK_ACTIONS = {
    "paid-back": "payment.paid-back",
    "paid-back-undo": "payment.paid-back-undone",
    "sent": "payment.sent",
    "sent-undo": "payment.sent-undone",
    "hide": "payment.words-hidden",
    "hide-undo": "payment.words-shown",
}
"""The action in the audit log for the word of each button that marks a payment."""


def _audit_mark(context: EventContext, found: payment_marks.FoundPayment, word: str) -> None:
    request_id, transaction_id = found.ids
    context.audit(MARK_ACTIONS[word], request_id, {"transaction": transaction_id})


def _hide(context: EventContext, found: payment_marks.FoundPayment, word: str, place: str) -> str:
    """Hide the payer's words everywhere, or show them again; return the answer's text."""
    is_hidden = word == HIDDEN
    is_new = payment_marks.set_hidden(context.tx, found, hidden=is_hidden)
    if is_new:
        _audit_mark(context, found, word)
        form_effects.send_mark(context, found, HIDDEN)
    is_written = _show_hidden(context, found, place)
    if not is_hidden:
        return context.text("toast-shown")
    if not is_written:
        return context.text("toast-hidden-elsewhere")
    return context.text("toast-hidden" if is_new else "toast-hidden-already")


def _show_hidden(context: EventContext, found: payment_marks.FoundPayment, place: str) -> bool:
    """Update the tapped message and the payment's alert.

    Return False for a digest that is no longer stored, because its other payments are unknown.
    """
    message_id = context.press.message_id if context.press else None
    tapped = None
    if message_id is not None:
        tapped = post_rows.MessagePlace(str(context.person.chat_id), message_id)
    if alerts.rewrite_alert(context, found, tapped):
        return True
    if place.startswith(payment_lines.ON_INCOMING):
        context.reply(incoming_page(context, int(place[1:])))
    elif place.startswith(payment_lines.ON_LIST):
        link = link_rows.get_link(context.tx, found.link_id)
        sharing.show_payments(context, link, int(place[1:]))
    elif place.startswith(payment_lines.FOUND_BY):
        show_found(context, payment_lines.typed_for(found, place))
    elif place != payment_lines.ON_DIGEST:
        context.reply(_payment(context, _again(context, found)))
    return place != payment_lines.ON_DIGEST


def _again(context: EventContext, found: payment_marks.FoundPayment) -> payment_marks.FoundPayment:
    return payment_marks.payment_by_key(context.tx, context.person.id, found.key) or found


# Alerts: the mode of each request, and undelivered alerts.

ALERT_LINES = 15
"""Lines of `/alerts`: a message always has room for them, even if all are as long as possible."""

_NAME = 60
"""UTF-16 units of a request's name."""


def handle_alerts_press(
    context: EventContext, link: link_rows.PaymentLink, action: replies.Action
) -> str | None:
    """Set a request's alert mode, if given, and show the menu; return the text of the answer.

    If the mode is already set, the menu is not sent again, because Telegram refuses an edit that
    changes nothing.
    """
    if not action[1:]:
        context.reply(_alert_menu(context, link, link.alerts))
        return None
    mode = action[1]
    if mode != link.alerts:
        link_rows.set_alerts(context.tx, link.id, mode)
        details = {"name": link.spec.name, "alerts": [link.alerts, mode]}
        context.audit("request.edited", link.request_id or link.id, details)
        post_rows.refresh(context, link.id)
        context.reply(_alert_menu(context, link, mode))
    return context.text(f"toast-alerts-{mode}")


def _alert_menu(context: EventContext, link: link_rows.PaymentLink, chosen: str) -> replies.Reply:
    text = context.text("alerts-menu", name=replies.escaped(link.spec.name, _NAME))
    if context.seller.quiet is not None:
        text = f"{text}\n\n{context.text('alerts-menu-quiet')}"
    modes = []
    for mode in link_rows.ALERTS:
        label = context.text(f"button-alerts-{mode}")
        if mode == chosen:
            label = context.text("button-chosen", label=label)
        modes.append(replies.Button(label, action=("alerts", link.id, mode)))
    back = replies.Button(context.text("button-back"), action=("refresh", link.id))
    return replies.Reply(text, (tuple(modes), (back,)))


def show_undelivered(context: EventContext) -> None:
    """Show this chat's undelivered alerts with reasons, newest first."""
    lane = str(context.person.chat_id)
    found = alerts.newest_undelivered(context, lane)
    count = alerts.count_undelivered(context, lane)
    lines: list[str] = []
    listed = 0
    for alert in found:
        more = _alert_lines(alert, context)
        if len(lines) + len(more) > ALERT_LINES and lines:
            break
        lines += more[:ALERT_LINES]
        listed += 1
    if not lines:
        context.reply(replies.Reply(context.text("undelivered-none")))
        return
    if count > listed:
        lines.append(context.text("undelivered-more", more=count - listed))
    lines.insert(0, context.text("undelivered"))
    rows: replies.Rows = ()
    if any(alert.state == queries.DEAD for alert in found):
        lines += ["", context.text("undelivered-hint")]
        again = replies.Button(context.text("button-send-again"), action=("undelivered", "again"))
        rows = ((again,),)
    context.reply(replies.Reply("\n".join(lines), rows))


def resend_undelivered(context: EventContext, _: replies.Action) -> str:
    """Queue this chat's undelivered alerts again; return the text of the answer."""
    lane = str(context.person.chat_id)
    if alerts.resend(context, lane):
        show_undelivered(context)
    is_waiting = alerts.count_undelivered(context, lane) > 0
    return context.text("toast-sent-again" if is_waiting else "toast-all-delivered")


def _alert_lines(alert: queries.StoredMessage, context: EventContext) -> list[str]:
    zone, language = context.seller.zone, context.seller.language
    at = moments.short_text(alert.created_at, zone, language, with_zone=not zone)
    if alert.state == queries.DEAD:
        why = "undelivered-unclear" if alert.uncertain else "undelivered-refused"
    else:
        is_blocked = "blocked" in (alert.note or "").lower()
        why = "undelivered-blocked" if is_blocked else "undelivered-waiting"
    lines = []
    for group in alert_text.group_payments(alerts.payments_of(alert.body)):
        amount, currency = sum(payment.amount for payment in group), group[0].currency
        line = context.text(
            "undelivered-line",
            at=at,
            amount=replies.money(amount, currency, language),
            name=replies.escaped(group[0].name, _NAME),
            count=len(group),
            why=context.text(why),
        )
        lines.append(line)
    return lines
