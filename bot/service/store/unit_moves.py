"""SQL that moves units between remaining, reserved and paid: guarded statements only.

A checkout changes its state together with its unit, from the states that
model/checkout_states.py allows. Callers hold the request's row: `take` locks it, everything
else is called after `requests.lock` (docs/decisions/0069-one-lock-order.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.model.checkout_states import ENDED, CheckoutState, before
from bot.service.model.request import PaymentState
from bot.service.store import payout_accounts
from bot.service.store.requests import COLUMNS, lock, read_row
from bot.service.store.state_conditions import GIVEN_UP, HOLDS, one_of

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.checkout import Checkout
    from bot.service.model.request import PaymentRequest


# The holder is personal data: it is stored only while the checkout holds a unit.
NOBODY = "network = NULL, payer = NULL"

RESERVED, SOLD = "reserved_units", "paid_count"
"""Columns that count the units taken from those that remain."""

# Takes a unit if the request can be paid at this moment.
_TAKE = f"""
    UPDATE payment_requests
    SET remaining_units = remaining_units - 1, {{column}} = {{column}} + 1
    WHERE id = :id AND deleted_at IS NULL
      AND (remaining_units IS NULL OR remaining_units > 0)
      AND (enabled_at IS NULL OR enabled_at <= :now)
      AND (expires_at IS NULL OR expires_at > :now)
      AND {payout_accounts.PAYABLE.format(request="payment_requests")} = 1
    RETURNING {COLUMNS}, 1 AS payable
"""  # noqa: S608 - our own words
TAKE = {column: _TAKE.format(column=column) for column in (RESERVED, SOLD)}
GIVE_BACK = {
    column: "UPDATE payment_requests SET remaining_units = remaining_units + :units,"  # noqa: S608 - our own words
    f" {column} = {column} - :units WHERE id = :id"
    for column in (RESERVED, SOLD)
}
PAY = (
    f"UPDATE checkouts SET state = 'paid', {NOBODY}"  # noqa: S608 - our own words
    f" WHERE id = :id AND {one_of(before(CheckoutState.PAID))} AND lapses_at > :now"
)
LAPSE = (
    f"UPDATE checkouts SET state = 'lapsed', {NOBODY}"  # noqa: S608 - our own words
    f" WHERE request_id = :id AND {HOLDS} AND lapses_at <= :now"
)
TAKE_RESERVED = """
    UPDATE payment_requests
    SET reserved_units = reserved_units - 1, paid_count = paid_count + 1
    WHERE id = :id AND reserved_units > 0
"""
# Money for a checkout without a unit takes any remaining one, also of an expired request.
TAKE_LATE = f"""
    UPDATE payment_requests
    SET remaining_units = remaining_units - 1, paid_count = paid_count + 1
    WHERE id = :id AND (remaining_units IS NULL OR remaining_units > 0)
      AND EXISTS (SELECT 1 FROM checkouts WHERE id = :checkout AND {GIVEN_UP})
"""  # noqa: S608 - our own words
FINISH = f"UPDATE checkouts SET state = :state WHERE id = :id AND {GIVEN_UP}"  # noqa: S608 - our own words
OVERSELL = "UPDATE payment_requests SET oversold_count = oversold_count + 1 WHERE id = :id"
END = {
    state: f"UPDATE checkouts SET state = '{state}', failure = :failure, {NOBODY}"  # noqa: S608 - our own words
    f" WHERE id = :id AND {one_of(before(state))} AND lapses_at > :now"
    for state in ENDED
}
CLAIM = (
    "UPDATE checkouts SET state = 'claimed', claimed_at = :now, lapses_at = :until"
    " WHERE id = :id AND state = 'open' AND lapses_at > :now"
)
CLAIM_AGAIN = (
    "UPDATE checkouts SET state = 'claimed', claimed_at = :now, lapses_at = :until"
    " WHERE id = :id AND state = 'lapsed'"
)
RESERVE_AGAIN = """
    UPDATE payment_requests
    SET remaining_units = remaining_units - 1, reserved_units = reserved_units + 1
    WHERE id = :id AND deleted_at IS NULL AND (remaining_units IS NULL OR remaining_units > 0)
