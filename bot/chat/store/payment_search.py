"""SQL of the search for payments by transaction number, among all of one seller's.

Numbers are stored folded, forwards and backwards, so that an index finds a number by its beginning
and by its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.model.payment_key import PaymentKey
from bot.chat.model.payment_reference import fold_reference
from bot.chat.model.transaction_number import fold_number
from bot.chat.store import listings
from bot.chat.store.listings import LIVE, STOPPED
from bot.chat.store.queries import COLUMNS, ListedPayment, read_payment

if TYPE_CHECKING:
    from bot.core.database.database import Row, Transaction

SHORTEST_PART = 6
"""Characters of a beginning or an end: fewer are in too many numbers."""

LAST = "\U0010ffff"
"""The last character: all numbers that begin with a part are before the part and it."""

FOUND = f"SELECT request_id, listing_id, checkout_id, {COLUMNS} FROM received_payments"  # noqa: S608 - our own words
WHOLE = f"{FOUND} WHERE seller_id = :seller AND number = :number LIMIT :most"
BEGINNING = (
    f"{FOUND} WHERE seller_id = :seller AND number >= :part AND number < :beyond"
    " ORDER BY number LIMIT :most"
)
BY_REFERENCE = f"{FOUND} WHERE seller_id = :seller AND reference = :reference LIMIT :most"
OF_LISTING = f"{FOUND} WHERE listing_id = :listing AND seller_id = :seller"
BY_KEY = f"{OF_LISTING} AND received_at = :at"
BY_SHORT_KEY = f"{OF_LISTING} AND short_at = :at"
OF_SELLER = (
    f"{FOUND} WHERE seller_id = :seller ORDER BY received_at DESC, transaction_id DESC"
    " LIMIT :limit OFFSET :start"
)
END = (
    f"{FOUND} WHERE seller_id = :seller AND number_reversed >= :part AND number_reversed < :beyond"
    " ORDER BY number_reversed LIMIT :most"
)


@dataclass(frozen=True, slots=True)
class FoundPayment:
    """A payment with its request's name; `is_listed`: the request is not deleted.

    `ids` are those of the request and the transaction at the server, `checkout_id` that of the
    checkout, where the server names it.
    """

    payment: ListedPayment
    listing_id: str
    name: str
    is_listed: bool
    ids: tuple[str, str] = ("", "")
    checkout_id: str | None = None

    @property
    def is_short(self) -> bool:
        """Return whether it is underpaid and was not paid back, at a server with checkouts."""
        payment = self.payment
        is_kept = payment.underpaid and payment.marks.paid_back_at is None
        return is_kept and self.checkout_id is not None

    @property
    def key(self) -> PaymentKey:
        """Return the key that its buttons carry."""
        return PaymentKey.of(self.listing_id, self.payment.received_at, self.ids[1])


def find_payments(tx: Transaction, seller_id: int, text: str, most: int) -> list[FoundPayment]:
    """Return up to `most` of a seller's payments that have this transaction number or reference.

    If none has, those whose number begins or ends so.
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
    tx: Transaction, seller_id: int, limit: int, start: int
) -> list[FoundPayment]:
    """Return up to `limit` of a seller's payments, newest first, after the first `start`."""
    rows = tx.query(OF_SELLER, seller=seller_id, limit=limit, start=start)
    return [_read(tx, row) for row in rows]


def payment_by_key(tx: Transaction, seller_id: int, key: PaymentKey) -> FoundPayment | None:
    """Return a seller's payment by the key of its buttons, None if there is none.

    The key may be that of underpaid money which is a sale by now.
    """
    given = {"listing": key.listing_id, "at": key.at, "seller": seller_id}
    rows = tx.query(BY_KEY, **given) or tx.query(BY_SHORT_KEY, **given)
    found = (_read(tx, row) for row in rows)
    return next((one for one in found if one.key.digest == key.digest), None)


def _with_part(tx: Transaction, sql: str, seller_id: int, part: str, most: int) -> list[Row]:
    return tx.query(sql, seller=seller_id, part=part, beyond=part + LAST, most=most)


def _read(tx: Transaction, row: Row) -> FoundPayment:
    listing = listings.get_listing(tx, row["listing_id"])
    is_listed = listing.state in (LIVE, STOPPED)
    ids = (row["request_id"], row["transaction_id"])
    payment, name = read_payment(row), listing.wish.name
    return FoundPayment(payment, listing.id, name, is_listed, ids, row["checkout_id"])
