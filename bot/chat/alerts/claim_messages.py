"""The alerts of claims, and their reminders: the first have a message each, the rest a digest.

A flood of claims is one digest for each link, which sounds after a pause. So no number of claims
silences the next one, and those of one link don't affect another link's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.alerts.delivery import is_quiet
from bot.chat.cards import claim_posts
from bot.chat.messages.payloads import ClaimAlert, ClaimDigest
from bot.chat.store import claims
from bot.chat.times import local_time, zones
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import ALERT

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.chat.model.draft import Seller
    from bot.chat.store.claims import Claim, Digest
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction

REMIND_AFTER = 24 * 3600 * 1000
"""Milliseconds from a claim to its reminder, and from one reminder to the next."""

MOST_REMINDERS = 3
"""Reminders of one claim; after them only `/payments` shows it."""

OWN_MESSAGES, OWN_OF_SELLER = 5, 20
"""Waiting claims with messages of their own, of a link and of all links of a seller: claims cost
nothing, and alerts of money that came would wait behind those of hundreds."""

DIGEST_PAUSE, DOUBTFUL_PAUSE = 5 * 60 * 1000, 60 * 60 * 1000
"""Milliseconds between two sounds of a link's digest; before one for a network's many claims."""

BATCH = 50
"""Claims in one transaction: others wait for it."""


def announce(tx: Transaction, queues: Queues, listing: Listing, claim: Claim, now: int) -> None:
    """Queue the alert of a claim; it makes a sound unless its request's alerts don't.

    Once too many wait, it is in its listing's digest, which sounds again after a pause.
    """
    of_listing, of_seller = claims.count_alone(tx, listing, now)
    if claim.is_doubtful or of_listing >= OWN_MESSAGES or of_seller >= OWN_OF_SELLER:
        pause = DOUBTFUL_PAUSE if claim.is_doubtful else DIGEST_PAUSE
        _sound_digest(tx, queues, listing.id, now, pause)
    else:
        claims.set_alone(tx, claim.id)
        _put_alert(tx, queues, claim, now, is_reminder=False)


def _sound_digest(tx: Transaction, queues: Queues, listing_id: str, now: int, pause: int) -> None:
    """Queue a listing's digest as a new message, after a pause since the one before it.

    Until then that one is edited. One that still waits to be sent will show what waits then.
    """
    digest = claims.find_digest(tx, listing_id)
    if digest.sending:
        return
    due_at = now if digest.sounded_at is None else digest.sounded_at + pause
    if due_at <= now:
        _send_digest(tx, queues, digest, now)
        return
    claims.save_digest(tx, replace(digest, due_at=min(due_at, digest.due_at or due_at)))
    claim_posts.refresh_digest(tx, queues, listing_id, now)


def _send_digest(tx: Transaction, queues: Queues, digest: Digest, now: int) -> None:
    listing, seller = claim_posts.owned(tx, digest.listing_id)
    is_silent = listing.alerts != "on" or is_quiet(seller, now)
    key = outbox.new_id(now)
    body = ClaimDigest(listing.id, seller.language, is_new=True, is_silent=is_silent)
    outbox.put(tx, queues.messages, str(listing.chat_id), body, now, key=key, priority=ALERT)
    claims.save_digest(tx, replace(digest, sounded_at=now, due_at=None, sending=key))


def enqueue_digests(tx: Transaction, queues: Queues, now: int) -> int:
    """Queue the digests due at `now` (epoch ms), at most BATCH; return their number."""
    due = claims.due_digests(tx, now, BATCH)
    for digest in due:
        _send_digest(tx, queues, digest, now)
    return len(due)


def _put_alert(
    tx: Transaction, queues: Queues, claim: Claim, now: int, *, is_reminder: bool
) -> None:
    listing, seller = claim_posts.known(tx, claim)
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
    _, seller = claim_posts.known(tx, claim)
    if not claim.is_waiting(now):
        claims.set_reminder(tx, claim, claim.reminders, None)
        claim_posts.show(tx, queues, claim.id, now)
        return
    if (later := _end_of_quiet_hours(seller, now)) is not None:
        claims.set_reminder(tx, claim, claim.reminders, later)
        return
    number = claim.reminders + 1
    next_at = now + REMIND_AFTER if number < MOST_REMINDERS else claim.lapses_at
    if not claims.set_reminder(tx, claim, number, min(next_at, claim.lapses_at)):
        return
    if claim.alone:
        _put_alert(tx, queues, claim, now, is_reminder=True)
    else:
        _sound_digest(tx, queues, claim.listing_id, now, REMIND_AFTER)


def _end_of_quiet_hours(seller: Seller, now: int) -> int | None:
    """Return when this seller's quiet hours end (epoch ms), None outside of them."""
    if seller.quiet is None or not is_quiet(seller, now):
        return None
    return local_time.next_epoch_at(seller.quiet[1], now, seller.zone or zones.UTC_ZONE)
