"""SQL of exports: sellers, and the payments that the chat recorded at another server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.model.paid_by import PaidBy
from bot.chat.model.wish import Wish
from bot.core import exact_json
from bot.core.money import amounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bot.core.database.database import Database, Row

PAGE = 1000
"""Rows in memory at once."""

RECORDED = """
    SELECT p.request_id, p.transaction_id, p.amount, p.currency, p.body, p.oversold, p.underpaid,
      p.received_at, p.paid_by, p.paid_back_at, p.paid_back_note, p.quantity, p.payer_name,
      p.message, p.message_hidden, p.sent_at, p.sent_note, l.wish
    FROM received_payments p JOIN listings l ON l.id = p.listing_id
    WHERE (p.request_id, p.transaction_id) > (:request, :transaction)
      AND p.received_at >= :since AND p.received_at < :until
      AND (:only = '' OR p.request_id = :only)
    ORDER BY p.request_id, p.transaction_id LIMIT :page
"""


SELLERS = """
    SELECT id, language, destination, currency, zone, name, image, about, contact, accent,
      created_at FROM sellers
    WHERE id > :last AND created_at >= :since AND created_at < :until ORDER BY id LIMIT :page
"""


PAID_BACK = """
    SELECT request_id, transaction_id, paid_back_at, paid_back_note FROM received_payments
    WHERE paid_back_at IS NOT NULL
"""


async def sellers(db: Database, since: int, until: int) -> AsyncIterator[Row]:
    """Yield the sellers who came from `since` until before `until` (epoch ms), by their ids."""
    last = 0
    while rows := await db.query(SELLERS, last=last, since=since, until=until, page=PAGE):
        for row in rows:
            yield row
        last = rows[-1]["id"]


def seller_record(row: Row, created_at: str, images: str) -> dict[str, Any]:
    """Build the exported form of a seller; `images` is the address of sellers' pictures."""
    return {
        "telegramId": row["id"],
        "createdAt": created_at,
        "language": row["language"],
        "timeZone": row["zone"],
        "destination": row["destination"],
        "currencyCode": row["currency"],
        "name": row["name"],
        "about": row["about"],
        "contact": row["contact"],
        "accentColor": row["accent"],
        "imageUrl": row["image"] and f"{images}/{row['image']}",
    }


async def recorded_payments(
    db: Database, since: int, until: int, request_id: str | None
) -> AsyncIterator[Row]:
    """Yield the payments recorded from `since` until before `until` (epoch ms), by request."""
    request, transaction, only = "", "", request_id or ""
    while rows := await db.query(
        RECORDED,
        request=request,
        transaction=transaction,
        since=since,
        until=until,
        only=only,
        page=PAGE,
    ):
        for row in rows:
            yield row
        request, transaction = rows[-1]["request_id"], rows[-1]["transaction_id"]


def export_record(row: Row, moment: Callable[[int], str], *, payers: bool) -> dict[str, Any]:
    """Build the exported form of a payment; the payer's data only with `payers`.

    `moment` formats epoch ms. What was paid is empty where the server doesn't say.
    """
    wish = Wish.from_json(row["wish"])
    found = {
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": wish.name if wish else None,
        "receivedAt": moment(row["received_at"]),
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "settlement": _settlement(row),
        **_how(row),
        "quantity": row["quantity"],
        "sentAt": None if row["sent_at"] is None else moment(row["sent_at"]),
        **payback_fields(row, moment, payers=payers),
        "messageHidden": bool(row["message_hidden"]),
    }
    return found | _entered(row) if payers else found


def _entered(row: Row) -> dict[str, Any]:
    """Return what the payer entered, unless the seller has hidden it, and the note on sending."""
    is_hidden = bool(row["message_hidden"])
    return {
        "userData": exact_json.loads(row["body"]),
        "name": None if is_hidden else row["payer_name"],
        "message": None if is_hidden else row["message"],
        "sentNote": row["sent_note"],
    }


def _settlement(row: Row) -> str:
    if row["underpaid"]:
        return "underpaid"
    return "oversold" if row["oversold"] else "paid"


def _how(row: Row) -> dict[str, Any]:
    """Return how a payment was paid: the rail, its id, the payer's amount and the rate."""
    paid = PaidBy(**exact_json.loads(row["paid_by"])) if row["paid_by"] else None
    return {
        "kind": paid and paid.kind,
        "externalId": paid and paid.reference,
        "paidAmount": paid and amounts.from_minor(paid.amount, paid.currency),
        "paidCurrencyCode": paid and paid.currency,
        "rate": paid and paid.rate,
        "rateSource": paid and paid.source,
    }


async def paid_back(db: Database) -> dict[tuple[str, str], Row]:
    """Return what sellers marked as paid back, by request and transaction: few, marked by hand."""
    rows = await db.query(PAID_BACK)
    return {(row["request_id"], row["transaction_id"]): row for row in rows}


def payback_fields(
    row: Row | None, moment: Callable[[int], str], *, payers: bool
) -> dict[str, Any]:
    """Return when a payment was paid back, and its note with `payers`: it may name one."""
    at = row["paid_back_at"] if row else None
    fields = {"paidBackAt": None if at is None else moment(at)}
    return fields | ({"paidBackNote": row and row["paid_back_note"]} if payers else {})
