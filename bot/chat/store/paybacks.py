"""SQL of payments that their seller paid back: the seller's word, with its time and a note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.store.takings import OVERSOLD, PAID_BACK, UNDERPAID, add_amount

if TYPE_CHECKING:
    from bot.chat.store.payment_search import FoundPayment
    from bot.core.database.database import Transaction

OF_PAYMENT = "WHERE request_id = :request AND transaction_id = :transaction"
MARK = (
    "UPDATE received_payments SET paid_back_at = :now"  # noqa: S608 - our own words
    f" {OF_PAYMENT} AND paid_back_at IS NULL"
)
UNMARK = (
    "UPDATE received_payments SET paid_back_at = NULL, paid_back_note = NULL"  # noqa: S608 - our own words
    f" {OF_PAYMENT} AND paid_back_at IS NOT NULL"
)
NOTE = (
    "UPDATE received_payments SET paid_back_note = :note"  # noqa: S608 - our own words
    f" {OF_PAYMENT} AND paid_back_at IS NOT NULL"
)
OF_CHECKOUT = (
    "SELECT 1 AS one FROM received_payments"
    " WHERE checkout_id = :checkout AND paid_back_at IS NOT NULL LIMIT 1"
)


def mark_paid_back(tx: Transaction, found: FoundPayment, now: int) -> bool:
    """Store that a payment was paid back at `now` (epoch ms); return False if it was before."""
    if not tx.execute(MARK, **_ids(found), now=now):
        return False
    _count(tx, found, 1)
    return True


def unmark_paid_back(tx: Transaction, found: FoundPayment) -> bool:
    """Store that a payment was not paid back after all; return False if it was not."""
    if not tx.execute(UNMARK, **_ids(found)):
        return False
    _count(tx, found, -1)
    return True


def is_paid_back(tx: Transaction, checkout_id: str) -> bool:
    """Check whether a payment of a checkout was paid back."""
    return tx.one(OF_CHECKOUT, checkout=checkout_id) is not None


def save_note(tx: Transaction, found: FoundPayment, note: str) -> bool:
    """Store the seller's note; return False if the payment is not paid back any more."""
    return bool(tx.execute(NOTE, **_ids(found), note=note))


def _count(tx: Transaction, found: FoundPayment, number: int) -> None:
    """Add a payment to what was paid back of its listing's takings, or remove it (-1)."""
    payment = found.payment
    settlement = UNDERPAID if payment.underpaid else OVERSOLD * payment.oversold
    amount = payment.amount, payment.currency
    add_amount(tx, found.listing_id, amount, settlement + PAID_BACK, number)


def _ids(found: FoundPayment) -> dict[str, object]:
    request_id, transaction_id = found.ids
    return {"request": request_id, "transaction": transaction_id}
