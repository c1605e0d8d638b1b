"""Alerts and reminders of claims: the first claims have separate messages, the others a digest.

A flood of claims becomes one digest per link, which sounds again after a pause. Many claims
therefore never silence new claims, nor do they affect other links.
"""

from __future__ import annotations

from dataclasses import replace

from bot.chat.alerts import delivery
from bot.chat.cards import claim_cards
from bot.chat.model import moments, payloads, queues, zones
from bot.chat.store import claim_rows, link_rows
from bot.core.database import database
from bot.core.outbox import outbox, queue_policy

REMIND_AFTER = 24 * 3600 * 1000
"""Milliseconds from a claim to its reminder, and from one reminder to the next."""

MOST_REMINDERS = 3
"""Maximum reminders of one claim; after that only `/payments` shows the claim."""

OWN_MESSAGES, OWN_OF_SELLER = 5, 20
"""Maximum waiting claims with separate messages, per link and per seller: claims cost nothing, and
payment alerts would have to wait behind hundreds of them."""

DIGEST_PAUSE, DOUBTFUL_PAUSE = 5 * 60 * 1000, 60 * 60 * 1000
"""Milliseconds between two sounds of a link's digest, for normal and for doubtful claims."""

BATCH = 50
"""Claims in one transaction; a limit, because other transactions wait."""


def announce(
    tx: database.Transaction,
    queues: queues.Queues,
    link: link_rows.PaymentLink,
    claim: claim_rows.Claim,
    now: int,
) -> None:
    """Queue the alert of a claim, with sound unless the request's alerts are silent.

    If too many claims are waiting, the claim goes into its link's digest instead, which sounds
    again after a pause.
    """
    of_link, of_seller = claim_rows.count_alone(tx, link, now)
    if claim.is_doubtful or of_link >= OWN_MESSAGES or of_seller >= OWN_OF_SELLER:
        pause = DOUBTFUL_PAUSE if claim.is_doubtful else DIGEST_PAUSE
        _sound_digest(tx, queues, link.id, now, pause)
    else:
        claim_rows.set_alone(tx, claim.id)
        _put_alert(tx, queues, claim, now, is_reminder=False)


def _sound_digest(
    tx: database.Transaction, queues: queues.Queues, link_id: str, now: int, pause: int
) -> None:
    """Queue a link's digest as a new message, with a pause after the previous one.

    During the pause the previous message is edited. If a new message is already queued, nothing is
    needed: its content is read when it is sent.
    """
    digest = claim_rows.find_digest(tx, link_id)
    if digest.sending:
        return
    due_at = now if digest.sounded_at is None else digest.sounded_at + pause
    if due_at <= now:
        _send_digest(tx, queues, digest, now)
        return
    claim_rows.save_digest(tx, replace(digest, due_at=min(due_at, digest.due_at or due_at)))
    claim_cards.refresh_digest(tx, queues, link_id, now)


def _send_digest(
    tx: database.Transaction, queues: queues.Queues, digest: claim_rows.Digest, now: int
) -> None:
    link, seller = claim_cards.owned_claim(tx, digest.link_id)
    is_silent = link.alerts != "on" or delivery.is_quiet(seller, now)
    key = outbox.new_id(now)
    body = payloads.ClaimDigest(link.id, seller.language, is_new=True, is_silent=is_silent)
    outbox.put(
        tx, queues.messages, str(link.chat_id), body, now, key=key, priority=queue_policy.ALERT
    )
    claim_rows.save_digest(tx, replace(digest, sounded_at=now, due_at=None, sending=key))


def enqueue_digests(tx: database.Transaction, queues: queues.Queues, now: int) -> int:
    """Queue the digests due at `now` (epoch ms), at most BATCH; return their number."""
    due = claim_rows.due_digests(tx, now, BATCH)
    for digest in due:
        _send_digest(tx, queues, digest, now)
    return len(due)


def _put_alert(
    tx: database.Transaction,
    queues: queues.Queues,
    claim: claim_rows.Claim,
    now: int,
    *,
    is_reminder: bool,
) -> None:
    link, seller = claim_cards.link_and_seller(tx, claim)
    is_silent = link.alerts != "on" or delivery.is_quiet(seller, now)
    alert = payloads.ClaimAlert(
        claim.id, seller.language, is_silent=is_silent, is_reminder=is_reminder
    )
    outbox.put(tx, queues.messages, str(link.chat_id), alert, now, priority=queue_policy.ALERT)


def enqueue_reminders(tx: database.Transaction, queues: queues.Queues, now: int) -> int:
    """Queue the reminders due at `now` (epoch ms), at most BATCH; return the number of claims.

    In quiet hours reminders wait until the end; lapsed claims get none.
    """
    due = claim_rows.due_claims(tx, now, BATCH)
    for claim in due:
        _remind(tx, queues, claim, now)
    return len(due)


def _remind(
    tx: database.Transaction, queues: queues.Queues, claim: claim_rows.Claim, now: int
) -> None:
    _, seller = claim_cards.link_and_seller(tx, claim)
    if not claim.is_waiting(now):
        claim_rows.set_reminder(tx, claim, claim.reminders, None)
        claim_cards.show_claim(tx, queues, claim.id, now)
        return
    if seller.quiet is not None and delivery.is_quiet(seller, now):
        later = moments.next_epoch_at(seller.quiet[1], now, seller.zone or zones.UTC_ZONE)
        claim_rows.set_reminder(tx, claim, claim.reminders, later)
        return
    number = claim.reminders + 1
    next_at = now + REMIND_AFTER if number < MOST_REMINDERS else claim.lapses_at
    if not claim_rows.set_reminder(tx, claim, number, min(next_at, claim.lapses_at)):
        return
    if claim.alone:
        _put_alert(tx, queues, claim, now, is_reminder=True)
    else:
        _sound_digest(tx, queues, claim.link_id, now, REMIND_AFTER)
