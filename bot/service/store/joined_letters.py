"""SQL of letters that tell several payments: each member's delivery names the one that leads it.

The leader's message is the one that is sent; the others are `joined` in the outbox until it is
settled, so that a lost answer repeats the same letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.store.deliveries import LETTER_PAYLOADS

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.payment_reports import LetterReport

MOST = 2000
"""Payments in one letter."""

WAITING = """
    SELECT d.id FROM deliveries d JOIN outbox o ON o.id = d.id
    WHERE d.recipient_id = :recipient AND d.letter IS NULL AND o.state = 'waiting'
"""
JOIN = f"UPDATE deliveries SET letter = :leader WHERE id IN ({WAITING} ORDER BY d.id LIMIT :most)"  # noqa: S608 - our own words
MEMBERS = "SELECT id FROM deliveries WHERE letter = :leader AND id <> :leader"
PARK = f"UPDATE outbox SET state = 'joined' WHERE state = 'waiting' AND id IN ({MEMBERS})"  # noqa: S608 - our own words
BODIES = """
    SELECT o.body FROM deliveries d JOIN outbox o ON o.id = d.id
    WHERE d.letter = :leader AND (d.id = :leader OR o.state = 'joined') ORDER BY d.id
"""
FOLLOW = (
    "UPDATE outbox SET state = :state, settled_at = :now, note = :note"  # noqa: S608 - our own words
    f" WHERE state = 'joined' AND id IN ({MEMBERS})"
)
STRANDED = """
    SELECT DISTINCT d.letter AS leader FROM deliveries d JOIN outbox l ON l.id = d.letter
    WHERE d.id IN (SELECT id FROM outbox WHERE state = 'joined')
      AND l.state IN ('done', 'dead', 'ended')
"""
POSTPONE = f"UPDATE outbox SET due_at = :due_at WHERE due_at < :due_at AND id IN ({WAITING})"  # noqa: S608 - our own words


def leader_of(tx: Transaction, delivery_id: str) -> str | None:
    """Return the leader of the letter in which a delivery goes; None while that is open."""
    row = tx.one("SELECT letter FROM deliveries WHERE id = :id", id=delivery_id)
    return row["letter"] if row else None


def begin_letter(tx: Transaction, delivery_id: str) -> None:
    """Begin a letter with a delivery."""
    tx.execute("UPDATE deliveries SET letter = :id WHERE id = :id", id=delivery_id)


def join_letter(tx: Transaction, leader: str, recipient_id: str) -> None:
    """Put what waits for a recipient into the letter of `leader`."""
    tx.execute(JOIN, leader=leader, recipient=recipient_id, most=MOST)
    tx.execute(PARK, leader=leader)


def first_waiting(tx: Transaction, recipient_id: str) -> str | None:
    """Return the first delivery that waits for a recipient."""
    row = tx.one(f"{WAITING} ORDER BY d.id LIMIT 1", recipient=recipient_id)
    return row["id"] if row else None


def reports(tx: Transaction, leader: str) -> list[LetterReport]:
    """Return the payments that a letter reports, the earliest first."""
    return [LETTER_PAYLOADS.decode(row["body"]) for row in tx.query(BODIES, leader=leader)]


def settle_members(tx: Transaction, leader: str, state: str, note: str, now: int) -> int:
    """Settle the others of a letter as its leader was; how many."""
    return tx.execute(FOLLOW, leader=leader, state=state, note=note, now=now)


def unsettled_leaders(tx: Transaction) -> list[str]:
    """Return the settled leaders of letters whose others are not: a worker gave them up."""
    return [row["leader"] for row in tx.query(STRANDED)]


def postpone(tx: Transaction, recipient_id: str, due_at: int) -> None:
    """Postpone what waits for a recipient to `due_at`."""
    tx.execute(POSTPONE, recipient=recipient_id, due_at=due_at)


def hasten(tx: Transaction, leader: str, recipient_id: str, now: int) -> None:
    """Make a letter due at once, and what still waits for its recipient."""
    tx.execute(
        f"UPDATE outbox SET due_at = :now WHERE id = :leader OR id IN ({WAITING})",  # noqa: S608 - our own words
        now=now,
        leader=leader,
        recipient=recipient_id,
    )


def leave_letter(tx: Transaction, delivery_id: str) -> None:
    """Take a delivery that is sent anew out of the letter that it was in.

    Not the leader of one that is still to go: the others wait for it.
    """
    tx.execute(
        "UPDATE deliveries SET letter = NULL WHERE id = :id AND NOT EXISTS (SELECT 1 FROM outbox o"
        " JOIN deliveries d ON d.id = o.id WHERE d.letter = :id AND o.state = 'joined')",
        id=delivery_id,
    )
