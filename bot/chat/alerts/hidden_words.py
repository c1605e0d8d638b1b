"""Alerts whose words of payers may be hidden: their messages are written again without them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.alerts.alert_text import alert_reply
from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import TextMessage
from bot.chat.model.payer_words import NO_WORDS
from bot.chat.store import listings, sent_alerts
from bot.chat.store.posts import MessagePlace
from bot.core.outbox import outbox

if TYPE_CHECKING:
    from bot.chat.messages.payloads import Alert
    from bot.chat.messages.queues import Queues
    from bot.chat.store.payment_search import FoundPayment
    from bot.core.database.database import Transaction


def has_words(alert: Alert) -> bool:
    """Return whether an alert shows what a payer wrote."""
    return any(payment.words for payment in alert.payments)


def current(tx: Transaction, alert: Alert) -> Alert:
    """Return an alert without the words that its seller has hidden."""
    return replace(
        alert,
        payments=tuple(
            replace(one, words=NO_WORDS) if one.words and sent_alerts.is_hidden(tx, one) else one
            for one in alert.payments
        ),
    )


def record_sent(
    tx: Transaction, queues: Queues, place: MessagePlace, alert: Alert, now: int
) -> None:
    """Store a sent alert that shows words; edit it if they were hidden while it was being sent."""
    if not has_words(alert):
        return
    sent_alerts.save(tx, place, alert, now)
    shown = current(tx, alert)
    if shown != alert:
        _put(tx, queues, place, shown, now)


def rewrite(
    tx: Transaction, queues: Queues, found: FoundPayment, tapped: MessagePlace | None, now: int
) -> bool:
    """Write the alerts of a payment again, in the tapped message too.

    Return whether the tapped message is one of them.
    """
    message_id = sent_alerts.message_of(tx, *found.ids)
    places = [] if tapped is None else [tapped]
    if message_id is not None:
        lane = str(listings.get_listing(tx, found.listing_id).chat_id)
        places.append(MessagePlace(lane, message_id))
    written = [place for place in dict.fromkeys(places) if _rewrite(tx, queues, found, place, now)]
    return tapped in written


def _rewrite(
    tx: Transaction, queues: Queues, found: FoundPayment, place: MessagePlace, now: int
) -> bool:
    """Write an alert again; False if it isn't about the payment: a new bot reuses message_ids."""
    alert = sent_alerts.find(tx, place)
    ids = (found.listing_id, found.ids[1])
    if alert is None or ids not in {(one.listing_id, one.transaction_id) for one in alert.payments}:
        return False
    _put(tx, queues, place, current(tx, alert), now)
    return True


def _put(tx: Transaction, queues: Queues, place: MessagePlace, alert: Alert, now: int) -> None:
    reply = alert_reply(alert.payments, alert.language)
    keyboard, place_id = markup(reply.rows), place.message_id
    message = TextMessage(reply.text, alert.language, keyboard, place_id)
    outbox.put(tx, queues.messages, place.lane, message, now)
