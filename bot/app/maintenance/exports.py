"""Exports: payments, requests, sellers and kept receipts, as records for other programs.

A row of EXPORTS selects what is read, page by page, and builds a record of it, with the names of
the interface and exact amounts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.chat.model import request_spec
from bot.chat.store import payment_rows as chat_payments
from bot.core import stored_json
from bot.core.database import database, tables
from bot.core.money import amounts
from bot.interface import fields
from bot.service.payments import payment_rows
from bot.service.requests import request_rows
from bot.service.wire import to_answers

FOREVER = 2**63 - 1

Record: TypeAlias = dict[str, Any]


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
    payers: bool = True
    """Include what payers entered, and sellers' notes, which may name payers."""
    url: str = ""
    """The bot's public address, for links to pictures."""


@dataclass(frozen=True, slots=True)
class Export:
    """A kind of records."""

    select: str
    """A SELECT up to its WHERE."""
    keys: Mapping[str, object]
    """The columns that order the rows, each with a value that is smaller than all of its values."""
    time: str
    """The column by whose time rows are chosen."""
    record: Callable[[database.Row, ExportFilter], Record]
    columns: tuple[str, ...]
    """The names in a record that includes payers, in order."""
    request: str = ""
    """The column with the request's id, by which rows are chosen."""
    has_payers: bool = False
    """Records contain payers' personal data."""

    def header(self, wanted: ExportFilter) -> tuple[str, ...]:
        """Return the names in each record."""
        if wanted.payers or not self.has_payers:
            return self.columns
        return tuple(name for name in self.columns if name not in OF_PAYERS)


OF_PAYERS = frozenset(
    [
        *("telegramId", "paymail", "email", "phoneNumber", "userData"),
        *("name", "message", "sentNote", "paidBackNote"),
    ]
)
"""Names in records of payments and receipts that are left out with their payers."""


async def read(
    db: database.Database, export: Export, wanted: ExportFilter
) -> AsyncIterator[Record]:
    """Yield the records of an export, in the order of its keys."""
    where = f"{export.time} >= :since AND {export.time} < :until"
    if wanted.request_id is not None:
        where += f" AND {export.request} = :only"
    given = {"since": wanted.since, "until": wanted.until, "only": wanted.request_id}
    pages = tables.read_pages(db, f"{export.select} {where}", export.keys, now=wanted.now, **given)
    async for page in pages:
        for row in page:
            yield export.record(row, wanted)


UNITS = ("totalUnits", "remainingUnits", "reservedUnits")
"""Empty for a request without units."""


