"""Delivered and undelivered alerts, and the message at the end of a limited drop.

A payment counts once, however often its alert was sent. When all units of a drop are sold and the
last of its alerts is settled, one message reports the units sold and the alerts delivered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import Alert, TextMessage
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.store import sellers
from bot.chat.store.received_payments import (
    alert_counts,
    count_alerts,
    count_oversold,
    mark_summed_up,
)
from bot.chat.times import local_time, zones
from bot.core.outbox import outbox
from bot.core.outbox.queries import DEAD, WAITING, count_of_lane, newest_of_lane
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import choose, t

if TYPE_CHECKING:
    from bot.chat.messages.payloads import AlertPayment, MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.model.draft import Seller
    from bot.chat.store.listings import Listing
    from bot.chat.store.received_payments import AlertCounts
    from bot.core.database.database import Transaction
    from bot.core.outbox.queries import StoredMessage

MAX_LISTED = 20
"""Messages of each kind that `/alerts` lists; nobody reads more."""

MAX_RESENT = 500
"""Messages that one press sends again, because others wait for the transaction."""

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
    fresh = Counter(one.listing_id for one in payments_of(body) if _counts(one))
    for listing_id, number in fresh.items():
        count_alerts(tx, listing_id, delivered=number)
    announce_ended_drops(tx, queues, body, now)


def payments_of(body: MessagePayload) -> tuple[AlertPayment, ...]:
    """Return the payments that a message is about, () for one that is no alert."""
    return body.payments if isinstance(body, Alert) else ()


def _counts(payment: AlertPayment) -> bool:
    """Check whether an alert counts: not a repetition, nor money that sold nothing."""
    return not (payment.repeated or payment.underpaid)


def announce_ended_drops(tx: Transaction, queues: Queues, body: MessagePayload, now: int) -> None:
    """Queue the end of drops of which a message was the last alert, delivered or given up.

    In the transaction that settles the message.
    """
    drops = [payment.listing_id for payment in payments_of(body) if payment.kind == "drop"]
    for listing_id in dict.fromkeys(drops):
        announce_ended_drop(tx, queues, listing_id, now)


def announce_ended_drop(tx: Transaction, queues: Queues, listing_id: str, now: int) -> None:
    """Queue the end of a drop, once, where all is sold and none of its alerts is under way."""
    account = alert_counts(tx, listing_id)
    if account is None or account.is_summed_up:
        return
    ending = _drop_end(tx, queues, account)
    if ending is None or not mark_summed_up(tx, listing_id):
        return
    listing = account.listing
    seller = sellers.find_seller(tx, listing.seller_id)
    language = seller.language if seller else choose(None)
    reply = _reply(listing, ending, language)
    is_silent = listing.alerts != "on" or is_quiet(seller, now)
    message = TextMessage(reply.text, language, markup(reply.rows), is_silent=is_silent)
    outbox.put(tx, queues.messages, str(listing.chat_id), message, now, priority=ALERT)


def _drop_end(tx: Transaction, queues: Queues, account: AlertCounts) -> DropEnd | None:
    """Return the end of a drop; None while units are left or alerts are under way."""
    listing = account.listing
    paid, units = listing.paid_count, _units_of_drop(listing)
    if units is None or listing.pieces < units:
        return None
    settled = account.delivered + account.muted
    lost = _given_up(tx, queues, listing) if settled < paid else ()
    if settled + len(lost) < paid:
        return None
    oversold, oversold_pieces = count_oversold(tx, listing.id)
    sold = listing.pieces - oversold_pieces
    lost_sold = sum(not payment.oversold for payment in lost)
    return DropEnd(sold, lost_sold, account.muted, oversold) if sold >= units else None


def _units_of_drop(listing: Listing) -> int | None:
    """Return the units of a drop, without those that its seller took out."""
    known = (listing.wish.units, listing.answer.total_units if listing.answer else None)
    return min((units for units in known if units is not None), default=None)


def _given_up(tx: Transaction, queues: Queues, listing: Listing) -> list[AlertPayment]:
    """Return the payments of a listing whose alerts were given up."""
    lost = given_up_payments(tx, queues, str(listing.chat_id))
    return [one for one in lost if one.listing_id == listing.id and _counts(one)]


def _reply(listing: Listing, ending: DropEnd, language: str) -> Reply:
    name = escaped(listing.wish.name, _NAME)
    lines = [t(language, "drop-sold", name=name, sold=ending.sold)]
    if ending.muted:
        lines.append(t(language, "drop-muted", muted=ending.muted))
    if ending.lost:
        lines.append(t(language, "drop-lost", lost=ending.lost))
    if ending.oversold:
        lines.append(t(language, "drop-oversold", oversold=ending.oversold))
    button = Button(t(language, "button-show-card"), action=("card", listing.id))
    return Reply("\n".join(lines), ((button,),))


def is_quiet(seller: Seller | None, now: int) -> bool:
    """Check whether this seller has quiet hours at `now` (epoch ms): no sound, but no delay.

    False while the rules of the zone can't be read: a sound does less harm than a missed alert.
    """
    if seller is None or seller.quiet is None:
        return False
    try:
        return local_time.is_within_hours(now, seller.zone or zones.UTC_ZONE, seller.quiet)
    except (OSError, KeyError):
        return False


def newest_undelivered(tx: Transaction, queues: Queues, lane: str) -> list[StoredMessage]:
    """Return a chat's dead and waiting alerts, newest first, at most MAX_LISTED of each."""
    of_lane = partial(newest_of_lane, tx, queues.messages, lane, ALERT, most=MAX_LISTED)
    found = [*of_lane(DEAD), *of_lane(WAITING)]
    return sorted(found, key=lambda message: message.id, reverse=True)


def count_undelivered(tx: Transaction, queues: Queues, lane: str) -> int:
    """Count the dead and waiting alerts of a chat."""
    return sum(count_of_lane(tx, queues.messages, lane, ALERT, state) for state in (DEAD, WAITING))


def given_up_payments(tx: Transaction, queues: Queues, lane: str) -> list[AlertPayment]:
    """Return the payments of a chat's dead alerts."""
    dead = newest_of_lane(tx, queues.messages, lane, ALERT, DEAD)
    return [payment for message in dead for payment in payments_of(message.body)]


def resend(tx: Transaction, queues: Queues, lane: str, now: int) -> int:
    """Queue the newest MAX_RESENT dead alerts again, in their old order; return their number."""
    dead = newest_of_lane(tx, queues.messages, lane, ALERT, DEAD, most=MAX_RESENT)
    return sum(outbox.revive(tx, queues.messages, one.id, now) for one in reversed(dead))
