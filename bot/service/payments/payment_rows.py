"""SQL of payments: each settlement is stored once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from operator import attrgetter
from typing import Any, TypeAlias

from bot.core import stored_json
from bot.core.database import database
from bot.interface import parts
from bot.service.checkouts import inventory, order
from bot.service.requests import request, request_rows

Shares: TypeAlias = tuple[int, ...]

FIELDS = (
    "id, request_id, amount, currency, completed_at, rail, external_id, checkout_id, quantity, "
    "first_unit"
)
"""The columns that are fields of a Payment as they are."""

MARKS = "message_hidden, sent_at, sent_note, paid_back_at, paid_back_note"
NAMES, MARK_NAMES = tuple(FIELDS.split(", ")), tuple(MARKS.split(", "))
COLUMNS = (
    f"{FIELDS}, {MARKS}, state, receivers, instrument_amount, instrument_currency,"
    " instrument_shares, rate, rate_source, rated_at, user_data, payer_name, message"
)
SELECT = f"SELECT {COLUMNS} FROM payments WHERE"  # noqa: S608 - our own names
BY_ID = f"{SELECT} request_id = :request_id AND id = :id"
# The payment that took a unit comes first, even if another has the same millisecond.
OF_CHECKOUT = (
    f"{SELECT} checkout_id = :id"
    " ORDER BY CASE state WHEN 'underpaid' THEN 2 WHEN 'oversold' THEN 1 ELSE 0 END,"
    " completed_at, id LIMIT 1"
)
# Payers are numbered at their first payment, so the highest number is the number of payers.
PAYERS = (
    "SELECT COALESCE(MAX(payer_number), 0) AS payers FROM payments"
    " WHERE request_id = :request_id AND payer_number IS NOT NULL"
)
PAYMENT = database.insert_into(
    "payments",
    f"{COLUMNS}, payer, payer_number",
    payer_number="CASE WHEN CAST(:payer AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM payments"  # noqa: S608 - our own words
    f" WHERE request_id = :request_id AND payer = :payer) THEN NULL ELSE 1 + ({PAYERS}) END",
)
OF_APP_EVER = (
    f"SELECT {database.of_table('p', COLUMNS)}, CASE r.expiration_type WHEN 'limit'"  # noqa: S608 - our own names
    " THEN r.total_units - r.decreased_units END AS of_units FROM payments p"
    " JOIN payment_requests r ON r.id = p.request_id"
    " WHERE p.request_id = :request_id AND r.app_id = :app_id"
)
OF_APP = f"{OF_APP_EVER} AND r.deleted_at IS NULL"
# The payment with unit number :first, and the following payments; no number is missing.
FROM_UNIT = (
    "request_id = :request_id AND first_unit >= (SELECT MAX(first_unit) FROM payments"
    " WHERE request_id = :request_id AND first_unit <= :first)"
)
WITH_LAST_UNIT = (
    f"{SELECT} {FROM_UNIT} AND first_unit <= :last AND first_unit + quantity - 1 >= :first"
    " AND first_unit + quantity - 1 <= :last AND paid_back_at IS NULL AND user_data <> '{}'"
    " ORDER BY first_unit LIMIT :most"
)
BY_ID_OF_APP = f"{OF_APP} AND p.id = :id"
BY_ID_OF_APP_EVER = f"{OF_APP_EVER} AND p.id = :id"


def insert(tx: database.Transaction, payment: request.Payment) -> None:
    """Store a payment. Raises ConstraintError if its settlement was stored before."""
    rate, took = payment.paid.rate, payment.state is not request.PaymentState.UNDERPAID
    tx.execute(
        PAYMENT,
        **dict(zip(NAMES, _fields(payment), strict=True)),
        **_marks(payment.marks),
        state=payment.state.value,
        receivers=request_rows.write_receivers(payment.receivers),
        instrument_amount=payment.paid.amount,
        instrument_currency=payment.paid.currency,
        instrument_shares=stored_json.write(Shares, payment.paid.shares),
        rate=str(rate.rate) if rate else None,
        rate_source=rate.source if rate else None,
        rated_at=rate.at if rate else None,
        user_data=stored_json.write(dict, payment.user_data),
        payer=order.payer_key(payment.user_data) if took else None,
        payer_name=payment.words.name,
        message=payment.words.message,
    )


def of_settlement(tx: database.Transaction, external_id: str) -> request.Payment | None:
    """Return the payment of a settlement, or None if the settlement is new."""
    return _found(tx.one(f"{SELECT} external_id = :external_id", external_id=external_id))


def find_of_app(
    tx: database.Transaction, app_id: str, request_id: str, payment_id: str
) -> request.Payment | None:
    """Return one payment of the application's request, including deleted requests."""
    return _found(tx.one(BY_ID_OF_APP_EVER, app_id=app_id, request_id=request_id, id=payment_id))


def find(tx: database.Transaction, request_id: str, payment_id: str) -> request.Payment | None:
    """Return a payment of a request."""
    return _found(tx.one(BY_ID, request_id=request_id, id=payment_id))