def _payment(row: database.Row, wanted: ExportFilter) -> Record:
    """Return the record of a payment.

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
        "paidBackAt": fields.iso_or_none(row["returned_at"]),
        "messageHidden": bool(row["message_hidden"]),
        "receivers": [
            {"destination": one.destination, "amount": amounts.from_minor(one.amount, currency)}
            for one in request_rows.read_receivers(row["receivers"])
        ],
    }
    if not wanted.payers:
        return record
    data = stored_json.read(dict, row["user_data"])
    asked = {name: data.get(name) for name in ("paymail", "email", "phoneNumber")}
    return record | asked | _words(row) | {"paidBackNote": row["returned_note"]}


def _words(row: database.Row) -> Record:
    """Return the payer's words, unless the seller has hidden them, and the seller's note."""
    is_hidden = bool(row["message_hidden"])
    return {
        "name": None if is_hidden else row["payer_name"],
        "message": None if is_hidden else row["message"],
        "sentNote": row["sent_note"],
    }


def _request(row: database.Row, _wanted: ExportFilter) -> Record:
    """Return the record of a request; its totals include oversold payments.

    Its units match the interface's answer.
    """
    request = request_rows.read_row(row)
    currency = row["denomination_currency"] or row["instrument_currency"]
    return {
        "paymentRequestId": row["id"],
        "product": row["name"],
        "createdAt": fields.iso(row["created_at"]),
        "expirationType": row["expiration_type"],
        "amount": amounts.from_minor(row["amount"], currency),
        "currencyCode": currency,
        **dict.fromkeys(UNITS),
        **dict(zip(UNITS, to_answers.units(request).values(), strict=False)),
        "payments": request.payments_count,
        "oversold": row["oversold_count"],
        "volume": amounts.from_minor(request.volume, currency),
        "enabledAt": fields.iso_or_none(row["enabled_at"]),
        "expiresAt": fields.iso_or_none(row["expires_at"]),
        "deletedAt": fields.iso_or_none(row["deleted_at"]),
        "seller": request.seller and request.seller.name,
    }


def _recorded_payment(row: database.Row, wanted: ExportFilter) -> Record:
    """Return the record of a payment of another server; no amount if the server sends none."""
    spec = request_spec.RequestSpec.from_json(row["wish"])
    paid = chat_payments.read_paid_by(row)
    record = {
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": spec and spec.name,
        "receivedAt": fields.iso(row["received_at"]),
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "settlement": row["settlement"],
        "kind": paid and paid.kind,
        "externalId": paid and paid.reference,
        "paidAmount": paid and amounts.from_minor(paid.amount, paid.currency),
        "paidCurrencyCode": paid and paid.currency,
        "rate": paid and paid.rate,
        "rateSource": paid and paid.source,
        "quantity": row["quantity"],
        "sentAt": fields.iso_or_none(row["sent_at"]),
        "paidBackAt": fields.iso_or_none(row["paid_back_at"]),
        **({"paidBackNote": row["paid_back_note"]} if wanted.payers else {}),
        "messageHidden": bool(row["message_hidden"]),
    }
    if not wanted.payers:
        return record
    return record | {"userData": stored_json.read(dict, row["body"])} | _words(row)


def _seller(row: database.Row, wanted: ExportFilter) -> Record:
    from bot.chat.cards import image_route  # noqa: PLC0415 - other exports start without it

    return {
        "telegramId": row["id"],
        "createdAt": fields.iso(row["created_at"]),
        "language": row["language"],
        "timeZone": row["zone"],
        "destination": row["destination"],
        "currencyCode": row["currency"],
        "name": row["name"],
        "about": row["about"],
        "contact": row["contact"],
        "accentColor": row["accent"],
        "imageUrl": row["image"] and f"{wanted.url}{image_route.PATH}/{row['image']}",
    }


def _receipt(row: database.Row, wanted: ExportFilter) -> Record:
    record = {
        "keptAt": fields.iso(row["kept_at"]),
        "transactionId": row["transaction_id"],
        "paymentRequestId": row["request_id"],
        "product": row["name"],
        "amount": amounts.from_minor(row["amount"], row["currency"]),
        "currencyCode": row["currency"],
        "status": row["status"],
    }
    return {"telegramId": row["account_id"], **record} if wanted.payers else record


# The names in records that include payers, in order.

PAYMENT_COLUMNS = (
    "transactionId", "paymentRequestId", "product", "completedAt", "amount", "currencyCode",
    "paidAmount", "paidCurrencyCode", "rate", "rateSource", "kind", "externalId", "settlement",
    "quantity", "sentAt", "paidBackAt", "messageHidden", "receivers", "paymail", "email",
    "phoneNumber", "name", "message", "sentNote", "paidBackNote",
)  # fmt: skip
REQUEST_COLUMNS = (
    "paymentRequestId", "product", "createdAt", "expirationType", "amount", "currencyCode", *UNITS,
    "payments", "oversold", "volume", "enabledAt", "expiresAt", "deletedAt", "seller",
)  # fmt: skip
SELLER_COLUMNS = (
    "telegramId", "createdAt", "language", "timeZone", "destination", "currencyCode", "name",
    "about", "contact", "accentColor", "imageUrl",
)  # fmt: skip
RECEIPT_COLUMNS = (
    "telegramId", "keptAt", "transactionId", "paymentRequestId", "product", "amount",
    "currencyCode", "status",
)  # fmt: skip
RECORDED_COLUMNS = (
    "transactionId", "paymentRequestId", "product", "receivedAt", "amount", "currencyCode",
    "settlement", "kind", "externalId", "paidAmount", "paidCurrencyCode", "rate", "rateSource",
    "quantity", "sentAt", "paidBackAt", "paidBackNote", "messageHidden", "userData", "name",
    "message", "sentNote",
)  # fmt: skip

RECORDED_PAYMENTS = "recorded payments"
"""The export of payments if PAYMENTS_URL names another server."""

EXPORTS = {
    # The chat marks a payment as paid back before it notifies the service.
    "payments": Export(
        f"SELECT {tables.of_table('p', payment_rows.COLUMNS)}, r.name,"  # noqa: S608 - our own names
        " COALESCE(p.paid_back_at, c.paid_back_at) AS returned_at,"
        " CASE WHEN p.paid_back_at IS NULL THEN c.paid_back_note ELSE p.paid_back_note END"
        " AS returned_note"
        " FROM payments p JOIN payment_requests r ON r.id = p.request_id"
        " LEFT JOIN received_payments c ON c.request_id = p.request_id"
        " AND c.transaction_id = p.id AND c.paid_back_at IS NOT NULL WHERE",
        {"p.request_id": "", "p.completed_at": 0, "p.id": ""},
        time="p.completed_at",
        request="p.request_id",
        record=_payment,
        columns=PAYMENT_COLUMNS,
        has_payers=True,
    ),
    "requests": Export(
        request_rows.EVERY,
        {"r.id": ""},
        time="r.created_at",
        request="r.id",
        record=_request,
        columns=REQUEST_COLUMNS,
    ),
    "sellers": Export(
        "SELECT id, language, destination, currency, zone, name, image, about, contact, accent,"
        " created_at FROM sellers WHERE",
        {"id": 0},
        time="created_at",
        record=_seller,
        columns=SELLER_COLUMNS,
    ),
    "receipts": Export(
        "SELECT request_id, transaction_id, account_id, kept_at, name, amount, currency, status"
        " FROM kept_receipts WHERE",
        {"request_id": "", "transaction_id": ""},
        time="kept_at",
        request="request_id",
        record=_receipt,
        columns=RECEIPT_COLUMNS,
        has_payers=True,
    ),
    RECORDED_PAYMENTS: Export(
        "SELECT p.request_id, p.transaction_id, p.amount, p.currency, p.body, p.received_at,"
        " p.paid_by, p.paid_back_at, p.paid_back_note, p.quantity, p.payer_name, p.message,"
        " p.message_hidden, p.sent_at, p.sent_note, l.wish,"
        " CASE WHEN p.underpaid = 1 THEN 'underpaid' WHEN p.oversold = 1 THEN 'oversold'"
        " ELSE 'paid' END AS settlement"
        " FROM received_payments p JOIN listings l ON l.id = p.listing_id WHERE",
        {"p.request_id": "", "p.transaction_id": ""},
        time="p.received_at",
        request="p.request_id",
        record=_recorded_payment,
        columns=RECORDED_COLUMNS,
        has_payers=True,
    ),
}
