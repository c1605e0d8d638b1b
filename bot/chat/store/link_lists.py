"""SQL of sellers' paged lists: their requests, search results, a request's payments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.chat.model import payloads, payment
from bot.chat.model.jobs import RemoveUnits
from bot.chat.model.queues import BACKGROUND, Queues
from bot.chat.store import link_rows, payment_rows
from bot.core import stored_json
from bot.core.database import database
from bot.core.outbox import queries
from bot.interface import parts

PRESENT = "WHERE seller_id = :seller AND state IN ('live', 'stopped')"
NEWEST = "ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :start"
COUNT = f"SELECT COUNT(*) AS number FROM listings {PRESENT}"  # noqa: S608 - our own words
PAGE = f"{link_rows.SELECT_LINK} {PRESENT} {NEWEST}"
SEARCH = (
    f"{link_rows.SELECT_LINK} WHERE seller_id = :seller AND state = 'live'"
    f" AND (folded_name LIKE :part ESCAPE '!' OR id = :id) {NEWEST}"
)
SEARCH_PRESENT = (
    f"{link_rows.SELECT_LINK} {PRESENT}"
    f" AND (folded_name LIKE :part ESCAPE '!' OR id = :id) {NEWEST}"
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
"""Characters that must be escaped with `!` in a LIKE pattern."""


def count_links(tx: database.Transaction, seller_id: int) -> int:
    """Count a seller's live and stopped links."""
    row = tx.one(COUNT, seller=seller_id)
    return int(row["number"]) if row else 0


def links_page(
    tx: database.Transaction, seller_id: int, limit: int, start: int
) -> list[link_rows.PaymentLink]:
    """Return up to `limit` live and stopped links, newest first, after the first `start`."""
    rows = tx.query(PAGE, seller=seller_id, limit=limit, start=start)
    return [link_rows.read_link(row) for row in rows]


def search_links(
    tx: database.Transaction, seller_id: int, text: str, limit: int, start: int
) -> list[link_rows.PaymentLink]:
    """Return a page of a seller's live links whose id is `text` or whose name contains it."""
    rows = tx.query(SEARCH, seller=seller_id, **_wanted(text), limit=limit, start=start)
    return [link_rows.read_link(row) for row in rows]


def search_present(
    tx: database.Transaction, seller_id: int, text: str, limit: int
) -> list[link_rows.PaymentLink]:
    """Return up to `limit` matching links, live or stopped, newest first."""
    rows = tx.query(SEARCH_PRESENT, seller=seller_id, **_wanted(text), limit=limit, start=0)
    return [link_rows.read_link(row) for row in rows]


def _wanted(text: str) -> dict[str, str]:
    folded = text.strip().casefold()
    part = PATTERN_SIGN.sub(r"!\g<0>", folded)
    return {"id": folded, "part": f"%{part}%"}


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
    paid_by: payment.PaidBy | None = None
    marks: payment.PaymentMarks = payment.NO_MARKS
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


def read_marks(row: database.Row) -> payment.PaymentMarks:
    """Parse the marks of a row of received_payments."""
    return payment.PaymentMarks(
        sent_at=row["sent_at"],
        sent_note=row["sent_note"],
        paid_back_at=row["paid_back_at"],
        paid_back_note=row["paid_back_note"],
        is_hidden=bool(row["message_hidden"]),
    )


def is_file_queued(
    tx: database.Transaction, queues: Queues, chat: str, link_id: str, files: Sequence[str]
) -> bool:
    """True if one of these poster files of a link is still queued for a chat."""
    found = queries.unsettled_about(tx, queues.messages, link_id)
    return any(
        lane == chat and isinstance(body, payloads.PosterFile) and body.design in files
        for lane, body in found
    )


def is_removal_uncertain(tx: database.Transaction, queues: Queues, link_id: str) -> bool:
    """True if a removal of units is queued again because its outcome is unknown."""
    jobs = queries.unsettled_of_lane(tx, queues.jobs, f"{BACKGROUND}{link_id}")
    return any(isinstance(job, RemoveUnits) for job in jobs)
