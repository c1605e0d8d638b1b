"""What became of alerts: how many were delivered, and the line at the end of a drop.

A payment counts once, however often it was told. When all that a drop had is sold and the last of
its alerts has come to its end, one line says how many were sold and how many alerts delivered.
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
from bot.core.outbox import lanes, outbox
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
    """How a drop ended: units sold, and how many of their alerts were lost or not wished for.

    `oversold` counts payments that came when nothing was left.
    """

    sold: int
    lost: int
    muted: int
    oversold: int


def record_delivered(tx: Transaction, queues: Queues, body: MessagePayload, now: int) -> None:
    """Count what a message told that Telegram took, in the transaction that settles it."""
    payments = _payments(body)
    fresh = Counter(payment.listing_id for payment in payments if not payment.repeated)
    for listing_id, number in fresh.items():
        add_delivered(tx, listing_id, number)
    _settle_all(tx, queues, payments, now)


def record_buried(tx: Transaction, queues: Queues, body: MessagePayload, now: int) -> None:
    """Take note of a message that was given up, in the transaction that buries it, after that."""
    _settle_all(tx, queues, _payments(body), now)


def _payments(body: MessagePayload) -> tuple[AlertPayment, ...]:
    return body.payments if isinstance(body, Alert) else ()


def _settle_all(
    tx: Transaction, queues: Queues, payments: Sequence[AlertPayment], now: int
) -> None:
    drops = dict.fromkeys(payment.listing_id for payment in payments if payment.kind == "drop")
    for listing_id in drops:
        announce_ended_drop(tx, queues, listing_id, now)


def announce_ended_drop(tx: Transaction, queues: Queues, listing_id: str, now: int) -> None:
    """Say that a drop is over, once, where all is sold and no alert of it is under way."""
    account = stored_payments.alert_counts(tx, listing_id)
    if account is None or account.is_summed_up:
        return
    ending = _ending(tx, queues, account)
    if ending is None or not mark_summed_up(tx, listing_id):
        return
    listing = account.listing
    seller = sellers.find_seller(tx, listing.seller_id)
    language = seller.language if seller else choose(None)
    line = _line(listing, ending, language)
    is_silent = listing.alerts != "on" or quiet_hours.is_quiet(seller, now)
    message = TextMessage(line.text, language, markup(line.rows), is_silent=is_silent)
    outbox.put(tx, queues.messages, str(listing.chat_id), message, now, priority=lanes.ALERT)


def _ending(tx: Transaction, queues: Queues, account: AlertCounts) -> DropEnd | None:
    """Give how a drop ended; None while units are left or alerts are under way."""
    listing = account.listing
    paid, units = listing.paid_count, _units(listing)
    if units is None or paid < units:
        return None
    lost = _lost(tx, queues, listing) if account.told + account.muted < paid else ()
    if account.told + account.muted + len(lost) < paid:
        return None
    oversold = count_oversold(tx, listing.id)
    sold = paid - oversold
    lost_sold = sum(not payment.oversold for payment in lost)
    return DropEnd(sold, lost_sold, account.muted, oversold) if sold >= units else None


def _units(listing: Listing) -> int | None:
    """How many units a drop has: fewer by now where some were taken out."""
    known = (listing.wish.units, listing.answer.total_units if listing.answer else None)
    return min((units for units in known if units is not None), default=None)


def _lost(tx: Transaction, queues: Queues, listing: Listing) -> list[AlertPayment]:
    """Give the payments of a listing whose alerts were given up."""
    lost = undelivered.given_up_payments(tx, queues, str(listing.chat_id))
    return [one for one in lost if one.listing_id == listing.id and not one.repeated]


def _line(listing: Listing, ending: DropEnd, language: str) -> Reply:
    name = escaped(listing.wish.name, _NAME)
    sold, told = ending.sold, ending.sold - ending.lost - ending.muted
    key = "drop-told" if told == sold else "drop-sold"
    lines = [t(language, key, name=name, sold=sold, told=told)]
    if ending.muted:
        lines.append(t(language, "drop-muted", muted=ending.muted))
    if ending.lost:
        lines.append(t(language, "drop-lost", lost=ending.lost))
    if ending.oversold:
        lines.append(t(language, "drop-oversold", oversold=ending.oversold))
    button = Button(t(language, "button-show-card"), action=("card", listing.id))
    return Reply("\n".join(lines), ((button,),))