"""
OVERDUE = (
    f"SELECT DISTINCT request_id FROM checkouts WHERE {HOLDS} AND lapses_at <= :now LIMIT :most"  # noqa: S608 - our own words
)


def return_lapsed(tx: Transaction, request_id: str, now: int) -> int:
    """Return the units of lapsed reservations to the request; return how many."""
    lapsed = tx.execute(LAPSE, id=request_id, now=now)
    if lapsed:
        give_back(tx, request_id, RESERVED, lapsed)
    return lapsed


def close_lapsed(tx: Transaction, now: int, most: int) -> int:
    """Close lapsed checkouts, with their holders, of up to `most` requests; return how many."""
    found = sorted(row["request_id"] for row in tx.query(OVERDUE, now=now, most=most))
    for request_id in found:
        lock(tx, request_id)
        return_lapsed(tx, request_id, now)
    return len(found)


def take(tx: Transaction, request_id: str, column: str, now: int) -> PaymentRequest | None:
    """Take a remaining unit, counted in RESERVED or SOLD, and lock the request.

    Return None, unchanged, if none remains or the request can't be paid now. Units of lapsed
    reservations remain only once they are returned.
    """
    row = tx.one(TAKE[column], id=request_id, now=now)
    if row is None:
        return None
    others = row[RESERVED] - (column == RESERVED)
    lapsed = return_lapsed(tx, request_id, now) if others else 0
    return read_row({**row, "lapsed": lapsed})


def give_back(tx: Transaction, request_id: str, column: str, units: int = 1) -> None:
    """Return units that were taken to those that remain."""
    tx.execute(GIVE_BACK[column], id=request_id, units=units)


def end(
    tx: Transaction, checkout: Checkout, state: CheckoutState, now: int, failure: str | None = None
) -> bool:
    """End a checkout without its money and return its unit at once.

    Return False, unchanged, if it is in a state that `state` can't follow.
    """
    if not tx.execute(END[state], id=checkout.id, now=now, failure=failure):
        return False
    give_back(tx, checkout.request_id, RESERVED)
    tx.count("checkouts", checkout.kind, state.value)
    return True


def claim(tx: Transaction, checkout: Checkout, now: int, until: int) -> bool:
    """Hold the unit of an open checkout until a time; False, unchanged, in any other state."""
    if not tx.execute(CLAIM, id=checkout.id, now=now, until=until):
        return False
    tx.count("checkouts", checkout.kind, CheckoutState.CLAIMED.value)
    return True


def claim_again(tx: Transaction, checkout: Checkout, now: int, until: int) -> bool:
    """Reserve another unit for a lapsed checkout until a time.

    Return False if none is left; the unit is reserved only in a transaction that succeeds.
    """
    return_lapsed(tx, checkout.request_id, now)
    if not tx.execute(RESERVE_AGAIN, id=checkout.request_id):
        return False
    if not tx.execute(CLAIM_AGAIN, id=checkout.id, now=now, until=until):
        raise RuntimeError(f"checkout {checkout.id} has not lapsed")
    tx.count("checkouts", checkout.kind, CheckoutState.CLAIMED.value)
    return True


def take_unit(tx: Transaction, checkout: Checkout, now: int) -> PaymentState:
    """Turn the checkout's unit into a paid one; return the state of its payment.

    A checkout that was given up takes another unit if one remains. Otherwise, and for a second
    payment of one checkout, no unit is taken: the payment is oversold.
    """
    if tx.execute(PAY, id=checkout.id, now=now):
        if not tx.execute(TAKE_RESERVED, id=checkout.request_id):
            raise RuntimeError(f"checkout {checkout.id} had reserved nothing")
        tx.count("checkouts", checkout.kind, CheckoutState.PAID.value)
        return PaymentState.PAID
    return_lapsed(tx, checkout.request_id, now)
    taken = tx.execute(TAKE_LATE, id=checkout.request_id, checkout=checkout.id)
    state = PaymentState.LATE if taken else PaymentState.OVERSOLD
    if tx.execute(FINISH, id=checkout.id, state=state.value):
        tx.count("checkouts", checkout.kind, state.value)
    if not taken:
        tx.execute(OVERSELL, id=checkout.request_id)
    return state
