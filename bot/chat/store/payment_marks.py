"""SQL of a seller's marks on payments, and of the search for payments by transaction number.

The seller sets "paid back" and "sent"; each has a time and a note. Numbers are stored folded,
forwards and backwards, so that an index can find both their beginning and their end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.chat.model.payment import (
    NO_MARKS,
    PAID_BACK,
    SENT,
    PaidBy,
    PaymentKey,
    PaymentMarks,
    fold_number,
    fold_reference,
)
from bot.chat.store import link_rows, payment_rows
from bot.core import stored_json
from bot.core.database import database
from bot.interface import parts

COLUMNS = (
    "transaction_id, amount, currency, body, oversold, underpaid, found, received_at, paid_by,"
    " paid_back_at, paid_back_note, sent_at, sent_note, quantity, payer_name, message,"
    " message_hidden"
)
"""Columns that `read_payment` needs."""

PAYMENTS = (
    f"SELECT {COLUMNS} FROM received_payments WHERE listing_id = :listing"  # noqa: S608 - our own words
    " ORDER BY received_at DESC, transaction_id DESC"
    " LIMIT :limit OFFSET :start"
)

SHORTEST_PART = 6
"""Minimum characters of a beginning or an end; fewer would match too many numbers."""

LAST = "\U0010ffff"
"""The last Unicode character: numbers that begin with `part` sort before `part + LAST`."""

FOUND = f"SELECT request_id, listing_id, checkout_id, {COLUMNS} FROM received_payments"  # noqa: S608 - our own words
WHOLE = f"{FOUND} WHERE seller_id = :seller AND number = :number LIMIT :most"
BEGINNING = (
    f"{FOUND} WHERE seller_id = :seller AND number >= :part AND number < :beyond"
    " ORDER BY number LIMIT :most"
)
BY_REFERENCE = f"{FOUND} WHERE seller_id = :seller AND reference = :reference LIMIT :most"
OF_LINK = f"{FOUND} WHERE listing_id = :listing AND seller_id = :seller"
BY_KEY = f"{OF_LINK} AND received_at = :at"
BY_SHORT_KEY = f"{OF_LINK} AND short_at = :at"
OF_SELLER = (
    f"{FOUND} WHERE seller_id = :seller ORDER BY received_at DESC, transaction_id DESC"
    " LIMIT :limit OFFSET :start"
)
END = (
    f"{FOUND} WHERE seller_id = :seller AND number_reversed >= :part AND number_reversed < :beyond"
    " ORDER BY number_reversed LIMIT :most"
)


@dataclass(frozen=True, slots=True)
class ListedPayment:
    """A payment as a seller's list shows it."""

    amount: int
    """In minor units."""
    currency: str
    payer: dict[str, Any]
    oversold: bool
    """True if no unit was left."""
    found: bool
    """True if the reconciler found the payment instead of a webhook."""
    in_doubt: bool
    """True if its webhook replaced a placeholder that may stand for another payment."""
    received_at: int
    """Epoch ms."""
    transaction_id: str | None = None
    """None for a placeholder."""
    underpaid: bool = False
    """The payer sent less than the price, so nothing was sold."""
    paid_by: PaidBy | None = None
    marks: PaymentMarks = NO_MARKS
    """The seller's marks."""
    quantity: int = 1
    words: parts.PayerWords = parts.NO_WORDS
    """The payer's name and message, unless the seller has hidden them."""


def payments_page(
    tx: database.Transaction, link_id: str, limit: int, start: int
) -> list[ListedPayment]:
    """Return up to `limit` of a link's payments, newest first, after the first `start`."""
    rows = tx.query(PAYMENTS, listing=link_id, limit=limit, start=start)
    return [read_payment(row) for row in rows]


def read_payment(row: database.Row) -> ListedPayment:
    """Parse a row with COLUMNS."""
    marks = read_marks(row)
    words = parts.PayerWords(row["payer_name"], row["message"])
    return ListedPayment(
        amount=row["amount"],
        currency=row["currency"],
        payer=stored_json.read(dict, row["body"]),
        oversold=bool(row["oversold"]),
        found=row["found"] == payment_rows.FOUND_LATER,
        in_doubt=row["found"] == payment_rows.UNCERTAIN,
        received_at=row["received_at"],
        transaction_id=payment_rows.known_number(row["transaction_id"]),
        underpaid=bool(row["underpaid"]),
        paid_by=payment_rows.read_paid_by(row),
        marks=marks,
        quantity=row["quantity"],
        words=parts.NO_WORDS if marks.is_hidden else words,
    )


def read_marks(row: database.Row) -> PaymentMarks:
    """Parse the marks of a row of received_payments."""
    return PaymentMarks(
        sent_at=row["sent_at"],
        sent_note=row["sent_note"],
        paid_back_at=row["paid_back_at"],
        paid_back_note=row["paid_back_note"],
        is_hidden=bool(row["message_hidden"]),
    )


@dataclass(frozen=True, slots=True)
class FoundPayment:
    """A payment with its request's name."""

    payment: ListedPayment
    link_id: str
    name: str
    is_listed: bool
    """The request is not deleted."""
    ids: tuple[str, str] = ("", "")
    """Ids of the request and the transaction at the server."""
    checkout_id: str | None = None
    """None if the server doesn't name it."""

    @property
    def is_short(self) -> bool:
        """True if the payment is underpaid, not paid back, and its server has checkouts."""
        payment = self.payment
        is_kept = payment.underpaid and payment.marks.paid_back_at is None
        return is_kept and self.checkout_id is not None

    @property
    def key(self) -> PaymentKey:
        """Return the key used in the payment's buttons."""
        return PaymentKey.of(self.link_id, self.payment.received_at, self.ids[1])


