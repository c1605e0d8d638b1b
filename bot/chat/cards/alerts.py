"""Alerts of payments and claims: delivered, undelivered or rewritten, and the end of a drop.

A payment counts once, even if its alert was sent several times. When all units of a drop are sold
and its last alert is settled, one message reports the units sold and the alerts delivered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bot.chat.cards import alert_text, claim_cards
from bot.chat.model import drafts, moments, payloads, queues, replies, zones
from bot.chat.store import (
    claim_rows,
    link_rows,
    message_rows,
    payment_marks,
    payment_rows,
    post_rows,
    seller_rows,
)
from bot.core.database import database
from bot.core.outbox import outbox, queries, queue_policy
from bot.core.text import translations
from bot.interface import parts

MAX_LISTED = 20
"""Maximum messages of each kind that `/alerts` lists; nobody reads more."""

MAX_RESENT = 500
"""Maximum messages that one press resends; a limit, because other transactions wait."""

_NAME = 200
"""Maximum UTF-16 units of a request's name."""


def record_delivered(step: queues.ChatStep, body: payloads.MessagePayload) -> None:
    """Count the payments of a delivered message, in the transaction that settles the message."""
    fresh = Counter(one.link_id for one in payments_of(body) if _counts(one))
    for link_id, number in fresh.items():
        payment_rows.count_alerts(step.tx, link_id, delivered=number)
    announce_ended_drops(step, body)


def payments_of(body: payloads.MessagePayload) -> tuple[payloads.AlertPayment, ...]:
    """Return the payments that a message is about; () if it is no alert."""
    return body.payments if isinstance(body, payloads.Alert) else ()


def _counts(payment: payloads.AlertPayment) -> bool:
    """True if the payment's alert counts: it is neither a repetition nor underpaid."""
    return not (payment.repeated or payment.underpaid)


def announce_ended_drops(step: queues.ChatStep, body: payloads.MessagePayload) -> None:
    """Queue the end of each drop whose last alert was this message, delivered or failed.

    Call this in the transaction that settles the message.
    """
    drops = [payment.link_id for payment in payments_of(body) if payment.kind == "drop"]
    for link_id in dict.fromkeys(drops):
        announce_ended_drop(step, link_id)


def announce_ended_drop(step: queues.ChatStep, link_id: str) -> None:
    """Queue the end of a drop, once, if all units are sold and no alerts are pending."""
    account = payment_rows.alert_counts(step.tx, link_id)
    if account is None or account.is_summed_up:
        return
    counts = _counts_at_end(step, account)
    if counts is None or not payment_rows.mark_summed_up(step.tx, link_id):
        return
    link, (sold, lost, oversold) = account.link, counts
    seller = seller_rows.find_seller(step.tx, link.seller_id)
    language = seller.language if seller else translations.choose(None)
    name = replies.escaped(link.spec.name, _NAME)
    lines = [translations.t(language, "drop-sold", name=name, sold=sold)]
    if account.muted:
        lines.append(translations.t(language, "drop-muted", muted=account.muted))
    if lost:
        lines.append(translations.t(language, "drop-lost", lost=lost))
    if oversold:
        lines.append(translations.t(language, "drop-oversold", oversold=oversold))
    keyboard = replies.markup(
        ((replies.text_button(language, "button-show-card", "card", link.id),),)
    )
    is_silent = link.alerts != "on" or is_quiet(seller, step.now)
    message = payloads.TextMessage("\n".join(lines), language, keyboard, is_silent=is_silent)
    queues.put_message(step, str(link.chat_id), message, queue_policy.ALERT)


def _counts_at_end(
    step: queues.ChatStep, account: payment_rows.AlertCounts
) -> tuple[int, int, int] | None:
    """Return the units sold at a drop's end, the lost alerts and the oversold payments.

    None while units are left or alerts are pending.
    """
    link = account.link
    paid = link.paid_count
    known = (link.spec.units, link.answer.total_units if link.answer else None)
    # the smaller number, because the seller may have removed units
    units = min((units for units in known if units is not None), default=None)
    if units is None or link.units_sold < units:
        return None
    settled = account.delivered + account.muted
    lost = []
    if settled < paid:
        given_up = given_up_payments(step, str(link.chat_id))
        lost = [one for one in given_up if one.link_id == link.id and _counts(one)]
    if settled + len(lost) < paid:
        return None
    oversold, oversold_units = payment_rows.count_oversold(step.tx, link.id)
    sold = link.units_sold - oversold_units
    lost_sold = sum(not payment.oversold for payment in lost)
    return (sold, lost_sold, oversold) if sold >= units else None


