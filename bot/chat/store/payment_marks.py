"""SQL of a seller's marks on payments: sent, paid back, and words that are hidden.

"Paid back" is the seller's word, with its time and a note; so is "sent".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.model.payment_marks import PAID_BACK, SENT, PaymentMarks
from bot.chat.store import takings
from bot.chat.store.queries import read_marks
from bot.chat.store.takings import OVERSOLD, UNDERPAID, Money

if TYPE_CHECKING:
    from bot.chat.store.payment_search import FoundPayment
    from bot.core.database.database import Transaction

OF_PAYMENT = "WHERE request_id = :request AND transaction_id = :transaction"
_COLUMNS = {SENT: "sent", PAID_BACK: "paid_back"}
_SET = (
    "UPDATE received_payments SET {name}_at = :now"
    " WHERE request_id = :request AND transaction_id = :transaction AND {name}_at IS NULL"
)
_UNSET = (
    "UPDATE received_payments SET {name}_at = NULL, {name}_note = NULL, {name}_told = 0"
    " WHERE request_id = :request AND transaction_id = :transaction AND {name}_at IS NOT NULL"
)
_TOLD = (
    "UPDATE received_payments SET {name}_told = 1"
    " WHERE request_id = :request AND transaction_id = :transaction"
    " AND {name}_at = :at AND {name}_told = 0 AND COALESCE({name}_note, '') = :note"
)
_NOTE = (
    "UPDATE received_payments SET {name}_note = :note, {name}_told = 0"
    " WHERE request_id = :request AND transaction_id = :transaction AND {name}_at IS NOT NULL"
)
HIDE = (
    "UPDATE received_payments SET message_hidden = :hidden"  # noqa: S608 - our own words
    f" {OF_PAYMENT} AND message_hidden <> :hidden"
    " AND COALESCE(payer_name, message) IS NOT NULL"
)
OF_CHECKOUT = (
    "SELECT 1 AS one FROM received_payments"
    " WHERE checkout_id = :checkout AND paid_back_at IS NOT NULL LIMIT 1"
)
MARKS = (
    "SELECT sent_at, sent_note, paid_back_at, paid_back_note, message_hidden"  # noqa: S608 - as above
    f" FROM received_payments {OF_PAYMENT}"
)


def find_marks(tx: Transaction, request_id: str, transaction_id: str) -> PaymentMarks | None:
    """Return the marks of a payment, None if there is no such payment."""
    row = tx.one(MARKS, request=request_id, transaction=transaction_id)
    return read_marks(row) if row else None


def set_mark(tx: Transaction, found: FoundPayment, mark: str, now: int) -> bool:
    """Store a mark of NOTED at `now` (epoch ms); return False if the payment had it before."""
    if not tx.execute(_SET.format(name=_COLUMNS[mark]), **_ids(found), now=now):
        return False
    if mark == PAID_BACK:
        _count(tx, found, 1)
    return True


def clear_mark(tx: Transaction, found: FoundPayment, mark: str) -> bool:
    """Remove a mark of NOTED with its note; return False if the payment had none."""
    if not tx.execute(_UNSET.format(name=_COLUMNS[mark]), **_ids(found)):
        return False
    if mark == PAID_BACK:
        _count(tx, found, -1)
    return True


def save_note(tx: Transaction, found: FoundPayment, mark: str, note: str) -> bool:
    """Store the seller's note; return False if the payment has the mark no more."""
    return bool(tx.execute(_NOTE.format(name=_COLUMNS[mark]), **_ids(found), note=note))


def set_hidden(tx: Transaction, found: FoundPayment, *, hidden: bool) -> bool:
    """Hide the payer's words, or show them again; return False if nothing changes."""
    return bool(tx.execute(HIDE, **_ids(found), hidden=int(hidden)))


def announce(
    tx: Transaction, ids: tuple[str, str], mark: str, at: int | None, note: str | None
) -> bool:
    """Store that the mark of this time, with this note, was announced.

    Return False if it was before, or if the payment has another mark by now, or none.
    """
    where = {"request": ids[0], "transaction": ids[1], "at": at, "note": note or ""}
    return bool(tx.execute(_TOLD.format(name=_COLUMNS[mark]), **where))


def is_paid_back(tx: Transaction, checkout_id: str) -> bool:
    """Check whether a payment of a checkout was paid back."""
    return tx.one(OF_CHECKOUT, checkout=checkout_id) is not None


def _count(tx: Transaction, found: FoundPayment, number: int) -> None:
    """Add a payment to what was paid back of its listing's takings, or remove it (-1)."""
    payment = found.payment
    settlement = UNDERPAID if payment.underpaid else OVERSOLD * payment.oversold
    money = Money(payment.amount, payment.currency, payment.quantity)
    takings.add_amount(tx, found.listing_id, money, settlement + takings.PAID_BACK, number)


def _ids(found: FoundPayment) -> dict[str, object]:
    request_id, transaction_id = found.ids
    return {"request": request_id, "transaction": transaction_id}
