"""SQL of the seller's marks on payments, and of the sum that they change."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from bot.service.store import unit_moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Transaction
    from bot.service.model.request import Marks, Payment

WRITE = """
    UPDATE payments SET message_hidden = :message_hidden, sent_at = :sent_at,
      sent_note = :sent_note, paid_back_at = :paid_back_at, paid_back_note = :paid_back_note
    WHERE id = :id
"""
HIDDEN = "SELECT id FROM payments WHERE message_hidden = 1 AND id IN ({ids})"


def write(tx: Transaction, payment: Payment, marks: Marks) -> None:
    """Store the marks of a payment; what is paid back is not raised any more.

    The request is locked, so that the marks of `payment` are those stored.
    """
    fields = asdict(marks) | {"message_hidden": int(marks.message_hidden)}
    tx.execute(WRITE, id=payment.id, **fields)
    was, is_back = payment.marks.paid_back_at is not None, marks.paid_back_at is not None
    if was != is_back:
        unit_moves.count_raised(tx, payment, back=is_back)


def hidden(tx: Transaction, payment_ids: Sequence[str]) -> set[str]:
    """Return those of the payments whose words their seller has hidden."""
    given = {f"id{place}": one for place, one in enumerate(payment_ids)}
    if not given:
        return set()
    sql = HIDDEN.format(ids=", ".join(f":{name}" for name in given))
    return {row["id"] for row in tx.query(sql, **given)}