def find_payments(
    tx: database.Transaction, seller_id: int, text: str, most: int
) -> list[FoundPayment]:
    """Return up to `most` of a seller's payments with this transaction number or reference.

    If there are none, return the payments whose number begins or ends with the text.
    """
    number, reference = fold_number(text), fold_reference(text)
    if not number:
        return []
    rows = tx.query(WHOLE, seller=seller_id, number=number, most=most)
    if not rows and reference:
        rows = tx.query(BY_REFERENCE, seller=seller_id, reference=reference, most=most)
    if not rows and len(number) >= SHORTEST_PART:
        rows = _with_part(tx, BEGINNING, seller_id, number, most)
        rows += _with_part(tx, END, seller_id, number[::-1], most)
    each = {(row["request_id"], row["transaction_id"]): row for row in rows}
    return [_read(tx, row) for row in [*each.values()][:most]]


def payments_of_seller(
    tx: database.Transaction, seller_id: int, limit: int, start: int
) -> list[FoundPayment]:
    """Return up to `limit` of a seller's payments, newest first, after the first `start`."""
    rows = tx.query(OF_SELLER, seller=seller_id, limit=limit, start=start)
    return [_read(tx, row) for row in rows]


def payment_by_key(
    tx: database.Transaction, seller_id: int, key: PaymentKey
) -> FoundPayment | None:
    """Return a seller's payment by its key in buttons, or None.

    The key may be from the time when the payment was underpaid, even if it is a sale now.
    """
    given = {"listing": key.link_id, "at": key.at, "seller": seller_id}
    rows = tx.query(BY_KEY, **given) or tx.query(BY_SHORT_KEY, **given)
    found = (_read(tx, row) for row in rows)
    return next((one for one in found if one.key.digest == key.digest), None)


def _with_part(
    tx: database.Transaction, sql: str, seller_id: int, part: str, most: int
) -> list[database.Row]:
    return tx.query(sql, seller=seller_id, part=part, beyond=part + LAST, most=most)


def _read(tx: database.Transaction, row: database.Row) -> FoundPayment:
    link = link_rows.get_link(tx, row["listing_id"])
    is_listed = link.state in (link_rows.LIVE, link_rows.STOPPED)
    ids = (row["request_id"], row["transaction_id"])
    payment, name = read_payment(row), link.spec.name
    return FoundPayment(payment, link.id, name, is_listed, ids, row["checkout_id"])


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


def find_marks(
    tx: database.Transaction, request_id: str, transaction_id: str
) -> PaymentMarks | None:
    """Return the marks of a payment, or None if there is no such payment."""
    row = tx.one(MARKS, request=request_id, transaction=transaction_id)
    return read_marks(row) if row else None


def set_mark(tx: database.Transaction, found: FoundPayment, mark: str, now: int) -> bool:
    """Set a mark of NOTED at `now` (epoch ms); return False if it was already set."""
    if not tx.execute(_SET.format(name=_COLUMNS[mark]), **_ids(found), now=now):
        return False
    if mark == PAID_BACK:
        _count(tx, found, 1)
    return True


def clear_mark(tx: database.Transaction, found: FoundPayment, mark: str) -> bool:
    """Remove a mark of NOTED and its note; return False if it was not set."""
    if not tx.execute(_UNSET.format(name=_COLUMNS[mark]), **_ids(found)):
        return False
    if mark == PAID_BACK:
        _count(tx, found, -1)
    return True


def save_note(tx: database.Transaction, found: FoundPayment, mark: str, note: str) -> bool:
    """Store the seller's note; return False if the mark has been removed."""
    return bool(tx.execute(_NOTE.format(name=_COLUMNS[mark]), **_ids(found), note=note))


def set_hidden(tx: database.Transaction, found: FoundPayment, *, hidden: bool) -> bool:
    """Hide the payer's words, or show them again; return False if nothing changes."""
    return bool(tx.execute(HIDE, **_ids(found), hidden=int(hidden)))


def announce(
    tx: database.Transaction, ids: tuple[str, str], mark: str, at: int | None, note: str | None
) -> bool:
    """Store that the mark with this time and note was announced.

    Return False if it was already announced, or if the mark has changed or been removed since.
    """
    where = {"request": ids[0], "transaction": ids[1], "at": at, "note": note or ""}
    return bool(tx.execute(_TOLD.format(name=_COLUMNS[mark]), **where))


def is_paid_back(tx: database.Transaction, checkout_id: str) -> bool:
    """True if a payment of this checkout was paid back."""
    return tx.one(OF_CHECKOUT, checkout=checkout_id) is not None


def _count(tx: database.Transaction, found: FoundPayment, number: int) -> None:
    """Add a payment to the paid-back part of its link's revenue, or remove it (`number` -1)."""
    payment = found.payment
    settlement = (
        payment_rows.UNDERPAID if payment.underpaid else payment_rows.OVERSOLD * payment.oversold
    )
    money = payment_rows.Money(payment.amount, payment.currency, payment.quantity)
    payment_rows.add_amount(tx, found.link_id, money, settlement + payment_rows.PAID_BACK, number)


def _ids(found: FoundPayment) -> dict[str, object]:
    request_id, transaction_id = found.ids
    return {"request": request_id, "transaction": transaction_id}
