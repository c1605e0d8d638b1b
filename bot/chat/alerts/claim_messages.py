"""The alert of each claim, and its reminders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.alerts.delivery import is_quiet
from bot.chat.cards.claim_posts import known
from bot.chat.messages.payloads import ClaimAlert, new_message
from bot.chat.messages.reply import Reply
from bot.chat.store import claims
from bot.chat.times import local_time, zones
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.chat.model.draft import Seller
    from bot.chat.store.claims import Claim
    from bot.core.database.database import Transaction

REMIND_AFTER = 24 * 3600 * 1000
"""Milliseconds from a claim to its reminder, and from one reminder to the next."""

MOST_REMINDERS = 3
"""Reminders of one claim; after them only `/payments` shows it."""

MOST_ALERTS = 20
"""Waiting claims of a seller that have alerts of their own: a claim costs its payer nothing, and
alerts of money that came would wait behind those of hundreds."""

BATCH = 50
"""Claims in one transaction: others wait for it."""


def announce(tx: Transaction, queues: Queues, claim: Claim, now: int) -> None:
    """Queue the alert of a claim; it makes a sound unless its request's alerts don't.

    Once too many wait for the seller, a single message says so.
    """
    waiting = len(claims.waiting_claims(tx, claim.seller_id, now, MOST_ALERTS + 2))
    if waiting <= MOST_ALERTS:
        _put_alert(tx, queues, claim, now, is_reminder=False)
    elif waiting == MOST_ALERTS + 1:
        listing, seller = known(tx, claim)
        words = t(seller.language, "claims-many", number=MOST_ALERTS)
        note = new_message(Reply(words), seller.language)
        outbox.put(tx, queues.messages, str(listing.chat_id), note, now, priority=ALERT)


def _put_alert(
    tx: Transaction, queues: Queues, claim: Claim, now: int, *, is_reminder: bool
) -> None:
    listing, seller = known(tx, claim)
    is_silent = listing.alerts != "on" or is_quiet(seller, now)
    alert = ClaimAlert(claim.id, seller.language, is_silent=is_silent, is_reminder=is_reminder)
    outbox.put(tx, queues.messages, str(listing.chat_id), alert, now, priority=ALERT)


def enqueue_reminders(tx: Transaction, queues: Queues, now: int) -> int:
    """Queue the reminders due at `now` (epoch ms), at most BATCH; return the number of claims.

    In quiet hours a reminder waits for their end; a claim that has lapsed gets none.
    """
    due = claims.due_claims(tx, now, BATCH)
    for claim in due:
        _remind(tx, queues, claim, now)
    return len(due)


def _remind(tx: Transaction, queues: Queues, claim: Claim, now: int) -> None:
    _, seller = known(tx, claim)
    if not claim.is_waiting(now):
        claims.set_reminder(tx, claim, claim.reminders, None)
        return
    if (later := _end_of_quiet_hours(seller, now)) is not None:
        claims.set_reminder(tx, claim, claim.reminders, later)
        return
    number = claim.reminders + 1
    next_at = now + REMIND_AFTER if number < MOST_REMINDERS else None
    first = claims.waiting_claims(tx, claim.seller_id, now, MOST_ALERTS)
    is_shown = claim.id in {one.id for one in first}
    if claims.set_reminder(tx, claim, number, next_at) and is_shown:
        _put_alert(tx, queues, claim, now, is_reminder=True)


def _end_of_quiet_hours(seller: Seller, now: int) -> int | None:
    """Return when this seller's quiet hours end (epoch ms), None outside of them."""
    if seller.quiet is None or not is_quiet(seller, now):
        return None
    return local_time.next_epoch_at(seller.quiet[1], now, seller.zone or zones.UTC_ZONE)
