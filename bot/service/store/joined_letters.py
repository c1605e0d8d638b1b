"""SQL of letters that report several payments or claims.

Each member's delivery names the leading one, whose message is sent; the others are `joined` in the
outbox until it is settled, so that a lost answer repeats the same letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.outbox import bulk_changes
from bot.core.outbox.queries import QUEUED
from bot.service.store.deliveries import LETTER_PAYLOADS

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.payment_reports import ClaimLetter, LetterReport

MOST = 2000
"""Payments in one letter."""

WAITING = f"""
    SELECT d.id FROM deliveries d JOIN {QUEUED} o ON o.id = d.id
    WHERE d.recipient_id = :recipient AND d.letter IS NULL AND o.state = 'waiting'
"""  # noqa: S608 - our own words
NEWS = f"""{WAITING}
    AND (d.checkout_id IS NULL OR EXISTS (SELECT 1 FROM checkouts c
    WHERE c.id = d.checkout_id AND c.state = 'claimed' AND c.claim_lapses_at > :now))
"""  # noqa: S608 - our own words
"""The same without claims that need no answer any more."""

JOIN = "UPDATE deliveries SET letter = :leader WHERE id IN ({} ORDER BY d.id LIMIT :most)"
JOIN_NEWS, JOIN_ALL = JOIN.format(NEWS), JOIN.format(WAITING)
MEMBERS = "SELECT id FROM deliveries WHERE letter = :leader AND id <> :leader"
BODIES = f"""
    SELECT o.body FROM deliveries d JOIN {QUEUED} o ON o.id = d.id
    WHERE d.letter = :leader AND (d.id = :leader OR o.state = 'joined') ORDER BY d.id
"""  # noqa: S608 - our own words
STRANDED = f"""
    SELECT DISTINCT d.letter AS leader FROM deliveries d JOIN {QUEUED} l ON l.id = d.letter
    WHERE d.id IN (SELECT id FROM {QUEUED} WHERE state = 'joined')
      AND l.state IN ('done', 'dead', 'ended')
"""  # noqa: S608 - our own words


def leader_of(tx: Transaction, delivery_id: str) -> str | None:
    """Return the leader of a delivery's letter, None if it is in no letter yet."""
    row = tx.one("SELECT letter FROM deliveries WHERE id = :id", id=delivery_id)
    return row["letter"] if row else None


def begin_letter(tx: Transaction, delivery_id: str) -> None:
    """Begin a letter with a delivery."""
    tx.execute("UPDATE deliveries SET letter = :id WHERE id = :id", id=delivery_id)


def join_letter(tx: Transaction, leader: str, recipient_id: str, now: int) -> None:
    """Add the deliveries that wait for a recipient to the letter of `leader`.

    Claims that need no answer any more at `now` (epoch ms) stay out of it.
    """
    tx.execute(JOIN_NEWS, leader=leader, recipient=recipient_id, most=MOST, now=now)
    bulk_changes.join_waiting(tx, MEMBERS, leader=leader)


def join_all(tx: Transaction, leader: str, recipient_id: str) -> None:
    """Add every delivery that waits for a recipient, to be settled as `leader` without a letter."""
    tx.execute(JOIN_ALL, leader=leader, recipient=recipient_id, most=MOST)
    bulk_changes.join_waiting(tx, MEMBERS, leader=leader)


def first_waiting(tx: Transaction, recipient_id: str, now: int) -> str | None:
    """Return the first delivery that a letter to a recipient would report at `now` (epoch ms)."""
    row = tx.one(f"{NEWS} ORDER BY d.id LIMIT 1", recipient=recipient_id, now=now)
    return row["id"] if row else None


def reports(tx: Transaction, leader: str) -> list[LetterReport | ClaimLetter]:
    """Return the payments and claims that a letter reports, the earliest first."""
    return [LETTER_PAYLOADS.decode(row["body"]) for row in tx.query(BODIES, leader=leader)]


def settle_members(tx: Transaction, leader: str, state: str, note: str, now: int) -> int:
    """Settle the members of a letter as its leader was; return how many."""
    return bulk_changes.settle_joined(tx, MEMBERS, state, note, now, leader=leader)


def unsettled_leaders(tx: Transaction) -> list[str]:
    """Return settled leaders with members that are not: a worker ended between the two."""
    return [row["leader"] for row in tx.query(STRANDED)]


def postpone(tx: Transaction, recipient_id: str, due_at: int) -> None:
    """Delay the deliveries that wait for a recipient to `due_at`."""
    bulk_changes.postpone(tx, WAITING, due_at, recipient=recipient_id)


def hasten(tx: Transaction, leader: str, recipient_id: str, now: int) -> None:
    """Make a letter due at once, with the deliveries that still wait for its recipient."""
    chosen = f"SELECT :leader UNION ALL {WAITING}"
    bulk_changes.hasten(tx, chosen, now, leader=leader, recipient=recipient_id)


def leave_letter(tx: Transaction, delivery_id: str) -> None:
    """Remove a delivery from its letter, to send it again alone.

    The leader of a letter with joined members stays: they wait for it.
    """
    tx.execute(
        "UPDATE deliveries SET letter = NULL WHERE id = :id AND NOT EXISTS ("  # noqa: S608 - as above
        f"SELECT 1 FROM {QUEUED} o JOIN deliveries d ON d.id = o.id"
        " WHERE d.letter = :id AND o.state = 'joined')",
        id=delivery_id,
    )
