"""SQL of checkouts and payments: a checkout reserves a unit, a payment takes it for good."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.service.model.request import Payment, Stats
from bot.service.store.requests import Place, read_receivers, read_row, write_receivers

if TYPE_CHECKING:
    from bot.core.db import Database, Row, Transaction
    from bot.service.model.request import PaymentRequest

# Reserves a unit where the request can be paid at this very moment.
RESERVE = """
    UPDATE payment_requests
    SET remaining_units = remaining_units - 1, reserved_units = reserved_units + 1
    WHERE id = :id AND deleted_at IS NULL
      AND (remaining_units IS NULL OR remaining_units > 0)
      AND (enabled_at IS NULL OR enabled_at <= :now)
      AND (expires_at IS NULL OR expires_at > :now)
    RETURNING *, 0 AS lapsed
"""
TAKE = """
    UPDATE payment_requests
    SET reserved_units = reserved_units - 1, paid_count = paid_count + 1
    WHERE id = :id AND reserved_units > 0
    RETURNING remaining_units
"""
PAYMENT = """
    INSERT INTO payments (id, request_id, checkout_id, rail, external_id, amount, currency,
                          receivers, user_data, payer, completed_at)
    VALUES (:id, :request_id, :checkout_id, :rail, :external_id, :amount, :currency,
            :receivers, :user_data, :payer, :completed_at)
"""
PAID_BY_FORM = """
    SELECT p.* FROM payments p JOIN checkouts c ON c.id = p.checkout_id
    WHERE c.request_id = :request_id AND c.token = :token
"""
BY_ID = "SELECT * FROM payments WHERE request_id = :request_id AND id = :id"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A payer's attempt to pay; `token` is the hidden one of their form."""

    id: str
    request_id: str
    token: str
    user_data: str
    created_at: int
    lapses_at: int


def return_lapsed(tx: Transaction, request_id: str, now: int) -> None:
    """Give back the units of reservations that have lapsed."""
    lapsed = tx.execute(
        "UPDATE checkouts SET state = 'lapsed'"
        " WHERE request_id = :id AND state = 'open' AND lapses_at <= :now",
        id=request_id,
        now=now,
    )
    if lapsed:
        tx.execute(
            "UPDATE payment_requests SET remaining_units = remaining_units + :lapsed,"
            " reserved_units = reserved_units - :lapsed WHERE id = :id",
            id=request_id,
            lapsed=lapsed,
        )


def open_checkout(tx: Transaction, checkout: Checkout) -> PaymentRequest | None:
    """Reserve a unit for the payer; None, and nothing changed, where there is none to have."""
    return_lapsed(tx, checkout.request_id, checkout.created_at)
    row = tx.one(RESERVE, id=checkout.request_id, now=checkout.created_at)
    if row is None:
        return None
    tx.execute(
        "INSERT INTO checkouts (id, request_id, token, state, user_data, created_at, lapses_at)"
        " VALUES (:id, :request_id, :token, 'open', :user_data, :created_at, :lapses_at)",
        id=checkout.id,
        request_id=checkout.request_id,
        token=checkout.token,
        user_data=checkout.user_data,
        created_at=checkout.created_at,
        lapses_at=checkout.lapses_at,
    )
    return read_row(row)


def settle(
    tx: Transaction, checkout: Checkout, payment: Payment, rail: tuple[str, str], payer: str | None
) -> int | None:
    """Turn the reserved unit into a paid one; give what remains, None where any number may pay.

    `rail` is the rail's name and its own id of the payment.
    """
    tx.execute("UPDATE checkouts SET state = 'paid' WHERE id = :id", id=checkout.id)
    tx.execute(
        PAYMENT,
        id=payment.id,
        request_id=payment.request_id,
        checkout_id=checkout.id,
        rail=rail[0],
        external_id=rail[1],
        amount=payment.amount,
        currency=payment.currency,
        receivers=write_receivers(payment.receivers),
        user_data=json.dumps(payment.user_data),
        payer=payer,
        completed_at=payment.completed_at,
    )
    row = tx.one(TAKE, id=payment.request_id)
    if row is None:
        raise RuntimeError(f"checkout {checkout.id} had reserved nothing")
    remaining: int | None = row["remaining_units"]
    return remaining


def paid_with(tx: Transaction, request_id: str, token: str) -> Payment | None:
    """Give the payment that a form with this token made before."""
    row = tx.one(PAID_BY_FORM, request_id=request_id, token=token)
    return _payment(row) if row else None


async def read(db: Database, request_id: str, payment_id: str) -> Payment | None:
    """Give one payment of a request."""
    row = await db.one(BY_ID, request_id=request_id, id=payment_id)
    return _payment(row) if row else None


async def read_product(db: Database, request_id: str) -> str | None:
    """Name of what was paid for, also once the request is deleted."""
    row = await db.one("SELECT name FROM payment_requests WHERE id = :id", id=request_id)
    return row["name"] if row else None


async def page(db: Database, request_id: str, limit: int, after: Place | None) -> list[Payment]:
    """Give the payments of a request, newest first, beginning after a place."""
    sql = "SELECT * FROM payments WHERE request_id = :request_id"
    if after:
        sql += " AND (completed_at, id) < (:at, :after_id)"
    sql += " ORDER BY completed_at DESC, id DESC LIMIT :limit"
    place = {"at": after.at, "after_id": after.id} if after else {}
    rows = await db.query(sql, request_id=request_id, limit=limit, **place)
    return [_payment(row) for row in rows]


async def read_stats(db: Database, request: PaymentRequest) -> Stats:
    """Figures of a request; each payment is of the same amount, which no edit changes."""
    row = await db.one(
        "SELECT COUNT(DISTINCT payer) AS payers FROM payments"
        " WHERE request_id = :id AND payer IS NOT NULL",
        id=request.id,
    )
    return Stats(
        payments=request.paid_count,
        volume=request.paid_count * request.terms.amount,
        currency=request.terms.currency,
        payers=row["payers"] if row else 0,
    )


def _payment(row: Row) -> Payment:
    return Payment(
        id=row["id"],
        request_id=row["request_id"],
        amount=row["amount"],
        currency=row["currency"],
        receivers=read_receivers(row["receivers"]),
        user_data=json.loads(row["user_data"]),
        completed_at=row["completed_at"],
    )