def is_quiet(seller: drafts.Seller | None, now: int) -> bool:
    """True if this seller has quiet hours at `now` (epoch ms); alerts are silent, not delayed.

    False if the zone's rules can't be read: a sound does less harm than a missed alert.
    """
    if seller is None or seller.quiet is None:
        return False
    try:
        return moments.is_within_hours(now, seller.zone or zones.UTC_ZONE, seller.quiet)
    except (OSError, KeyError):
        return False


def newest_undelivered(step: queues.ChatStep, lane: str) -> list[queries.StoredMessage]:
    """Return a chat's dead and waiting alerts, newest first, at most MAX_LISTED of each."""
    found = _of_lane(step, lane, queries.DEAD, MAX_LISTED)
    found += _of_lane(step, lane, queries.WAITING, MAX_LISTED)
    return sorted(found, key=lambda message: message.id, reverse=True)


def _of_lane(
    step: queues.ChatStep, lane: str, state: str, most: int = queries.EVERY
) -> list[queries.StoredMessage]:
    """Return the newest alerts of a chat in a state."""
    queue, priority = step.queues.messages, queue_policy.ALERT
    return queries.newest_of_lane(step.tx, queue, lane, priority, state, most=most)


def count_undelivered(step: queues.ChatStep, lane: str) -> int:
    """Count the dead and waiting alerts of a chat."""
    return sum(
        queries.count_of_lane(step.tx, step.queues.messages, lane, queue_policy.ALERT, state)
        for state in (queries.DEAD, queries.WAITING)
    )


def given_up_payments(step: queues.ChatStep, lane: str) -> list[payloads.AlertPayment]:
    """Return the payments of a chat's dead alerts."""
    dead = _of_lane(step, lane, queries.DEAD)
    return [payment for message in dead for payment in payments_of(message.body)]


def resend(step: queues.ChatStep, lane: str) -> int:
    """Requeue the newest MAX_RESENT dead alerts in their old order; return their number."""
    dead, queue = _of_lane(step, lane, queries.DEAD, MAX_RESENT), step.queues.messages
    return sum(outbox.revive(step.tx, queue, one.id, step.now) for one in reversed(dead))


def has_words(alert: payloads.Alert) -> bool:
    """True if an alert shows what a payer wrote."""
    return any(payment.words for payment in alert.payments)


def current_alert(tx: database.Transaction, alert: payloads.Alert) -> payloads.Alert:
    """Return an alert without the words that the seller has hidden."""
    return replace(
        alert,
        payments=tuple(
            replace(one, words=parts.NO_WORDS)
            if one.words and message_rows.is_hidden(tx, one)
            else one
            for one in alert.payments
        ),
    )


def record_sent(
    step: queues.ChatStep, place: post_rows.MessagePlace, alert: payloads.Alert
) -> None:
    """Store a sent alert if it shows words; edit it if they were hidden during sending."""
    if not has_words(alert):
        return
    message_rows.save_alert(step.tx, place, alert, step.now)
    shown = current_alert(step.tx, alert)
    if shown != alert:
        _put(step, place, shown)


def rewrite_alert(
    step: queues.ChatStep, found: payment_marks.FoundPayment, tapped: post_rows.MessagePlace | None
) -> bool:
    """Rewrite the alerts of a payment, including the tapped message.

    Return True if the tapped message is such an alert.
    """
    message_id = message_rows.message_of(step.tx, *found.ids)
    places = [] if tapped is None else [tapped]
    if message_id is not None:
        lane = str(link_rows.get_link(step.tx, found.link_id).chat_id)
        places.append(post_rows.MessagePlace(lane, message_id))
    is_tapped_written = False
    for place in dict.fromkeys(places):
        alert = message_rows.find_alert(step.tx, place)
        # another message may have this id, because a new bot reuses ids
        if alert and any(
            (one.link_id, one.transaction_id) == (found.link_id, found.ids[1])
            for one in alert.payments
        ):
            _put(step, place, current_alert(step.tx, alert))
            is_tapped_written |= place == tapped
    return is_tapped_written


