"""SQL of the lists that sellers page through: their requests, a search, a request's payments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.model.paid_by import PaidBy
from bot.chat.model.payer_words import NO_WORDS, PayerWords
from bot.chat.model.payment_marks import NO_MARKS, PaymentMarks
from bot.chat.store.listings import SELECT_LISTING, read_listing
from bot.chat.store.received_payments import FOUND_LATER, UNCERTAIN, known_number
from bot.core import exact_json

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Row, Transaction

PRESENT = "WHERE seller_id = :seller AND state IN ('live', 'stopped')"
NEWEST = "ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :start"
COUNT = f"SELECT COUNT(*) AS number FROM listings {PRESENT}"  # noqa: S608 - our own words
PAGE = f"{SELECT_LISTING} {PRESENT} {NEWEST}"
SEARCH = (
    f"{SELECT_LISTING} WHERE seller_id = :seller AND state = 'live'"
    f" AND (folded_name LIKE :part ESCAPE '!' OR id = :id) {NEWEST}"
)
SEARCH_PRESENT = (
    f"{SELECT_LISTING} {PRESENT} AND (folded_name LIKE :part ESCAPE '!' OR id = :id) {NEWEST}"
)
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
PATTERN_SIGN = re.compile("[!%_]")
"""Characters that a LIKE pattern takes literally only after `!`."""


def count_listings(tx: Transaction, seller_id: int) -> int:
    """Count a seller's live and stopped listings."""
    row = tx.one(COUNT, seller=seller_id)
    return int(row["number"]) if row else 0


def listings_page(tx: Transaction, seller_id: int, limit: int, start: int) -> list[Listing]:
    """Return up to `limit` of these listings, newest first, after the first `start`."""
    rows = tx.query(PAGE, seller=seller_id, limit=limit, start=start)
    return [read_listing(row) for row in rows]


def search_listings(
    tx: Transaction, seller_id: int, text: str, limit: int, start: int
) -> list[Listing]:
    """Return a page of a seller's live listings whose id or a part of whose name is `text`."""
    rows = tx.query(SEARCH, seller=seller_id, **_wanted(text), limit=limit, start=start)
    return [read_listing(row) for row in rows]


def search_present(tx: Transaction, seller_id: int, text: str, limit: int) -> list[Listing]:
    """Return up to `limit` such listings, live and stopped ones, newest first."""
    rows = tx.query(SEARCH_PRESENT, seller=seller_id, **_wanted(text), limit=limit, start=0)
    return [read_listing(row) for row in rows]


def _wanted(text: str) -> dict[str, str]:
    folded = text.strip().casefold()
    part = PATTERN_SIGN.sub(r"!\g<0>", folded)
    return {"id": folded, "part": f"%{part}%"}


@dataclass(frozen=True, slots=True)
class ListedPayment:
    """A payment as a seller's list shows it; `amount` in minor units, `received_at` in epoch ms.

    `transaction_id` is None where it is not known. `oversold`: it came when no unit was left.
    `underpaid`: it was less than asked, and nothing was sold. `paid_by` is how it was paid, where
    that is known. `marks` are its seller's. `found`: the reconciler found it, no webhook brought
    it. `in_doubt`: its webhook replaced a placeholder that may be another payment. It paid for
    `quantity` pieces; `words` are the payer's unless the seller has hidden them.
    """

    amount: int
    currency: str
    payer: dict[str, Any]
    oversold: bool
    found: bool
    in_doubt: bool
    received_at: int
    transaction_id: str | None = None
    underpaid: bool = False
    paid_by: PaidBy | None = None
    marks: PaymentMarks = NO_MARKS
    quantity: int = 1
    words: PayerWords = NO_WORDS


def payments_page(tx: Transaction, listing_id: str, limit: int, start: int) -> list[ListedPayment]:
    """Return up to `limit` of a listing's payments, newest first, after the first `start`."""
    rows = tx.query(PAYMENTS, listing=listing_id, limit=limit, start=start)
    return [read_payment(row) for row in rows]


def read_payment(row: Row) -> ListedPayment:
    """Parse a row with COLUMNS."""
    marks = read_marks(row)
    words = PayerWords(row["payer_name"], row["message"])
    return ListedPayment(
        amount=row["amount"],
        currency=row["currency"],
        payer=exact_json.loads(row["body"]),
        oversold=bool(row["oversold"]),
        found=row["found"] == FOUND_LATER,
        in_doubt=row["found"] == UNCERTAIN,
        received_at=row["received_at"],
        transaction_id=known_number(row["transaction_id"]),
        underpaid=bool(row["underpaid"]),
        paid_by=PaidBy(**exact_json.loads(row["paid_by"])) if row["paid_by"] else None,
        marks=marks,
        quantity=row["quantity"],
        words=NO_WORDS if marks.is_hidden else words,
    )


def read_marks(row: Row) -> PaymentMarks:
    """Parse the marks of a row of received_payments."""
    return PaymentMarks(
        sent_at=row["sent_at"],
        sent_note=row["sent_note"],
        paid_back_at=row["paid_back_at"],
        paid_back_note=row["paid_back_note"],
        is_hidden=bool(row["message_hidden"]),
    )
