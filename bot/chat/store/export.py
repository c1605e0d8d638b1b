"""SQL of exports where the payments are another server's: those that the chat was told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.model.wish import Wish
from bot.core import exact_json
from bot.core.money import amounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.core.database.database import Database, Row

PAGE = 1000
"""Rows in the memory at once."""

TOLD = """
    SELECT p.*, l.wish FROM received_payments p JOIN listings l ON l.id = p.listing_id
    WHERE (p.request_id, p.transaction_id) > (:request, :transaction)
      AND p.received_at >= :since AND p.received_at < :until
      AND (:only = '' OR p.request_id = :only)
    ORDER BY p.request_id, p.transaction_id LIMIT :page
"""


async def recorded_payments(
    db: Database, since: int, until: int, request_id: str | None
) -> AsyncIterator[Row]:
    """Give the payments told from `since` until before `until` (epoch ms), by request."""
    request, transaction, only = "", "", request_id or ""
    while rows := await db.query(
        TOLD,
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
    """Give a payment as it is exported, its payer with `payers` only."""
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