def _put(step: queues.ChatStep, place: post_rows.MessagePlace, alert: payloads.Alert) -> None:
    reply = alert_text.alert_reply(alert.payments, alert.language)
    keyboard, place_id = replies.markup(reply.rows), place.message_id
    message = payloads.TextMessage(reply.text, alert.language, keyboard, place_id)
    queues.put_message(step, place.lane, message, queue_policy.REPLY)


# Claims. The first claims of a link have separate messages, the others are in the link's digest: a
# flood of claims becomes one message, which sounds again after a pause. So many claims never
# silence new claims, nor do they affect other links.


REMIND_AFTER = 24 * 3600 * 1000
"""Milliseconds from a claim to its reminder, and from one reminder to the next."""

OWN_MESSAGES, OWN_OF_SELLER = 5, 20
"""Maximum waiting claims with separate messages, per link and per seller: claims cost nothing, and
payment alerts would have to wait behind hundreds of them."""

DIGEST_PAUSE, DOUBTFUL_PAUSE = 5 * 60 * 1000, 60 * 60 * 1000
"""Milliseconds between two sounds of a link's digest, for normal and for doubtful claims."""


def announce_claim(
    step: queues.ChatStep, link: link_rows.PaymentLink, claim: claim_rows.Claim
) -> None:
    """Queue the alert of a claim, with sound unless the request's alerts are silent.

    If too many claims are waiting, the claim goes into its link's digest instead, which sounds
    again after a pause.
    """
    of_link, of_seller = claim_rows.count_alone(step.tx, link, step.now)
    if claim.is_doubtful or of_link >= OWN_MESSAGES or of_seller >= OWN_OF_SELLER:
        pause = DOUBTFUL_PAUSE if claim.is_doubtful else DIGEST_PAUSE
        sound_digest(step, link.id, pause)
    else:
        claim_rows.set_alone(step.tx, claim.id)
        put_claim_alert(step, claim)


def sound_digest(step: queues.ChatStep, link_id: str, pause: int) -> None:
    """Queue a link's digest as a new message, with a pause after the previous one.

    During the pause the previous message is edited. If a new message is already queued, nothing is
    needed: its content is read when it is sent.
    """
    digest = claim_rows.find_digest(step.tx, link_id)
    if digest.sending:
        return
    due_at = step.now if digest.sounded_at is None else digest.sounded_at + pause
    if due_at <= step.now:
        send_digest(step, digest)
        return
    claim_rows.save_digest(step.tx, replace(digest, due_at=min(due_at, digest.due_at or due_at)))
    claim_cards.refresh_digest(step, link_id)


def send_digest(step: queues.ChatStep, digest: claim_rows.Digest) -> None:
    """Queue a link's digest as a new message, silent in quiet hours."""
    link, seller = claim_cards.link_and_seller(step.tx, digest.link_id)
    is_silent = link.alerts != "on" or is_quiet(seller, step.now)
    key = outbox.new_id(step.now)
    body = payloads.ClaimDigest(link.id, seller.language, is_new=True, is_silent=is_silent)
    queues.put_message(step, str(link.chat_id), body, queue_policy.ALERT, key=key)
    claim_rows.save_digest(step.tx, replace(digest, sounded_at=step.now, due_at=None, sending=key))


def put_claim_alert(
    step: queues.ChatStep, claim: claim_rows.Claim, *, is_reminder: bool = False
) -> None:
    """Queue the separate message of a claim, silent in quiet hours."""
    link, seller = claim_cards.link_and_seller(step.tx, claim.link_id)
    is_silent = link.alerts != "on" or is_quiet(seller, step.now)
    alert = payloads.ClaimAlert(
        claim.id, seller.language, is_silent=is_silent, is_reminder=is_reminder
    )
    queues.put_message(step, str(link.chat_id), alert, queue_policy.ALERT)
