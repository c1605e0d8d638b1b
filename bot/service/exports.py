"""Exports: all payments and requests, as records with the interface's names and exact amounts.

Rows are read page by page; each page starts after the last row of the previous page.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from bot.core import stored_json
from bot.core.database import database, tables
from bot.core.money import amounts
from bot.interface import fields
from bot.service.payments import payment_rows
from bot.service.requests import request_rows
from bot.service.wire import to_answers

PAGE = 1000
"""Rows in memory at once."""

PAYMENTS = f"""
    SELECT {tables.of_table("p", payment_rows.COLUMNS)}, r.name
    FROM payments p JOIN payment_requests r ON r.id = p.request_id
    WHERE (p.request_id, p.completed_at, p.id) > (:request, :at, :id)
      AND p.completed_at >= :since AND p.completed_at < :until {{narrowed}}
    ORDER BY p.request_id, p.completed_at, p.id LIMIT :page
"""  # noqa: S608 - our own names
REQUESTS = f"""
    {request_rows.EVERY} r.id > :id
      AND r.created_at >= :since AND r.created_at < :until {{narrowed}}
    ORDER BY r.id LIMIT :page
"""
FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """What an export contains; times in epoch ms."""

    now: int
    """Reservations that have lapsed by then count as remaining units."""

    since: int = 0

    until: int = FOREVER
    """The first millisecond that is left out."""

    request_id: str | None = None
    """None for all requests."""


async def read_payments(db: database.Database, wanted: ExportFilter) -> AsyncIterator[database.Row]:
    """Yield payments with the names of their requests, by request and then by time."""
    place: dict[str, object] = {"request": "", "at": 0, "id": ""}
    while rows := await _page(db, PAYMENTS, "p.request_id", wanted, place):
        for row in rows:
            yield row
        last = rows[-1]
        place = {"request": last["request_id"], "at": last["completed_at"], "id": last["id"]}


async def read_requests(db: database.Database, wanted: ExportFilter) -> AsyncIterator[database.Row]:
    """Yield requests created in that time, including deleted requests, ordered by id.

    The column `request` of each row is its PaymentRequest.
    """
    place: dict[str, object] = {"id": "", "now": wanted.now}
    while rows := await _page(db, REQUESTS, "r.id", wanted, place):
        for row in rows:
            yield row | {"request": request_rows.read_row(row)}
        place["id"] = rows[-1]["id"]


async def _page(
    db: database.Database, sql: str, column: str, wanted: ExportFilter, place: dict[str, object]
) -> list[database.Row]:
    narrowed = "" if wanted.request_id is None else f"AND {column} = :only"
    return await db.query(
        sql.format(narrowed=narrowed),
        since=wanted.since,
        until=wanted.until,
        page=PAGE,
        only=wanted.request_id,
        **place,
    )


# Records.

PAYER = ("paymail", "email", "phoneNumber")
"""The data of payers."""

UNITS = ("totalUnits", "remainingUnits", "reservedUnits")
"""Empty for a request without units."""


def payment_record(row: database.Row, *, payers: bool) -> dict[str, Any]:
    """Return the record of a payment; `payers` adds its payer and the seller's notes.

    A hidden message is left out, and `messageHidden` is true. `kind` is the rail. `externalId` is
    the rail's id of the payment: an invoice's id, or a bank transfer's reference.
    """
    currency, paid_in = row["currency"], row["instrument_currency"]
    record = {
        "transactionId": row["id"],
        "paymentRequestId": row["request_id"],
        "product": row["name"],
        "completedAt": fields.iso(row["completed_at"]),
        "amount": amounts.from_minor(row["amount"], currency),
        "currencyCode": currency,
        "paidAmount": amounts.from_minor(row["instrument_amount"], paid_in),
        "paidCurrencyCode": paid_in,
        "rate": row["rate"],
        "rateSource": row["rate_source"],
        "kind": row["rail"],
        "externalId": row["external_id"],
        "settlement": row["state"],
        "quantity": row["quantity"],
        "sentAt": fields.iso_or_none(row["sent_at"]),
        "paidBackAt": fields.iso_or_none(row["paid_back_at"]),
        "messageHidden": bool(row["message_hidden"]),
        "receivers": [
            {"destination": one.destination, "amount": amounts.from_minor(one.amount, currency)}
            for one in request_rows.read_receivers(row["receivers"])
        ],
    }
    if payers:
        data = stored_json.read(dict, row["user_data"])
        record |= {name: data.get(name) for name in PAYER}
        record |= {
            "name": None if row["message_hidden"] else row["payer_name"],
            "message": None if row["message_hidden"] else row["message"],
            "sentNote": row["sent_note"],
            "paidBackNote": row["paid_back_note"],
        }
    return record


def request_record(row: database.Row) -> dict[str, Any]:
    """Return the record of a request; its totals include oversold payments.

    Its units match the interface's answer.
    """
    currency = row["denomination_currency"] or row["instrument_currency"]
    return {
        "paymentRequestId": row["id"],
        "product": row["name"],
        "createdAt": fields.iso(row["created_at"]),
        "expirationType": row["expiration_type"],
        "amount": amounts.from_minor(row["amount"], currency),
        "currencyCode": currency,
        **dict.fromkeys(UNITS),
        **dict(zip(UNITS, to_answers.units(row["request"]).values(), strict=False)),
        "payments": row["request"].payments_count,
        "oversold": row["oversold_count"],
        "volume": amounts.from_minor(row["request"].volume, currency),
        "enabledAt": fields.iso_or_none(row["enabled_at"]),
        "expiresAt": fields.iso_or_none(row["expires_at"]),
        "deletedAt": fields.iso_or_none(row["deleted_at"]),
        "seller": row["request"].seller and row["request"].seller.name,
    }
