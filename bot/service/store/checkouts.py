"""SQL of checkouts: each reserves a unit until it is paid, cancelled or lapses.

Units move between remaining, reserved and paid by guarded statements only.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bot.core import exact_json
from bot.service.model import quote
from bot.service.model.checkout import Checkout, CheckoutState, Held
from bot.service.model.request import PaymentState
from bot.service.store import payout_accounts
from bot.service.store.requests import read_row

if TYPE_CHECKING:
    from bot.core.database.database import Database, Row, Transaction
    from bot.service.model.checkout import Holder
    from bot.service.model.request import PaymentRequest

# Reserves a unit if the request can be paid at this moment.
RESERVE = f"""
    UPDATE payment_requests
    SET remaining_units = remaining_units - 1, reserved_units = reserved_units + 1
    WHERE id = :id AND deleted_at IS NULL
      AND (remaining_units IS NULL OR remaining_units > 0)
      AND (enabled_at IS NULL OR enabled_at <= :now)
      AND (expires_at IS NULL OR expires_at > :now)
      AND {payout_accounts.PAYABLE.format(request="payment_requests")} = 1
    RETURNING *, 0 AS lapsed, 1 AS payable
"""  # noqa: S608 - our own words
INSERT = """
    INSERT INTO checkouts (id, request_id, token, state, user_data, quote, created_at, lapses_at,
      network, payer, language)
    VALUES (:id, :request_id, :token, 'open', :user_data, :quote, :created_at, :lapses_at,
      :network, :payer, :language)
"""
# The holder is personal data: it is stored only while the checkout is open.
PAY = (
    "UPDATE checkouts SET state = 'paid', network = NULL, payer = NULL"
    " WHERE id = :id AND state = 'open' AND lapses_at > :now"
)
LAPSE = (
    "UPDATE checkouts SET state = 'lapsed', network = NULL, payer = NULL"
    " WHERE request_id = :id AND state = 'open' AND lapses_at <= :now"
)
TAKE_RESERVED = """
    UPDATE payment_requests
    SET reserved_units = reserved_units - 1, paid_count = paid_count + 1
    WHERE id = :id AND reserved_units > 0
"""
# Money for a reservation that ended takes any remaining unit, also of an expired request.
TAKE_LATE = """
    UPDATE payment_requests
    SET remaining_units = remaining_units - 1, paid_count = paid_count + 1
    WHERE id = :id AND (remaining_units IS NULL OR remaining_units > 0)
      AND EXISTS (SELECT 1 FROM checkouts WHERE id = :checkout AND state IN ('lapsed', 'cancelled'))
"""
FINISH = "UPDATE checkouts SET state = :state WHERE id = :id AND state IN ('lapsed', 'cancelled')"
CANCEL = (
    "UPDATE checkouts SET state = 'cancelled', network = NULL, payer = NULL"
    " WHERE id = :id AND request_id = :request_id AND state = 'open' AND lapses_at > :now"
)
RETURN = (
    "UPDATE payment_requests SET remaining_units = remaining_units + :units,"
    " reserved_units = reserved_units - :units WHERE id = :id"
)
OVERSELL = "UPDATE payment_requests SET oversold_count = oversold_count + 1 WHERE id = :id"
BY_ID = "SELECT * FROM checkouts WHERE id = :id"
BY_FORM = "SELECT * FROM checkouts WHERE request_id = :request_id AND token = :token"
# The plus keeps SQLite from the index by time, through which it would read every open checkout.
OPEN_BY = (
    "FROM checkouts WHERE request_id = :request_id AND network = :network"
    " AND state = 'open' AND +lapses_at > :now"
)
BY_PAYER = f"SELECT * {OPEN_BY} AND payer = :payer"
HELD = f"SELECT COUNT(*) AS total, COUNT(payer) AS known, MIN(lapses_at) AS until {OPEN_BY}"
OVERDUE = (
    "SELECT DISTINCT request_id FROM checkouts"
    " WHERE state = 'open' AND lapses_at <= :now LIMIT :most"
)
FORGET = (
    "DELETE FROM checkouts WHERE id IN (SELECT id FROM checkouts"
    " WHERE state IN ('lapsed', 'cancelled') AND lapses_at <= :before"
    " ORDER BY lapses_at LIMIT :most)"
)


def return_lapsed(tx: Transaction, request_id: str, now: int) -> None:
    """Return the units of lapsed reservations to the request."""
    lapsed = tx.execute(LAPSE, id=request_id, now=now)
    if lapsed:
        tx.execute(RETURN, id=request_id, units=lapsed)


def cancel(tx: Transaction, request_id: str, checkout_id: str, now: int) -> bool:
    """Cancel an open checkout and return its unit; return False, unchanged, for any other."""
    if not tx.execute(CANCEL, id=checkout_id, request_id=request_id, now=now):
        return False
    tx.execute(RETURN, id=request_id, units=1)
    return True


def reserve(tx: Transaction, request_id: str, now: int) -> PaymentRequest | None:
    """Reserve a unit; return None, unchanged, if the request can't be paid now."""
    return_lapsed(tx, request_id, now)
    row = tx.one(RESERVE, id=request_id, now=now)
    return read_row(row) if row else None


