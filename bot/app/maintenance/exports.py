"""Exports: payments, requests, sellers and kept receipts, as records for other programs.

A row of EXPORTS says what is selected, page by page, and which columns a record has, with the names
of the interface and exact amounts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.chat.model import request_spec
from bot.chat.store import payment_rows as chat_payments
from bot.core import stored_json
from bot.core.database import database
from bot.core.money import amounts
from bot.interface import fields
from bot.service.api import to_answers
from bot.service.payments import payment_rows
from bot.service.requests import request_rows

FOREVER = 2**63 - 1

Column: TypeAlias = str | Callable[[database.Row], object]
"""A column of the row, or a function that reads its value."""


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
    columns: Mapping[str, Column]
    """What a record that includes payers has, in order."""
    request: str = ""
    """The column with the request's id, by which rows are chosen."""
    has_payers: bool = False
    """Records contain payers' personal data."""
    prepare: Callable[[database.Row, ExportFilter], database.Row] = lambda row, _: row
    """Adds to a row what its columns are read from."""

    def header(self, wanted: ExportFilter) -> tuple[str, ...]:
        """Return the names in each record."""
        left_out = OF_PAYERS if self.has_payers and not wanted.payers else ()
        return tuple(name for name in self.columns if name not in left_out)


OF_PAYERS = frozenset(
    [
        *("telegramId", "paymail", "email", "phoneNumber", "userData"),
        *("name", "message", "sentNote", "paidBackNote"),
    ]
)
"""Names in records of payments and receipts that are left out with their payers."""


async def read(
    db: database.Database, export: Export, wanted: ExportFilter
) -> AsyncIterator[dict[str, Any]]:
    """Yield the records of an export, in the order of its keys."""
    where = f"{export.time} >= :since AND {export.time} < :until"
    if wanted.request_id is not None:
        where += f" AND {export.request} = :only"
    given = {"since": wanted.since, "until": wanted.until, "only": wanted.request_id}
    columns = [(name, export.columns[name]) for name in export.header(wanted)]
    pages = database.read_pages(
        db, f"{export.select} {where}", export.keys, now=wanted.now, **given
    )
    async for page in pages:
        for found in page:
            row = export.prepare(found, wanted)
            yield {
                name: row[column] if isinstance(column, str) else column(row)
                for name, column in columns
            }


def _time(column: str) -> Column:
    return lambda row: fields.iso_or_none(row[column])


def _amount(column: str, currency: str = "currency") -> Column:
    return lambda row: amounts.from_minor(row[column], row[currency])


def _asked(name: str) -> Column:
    return lambda row: stored_json.read(dict, row["user_data"]).get(name)


def _is_hidden(row: database.Row) -> bool:
    """True if the seller has hidden the payer's words."""
    return bool(row["message_hidden"])


def _word(column: str) -> Column:
    return lambda row: None if _is_hidden(row) else row[column]


WORDS: Mapping[str, Column] = {
    "name": _word("payer_name"), "message": _word("message"), "sentNote": "sent_note",
}  # fmt: skip
"""The payer's words and the seller's note."""

UNITS = ("totalUnits", "remainingUnits", "reservedUnits")
"""Empty for a request without units."""


def _receivers(row: database.Row) -> list[dict[str, object]]:
    return [
        {"destination": one.destination, "amount": amounts.from_minor(one.amount, row["currency"])}
        for one in request_rows.read_receivers(row["receivers"])
    ]


def _prepare_request(row: database.Row, _: ExportFilter) -> database.Row:
    """Add a request's units, which match the interface's answer, and its totals."""
    request = request_rows.read_row(row)
    units = zip(UNITS, to_answers.units(request).values(), strict=False)
    return row | dict.fromkeys(UNITS) | dict(units) | {
        "currency": row["denomination_currency"] or row["instrument_currency"],
        "payments": request.payments_count,
        "volume": request.volume,
        "seller": request.seller and request.seller.name,
    }  # fmt: skip


def _prepare_recorded(row: database.Row, _: ExportFilter) -> database.Row:
    """Add what another server's payment was for, and how it was paid."""
    spec = request_spec.RequestSpec.from_json(row["wish"])
    return row | {"product": spec and spec.name, "paid": chat_payments.read_paid_by(row)}


def _of_paid(name: str) -> Column:
    return lambda row: row["paid"] and getattr(row["paid"], name)


def _image_url(row: database.Row, wanted: ExportFilter) -> database.Row:
    from bot.chat.cards import image_route  # noqa: PLC0415 - other exports start without it

    return row | {"image": row["image"] and f"{wanted.url}{image_route.PATH}/{row['image']}"}


