"""SQL of exports while another server has the payments: those that the chat has recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.model.wish import Wish
from bot.core import exact_json
from bot.core.money import amounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.core.database.database import Database, Row

PAGE = 1000
"""Rows in memory at once."""

RECORDED = """
    SELECT p.*, l.wish FROM received_payments p JOIN listings l ON l.id = p.listing_id
    WHERE (p.request_id, p.transaction_id) > (:request, :transaction)
      AND p.received_at >= :since AND p.received_at < :until
      AND (:only = '' OR p.request_id = :only)
    ORDER BY p.request_id, p.transaction_id LIMIT :page
"""


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


def export_record(row: Row, received_at: str, *, payers: bool) -> dict[str, Any]:
    """Build the exported form of a payment; the payer's data only with `payers`."""
    wish = Wish.from_json(row["wish"])
    found = {
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": wish.name if wish else None,
        "receivedAt": received_at,
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "settlement": "oversold" if row["oversold"] else "paid",
    }
    return found | {"userData": exact_json.loads(row["body"])} if payers else found