def insert(tx: Transaction, checkout: Checkout, holder: Holder) -> None:
    """Store the checkout of a unit just reserved."""
    tx.execute(
        INSERT,
        id=checkout.id,
        request_id=checkout.request_id,
        token=checkout.token,
        user_data=json.dumps(checkout.user_data),
        quote=quote.write(checkout.quote),
        created_at=checkout.created_at,
        lapses_at=checkout.lapses_at,
        network=holder.network,
        payer=holder.payer,
        language=checkout.language,
    )


def take_unit(tx: Transaction, checkout: Checkout, now: int) -> PaymentState:
    """Turn the checkout's unit into a paid one; return the state of its payment.

    A checkout whose reservation ended takes another unit if one remains. Otherwise, and for a
    second payment of one checkout, no unit is taken: the payment is oversold.
    """
    if tx.execute(PAY, id=checkout.id, now=now):
        if not tx.execute(TAKE_RESERVED, id=checkout.request_id):
            raise RuntimeError(f"checkout {checkout.id} had reserved nothing")
        return PaymentState.PAID
    return_lapsed(tx, checkout.request_id, now)
    taken = tx.execute(TAKE_LATE, id=checkout.request_id, checkout=checkout.id)
    settlement = PaymentState.LATE if taken else PaymentState.OVERSOLD
    tx.execute(FINISH, id=checkout.id, state=settlement.value)
    if not taken:
        tx.execute(OVERSELL, id=checkout.request_id)
    return settlement


def find(tx: Transaction, checkout_id: str) -> Checkout | None:
    """Return a checkout, None if it is unknown."""
    return _found(tx.one(BY_ID, id=checkout_id))


def find_by_form(tx: Transaction, request_id: str, token: str) -> Checkout | None:
    """Return the checkout that a form with this token opened."""
    return _found(tx.one(BY_FORM, request_id=request_id, token=token))


def find_by_holder(tx: Transaction, request_id: str, holder: Holder, now: int) -> Checkout | None:
    """Return the open checkout of a payer with a cookie, None without one."""
    if holder.payer is None:
        return None
    return _found(
        tx.one(BY_PAYER, request_id=request_id, network=holder.network, payer=holder.payer, now=now)
    )


def count_held(tx: Transaction, request_id: str, network: str, now: int) -> tuple[Held, int]:
    """Return a network's open checkouts of a request, and when the first of them lapses."""
    (row,) = tx.query(HELD, request_id=request_id, network=network, now=now)
    return Held(row["total"], row["total"] - row["known"]), row["until"] or now


def close_lapsed(tx: Transaction, now: int, most: int) -> int:
    """Close lapsed checkouts, with their holders, of up to `most` requests; return how many."""
    rows = tx.query(OVERDUE, now=now, most=most)
    for row in rows:
        return_lapsed(tx, row["request_id"], now)
    return len(rows)


def sweep(tx: Transaction, before: int, most: int) -> int:
    """Delete up to `most` unpaid checkouts that ended before `before`; return how many."""
    return tx.execute(FORGET, before=before, most=most)


async def read(db: Database, request_id: str, checkout_id: str) -> Checkout | None:
    """Return a checkout of this request."""
    return _found(
        await db.one(f"{BY_ID} AND request_id = :request_id", id=checkout_id, request_id=request_id)
    )


def _found(row: Row | None) -> Checkout | None:
    if row is None:
        return None
    return Checkout(
        id=row["id"],
        request_id=row["request_id"],
        token=row["token"],
        user_data=exact_json.loads(row["user_data"]),
        quote=quote.read(row["quote"]),
        created_at=row["created_at"],
        lapses_at=row["lapses_at"],
        stored_state=CheckoutState(row["state"]),
        language=row["language"],
    )