def with_last_unit(
    tx: database.Transaction, request_id: str, units: range, most: int
) -> list[request.Payment]:
    """Return up to `most` payments whose last unit is in `units`, in the order of their units.

    Payments that were paid back, or whose payers entered no data, are left out.
    """
    place = {"first": units[0], "last": units[-1], "most": most}
    rows = tx.query(WITH_LAST_UNIT, request_id=request_id, **place)
    return [read_row(row) for row in rows]


def delete_underpaid(tx: database.Transaction, payment_id: str) -> None:
    """Delete an underpaid payment, whose id a new payment takes over."""
    tx.execute("DELETE FROM payments WHERE id = :id AND state = 'underpaid'", id=payment_id)


def first_of_checkout(tx: database.Transaction, checkout_id: str) -> request.Payment | None:
    """Return the first payment of a checkout."""
    return _found(tx.one(OF_CHECKOUT, id=checkout_id))


async def read_of_checkout(db: database.Database, checkout_id: str) -> request.Payment | None:
    """Return the first payment of a checkout, without waiting for the writer."""
    return _found(await db.one(OF_CHECKOUT, id=checkout_id))


async def read(db: database.Database, request_id: str, payment_id: str) -> request.Payment | None:
    """Return a payment by both ids, which its payer knows."""
    return _found(await db.one(BY_ID, request_id=request_id, id=payment_id))


async def read_of_app(
    db: database.Database, app_id: str, request_id: str, payment_id: str
) -> request.Payment | None:
    """Return one payment of the application's request."""
    return _found(await db.one(BY_ID_OF_APP, app_id=app_id, request_id=request_id, id=payment_id))


async def page(
    db: database.Database,
    app_id: str,
    request_id: str,
    *,
    limit: int,
    after: request_rows.Place | None,
) -> list[request.Payment]:
    """Return the payments of the application's request, newest first, after a place."""
    place = {"at": after.at, "after_id": after.id} if after else {}
    rows = await db.query(
        page_sql(after), app_id=app_id, request_id=request_id, limit=limit, **place
    )
    return [read_row(row) for row in rows]


def page_sql(after: request_rows.Place | None) -> str:
    narrowed = " AND (p.completed_at, p.id) < (:at, :after_id)" if after else ""
    return f"{OF_APP}{narrowed} ORDER BY p.completed_at DESC, p.id DESC LIMIT :limit"


async def count_payers(db: database.Database, request_id: str) -> int:
    """Return how many identified payers have paid a request."""
    row = await db.one(PAYERS, request_id=request_id)
    return row["payers"] if row else 0


_fields = attrgetter(*NAMES)


def _found(row: database.Row | None) -> request.Payment | None:
    return read_row(row) if row else None


def read_row(row: database.Row) -> request.Payment:
    """Return the payment of a row of its table."""
    rate = None
    if row["rate"] is not None:
        rate = request.ExchangeRate(Decimal(row["rate"]), row["rate_source"], row["rated_at"])
    shares = stored_json.read(Shares, row["instrument_shares"])
    marks = {name: row[name] for name in MARK_NAMES}
    return request.Payment(
        **{name: row[name] for name in NAMES},
        receivers=request_rows.read_receivers(row["receivers"]),
        user_data=stored_json.read(dict, row["user_data"]),
        paid=request.Quote(row["instrument_amount"], row["instrument_currency"], shares, rate),
        state=request.PaymentState(row["state"]),
        of_units=row.get("of_units"),
        words=parts.PayerWords(row["payer_name"], row["message"]),
        marks=request.Marks(**marks | {"message_hidden": bool(row["message_hidden"])}),
    )


def _marks(marks: request.Marks) -> dict[str, Any]:
    return asdict(marks) | {"message_hidden": int(marks.message_hidden)}


# SQL of the seller's marks on payments, and of the sum that the marks change.


WRITE = """
    UPDATE payments SET message_hidden = :message_hidden, sent_at = :sent_at,
      sent_note = :sent_note, paid_back_at = :paid_back_at, paid_back_note = :paid_back_note
    WHERE id = :id
"""
HIDDEN = "SELECT id FROM payments WHERE message_hidden = 1 AND id IN ({ids})"


def write_mark(tx: database.Transaction, payment: request.Payment, marks: request.Marks) -> None:
    """Store the marks of a payment; a payment that is paid back no longer counts as raised.

    The request must be locked, so that the marks of `payment` equal the stored marks.
    """
    tx.execute(WRITE, id=payment.id, **_marks(marks))
    was, is_back = payment.marks.paid_back_at is not None, marks.paid_back_at is not None
    if was != is_back:
        inventory.count_raised(tx, payment, back=is_back)


def is_hidden(tx: database.Transaction, payment_ids: Sequence[str]) -> set[str]:
    """Return the ids of the payments whose message the seller has hidden."""
    given = {f"id{place}": one for place, one in enumerate(payment_ids)}
    if not given:
        return set()
    sql = HIDDEN.format(ids=", ".join(f":{name}" for name in given))
    return {row["id"] for row in tx.query(sql, **given)}