RECORDED_PAYMENTS = "recorded payments"
"""The export of payments if PAYMENTS_URL names another server."""

EXPORTS = {
    # The chat marks a payment as paid back before it notifies the service.
    "payments": Export(
        f"SELECT {database.of_table('p', payment_rows.COLUMNS)}, r.name,"  # noqa: S608 - our own names
        " COALESCE(p.paid_back_at, c.paid_back_at) AS returned_at,"
        " CASE WHEN p.paid_back_at IS NULL THEN c.paid_back_note ELSE p.paid_back_note END"
        " AS returned_note"
        " FROM payments p JOIN payment_requests r ON r.id = p.request_id"
        " LEFT JOIN received_payments c ON c.request_id = p.request_id"
        " AND c.transaction_id = p.id AND c.paid_back_at IS NOT NULL WHERE",
        {"p.request_id": "", "p.completed_at": 0, "p.id": ""},
        time="p.completed_at",
        request="p.request_id",
        columns={
            "transactionId": "id",
            "paymentRequestId": "request_id",
            "product": "name",
            "completedAt": _time("completed_at"),
            "amount": _amount("amount"),
            "currencyCode": "currency",
            "paidAmount": _amount("instrument_amount", "instrument_currency"),
            "paidCurrencyCode": "instrument_currency",
            "rate": "rate",
            "rateSource": "rate_source",
            "kind": "rail",
            "externalId": "external_id",  # an invoice's id, or a bank transfer's reference
            "settlement": "state",
            "quantity": "quantity",
            "sentAt": _time("sent_at"),
            "paidBackAt": _time("returned_at"),
            "messageHidden": _is_hidden,
            "receivers": _receivers,
            "paymail": _asked("paymail"),
            "email": _asked("email"),
            "phoneNumber": _asked("phoneNumber"),
            **WORDS,
            "paidBackNote": "returned_note",
        },
        has_payers=True,
    ),
    "requests": Export(
        request_rows.EVERY,
        {"r.id": ""},
        time="r.created_at",
        request="r.id",
        prepare=_prepare_request,
        columns={
            "paymentRequestId": "id",
            "product": "name",
            "createdAt": _time("created_at"),
            "expirationType": "expiration_type",
            "amount": _amount("amount"),
            "currencyCode": "currency",
            **dict(zip(UNITS, UNITS, strict=True)),
            "payments": "payments",  # oversold ones too, and in the volume
            "oversold": "oversold_count",
            "volume": _amount("volume"),
            "enabledAt": _time("enabled_at"),
            "expiresAt": _time("expires_at"),
            "deletedAt": _time("deleted_at"),
            "seller": "seller",
        },
    ),
    "sellers": Export(
        "SELECT id, language, destination, currency, zone, name, image, about, contact, accent,"
        " created_at FROM sellers WHERE",
        {"id": 0},
        time="created_at",
        prepare=_image_url,
        columns={
            "telegramId": "id",
            "createdAt": _time("created_at"),
            "language": "language",
            "timeZone": "zone",
            "destination": "destination",
            "currencyCode": "currency",
            "name": "name",
            "about": "about",
            "contact": "contact",
            "accentColor": "accent",
            "imageUrl": "image",
        },
    ),
    "receipts": Export(
        "SELECT request_id, transaction_id, account_id, kept_at, name, amount, currency, status"
        " FROM kept_receipts WHERE",
        {"request_id": "", "transaction_id": ""},
        time="kept_at",
        request="request_id",
        columns={
            "telegramId": "account_id",
            "keptAt": _time("kept_at"),
            "transactionId": "transaction_id",
            "paymentRequestId": "request_id",
            "product": "name",
            "amount": _amount("amount"),
            "currencyCode": "currency",
            "status": "status",
        },
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
        prepare=_prepare_recorded,
        columns={
            "transactionId": "transaction_id",
            "paymentRequestId": "request_id",
            "product": "product",
            "receivedAt": _time("received_at"),
            "amount": _amount("amount"),
            "currencyCode": "currency",
            "settlement": "settlement",
            "kind": _of_paid("kind"),
            "externalId": _of_paid("reference"),
            "paidAmount": lambda row: (
                row["paid"] and amounts.from_minor(row["paid"].amount, row["paid"].currency)
            ),
            "paidCurrencyCode": _of_paid("currency"),
            "rate": _of_paid("rate"),
            "rateSource": _of_paid("source"),
            "quantity": "quantity",
            "sentAt": _time("sent_at"),
            "paidBackAt": _time("paid_back_at"),
            "paidBackNote": "paid_back_note",
            "messageHidden": _is_hidden,
            "userData": lambda row: stored_json.read(dict, row["body"]),
            **WORDS,
        },
        has_payers=True,
    ),
}
