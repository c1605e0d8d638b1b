"""SQL of exports: all payments and requests, page by page, each page after the last row read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.database.columns import of_table
from bot.service.store import payments as payment_store
from bot.service.store import requests as request_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.core.database.database import Database, Row

PAGE = 1000
"""Rows in memory at once."""

PAYMENTS = f"""
    SELECT {of_table("p", payment_store.COLUMNS)}, r.name
    FROM payments p JOIN payment_requests r ON r.id = p.request_id
    WHERE (p.request_id, p.completed_at, p.id) > (:request, :at, :id)
      AND p.completed_at >= :since AND p.completed_at < :until {{narrowed}}
    ORDER BY p.request_id, p.completed_at, p.id LIMIT :page
"""  # noqa: S608 - our own names
REQUESTS = f"""
    {request_store.EVERY} r.id > :id
      AND r.created_at >= :since AND r.created_at < :until {{narrowed}}
    ORDER BY r.id LIMIT :page
"""
FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """A filter of an export: from `since` until before `until` (epoch ms), of one request or all.

    `now` (epoch ms): reservations that have lapsed by then count as remaining units.
    """

    now: int
    since: int = 0
    until: int = FOREVER
    request_id: str | None = None


async def payments(db: Database, wanted: ExportFilter) -> AsyncIterator[Row]:
    """Yield payments with the names of their requests, by request and then by time."""
    place: dict[str, object] = {"request": "", "at": 0, "id": ""}
    while rows := await _page(db, PAYMENTS, "p.request_id", wanted, place):
        for row in rows:
            yield row
        last = rows[-1]
        place = {"request": last["request_id"], "at": last["completed_at"], "id": last["id"]}


async def requests(db: Database, wanted: ExportFilter) -> AsyncIterator[Row]:
    """Yield requests that were created in that time, deleted ones too, by id.

    `request` of each row is its PaymentRequest.
    """
    place: dict[str, object] = {"id": "", "now": wanted.now}
    while rows := await _page(db, REQUESTS, "r.id", wanted, place):
        for row in rows:
            yield row | {"request": request_store.read_row(row)}
        place["id"] = rows[-1]["id"]


async def _page(
    db: Database, sql: str, column: str, wanted: ExportFilter, place: dict[str, object]
) -> list[Row]:
    narrowed = "" if wanted.request_id is None else f"AND {column} = :only"
    return await db.query(
        sql.format(narrowed=narrowed),
        since=wanted.since,
        until=wanted.until,
        page=PAGE,
        only=wanted.request_id,
        **place,
    )
