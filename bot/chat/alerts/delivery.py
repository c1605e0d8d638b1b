"""Delivered alerts, counted, and the message at the end of a limited drop.

A payment counts once, however often its alert was sent. When all units of a drop are sold and the
last of its alerts is settled, one message reports the units sold and the alerts delivered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.alerts import quiet_hours, undelivered
from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import Alert, TextMessage
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.store import received_payments as stored_payments
from bot.chat.store import sellers
from bot.chat.store.received_payments import add_delivered, count_oversold, mark_summed_up
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import choose, t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.payloads import AlertPayment, MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.store.listings import Listing
    from bot.chat.store.received_payments import AlertCounts
    from bot.core.database.database import Transaction

_NAME = 200
"""UTF-16 units of a request's name."""


@dataclass(frozen=True, slots=True)
class DropEnd:
    """The end of a drop: units sold, and their alerts that were given up or switched off.

    `oversold` counts payments that came when no unit was left.
    """

    sold: int
    lost: int
    muted: int
    oversold: int


def record_delivered(tx: Transaction, queues: Queues, body: MessagePayload, now: int) -> None:
    """Count the payments of a delivered message, in the transaction that settles it."""
    payments = _payments(body)
    fresh = Counter(payment.listing_id for payment in payments if not payment.repeated)
    for listing_id, number in fresh.items():
        add_delivered(tx, listing_id, number)
    _announce_ended_drops(tx, queues, payments, now)


def record_buried(tx: Transaction, queues: Queues, body: MessagePayload, now: int) -> None:
    """Queue the end of drops whose last alert was given up, in the transaction that buried it."""
    _announce_ended_drops(tx, queues, _payments(body), now)


def _payments(body: MessagePayload) -> tuple[AlertPayment, ...]:
    return body.payments if isinstance(body, Alert) else ()


def _announce_ended_drops(
    tx: Transaction, queues: Queues, payments: Sequence[AlertPayment], now: int
) -> None:
    drops = dict.fromkeys(payment.listing_id for payment in payments if payment.kind == "drop")
    for listing_id in drops:
        announce_ended_drop(tx, queues, listing_id, now)


def announce_ended_drop(tx: Transaction, queues: Queues, listing_id: str, now: int) -> None:
    """Queue the end of a drop, once, where all is sold and none of its alerts is under way."""
    account = stored_payments.alert_counts(tx, listing_id)
    if account is None or account.is_summed_up:
        return
    ending = _drop_end(tx, queues, account)
    if ending is None or not mark_summed_up(tx, listing_id):
        return
    listing = account.listing
    seller = sellers.find_seller(tx, listing.seller_id)
    language = seller.language if seller else choose(None)
    reply = _reply(listing, ending, language)
    is_silent = listing.alerts != "on" or quiet_hours.is_quiet(seller, now)
    message = TextMessage(reply.text, language, markup(reply.rows), is_silent=is_silent)
    outbox.put(tx, queues.messages, str(listing.chat_id), message, now, priority=ALERT)


def _drop_end(tx: Transaction, queues: Queues, account: AlertCounts) -> DropEnd | None:
    """Return the end of a drop; None while units are left or alerts are under way."""
    listing = account.listing
    paid, units = listing.paid_count, _units_of_drop(listing)
    if units is None or paid < units:
        return None
    lost = _given_up(tx, queues, listing) if account.delivered + account.muted < paid else ()
    if account.delivered + account.muted + len(lost) < paid:
        return None
    oversold = count_oversold(tx, listing.id)
    sold = paid - oversold
    lost_sold = sum(not payment.oversold for payment in lost)
    return DropEnd(sold, lost_sold, account.muted, oversold) if sold >= units else None


def _units_of_drop(listing: Listing) -> int | None:
    """Return the units of a drop, without those that its seller took out."""
    known = (listing.wish.units, listing.answer.total_units if listing.answer else None)
    return min((units for units in known if units is not None), default=None)


def _given_up(tx: Transaction, queues: Queues, listing: Listing) -> list[AlertPayment]:
    """Return the payments of a listing whose alerts were given up."""
    lost = undelivered.given_up_payments(tx, queues, str(listing.chat_id))
    return [one for one in lost if one.listing_id == listing.id and not one.repeated]


def _reply(listing: Listing, ending: DropEnd, language: str) -> Reply:
    name = escaped(listing.wish.name, _NAME)
    sold, delivered = ending.sold, ending.sold - ending.lost - ending.muted
    key = "drop-told" if delivered == sold else "drop-sold"
    lines = [t(language, key, name=name, sold=sold, told=delivered)]
    if ending.muted:
        lines.append(t(language, "drop-muted", muted=ending.muted))
    if ending.lost:
        lines.append(t(language, "drop-lost", lost=ending.lost))
    if ending.oversold:
        lines.append(t(language, "drop-oversold", oversold=ending.oversold))
    button = Button(t(language, "button-show-card"), action=("card", listing.id))
    return Reply("\n".join(lines), ((button,),))
