"""SQL that moves units between remaining, reserved and paid: guarded statements only.

A checkout changes its state together with its units, all of them or none, from the states that
model/checkout_states.py allows. The sum of money that sold units brought moves with them. Callers
hold the request's row: `take` locks it, everything else is called after `requests.lock`
(docs/decisions/0069-one-lock-order.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.database.big_sums import BILLION, split_amount
from bot.service.model.checkout_states import ENDED, CheckoutState, before
from bot.service.model.request import PaymentState
from bot.service.store import payout_accounts
from bot.service.store.requests import COLUMNS, lock, read_row
from bot.service.store.state_conditions import GIVEN_UP, HOLDS, one_of

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.checkout import Checkout
    from bot.service.model.order import Order
    from bot.service.model.request import Payment, PaymentRequest


# The holder is personal data: it is stored only while the checkout holds its units.
NOBODY = "network = NULL, payer = NULL, site = NULL"

RESERVED, SOLD = "reserved_units", "paid_count"
"""Columns that count the units taken from those that remain."""


def _add(total: str, billions: str, rest: str) -> str:
    """Write how an amount is added to one of the sums, each in the two parts of big_sums."""
    whole = f"({total}_rest + {rest})"
    return (
        f"{total}_billions = {total}_billions + {billions} + {whole} / {BILLION},"
        f" {total}_rest = {whole} - {whole} / {BILLION} * {BILLION}"
    )


_SUM = "(:units * COALESCE(:price, amount))"
_SUM_BILLIONS = f"{_SUM} / {BILLION}"
_SUM_REST = f"{_SUM} - {_SUM_BILLIONS} * {BILLION}"
_TAKE_IN = _add("volume", _SUM_BILLIONS, _SUM_REST)
# The parts of a known amount, which may be less than nothing.
_RAISE_BY = _add("raised", ":billions", ":rest")
_SELL = (
    f"paid_count = paid_count + :units, sales_count = sales_count + 1, {_TAKE_IN},"
    f" {_add('raised', _SUM_BILLIONS, _SUM_REST)}"
)
_RESERVE = "reserved_units = reserved_units + :units"
# Takes the units if the request can be paid at this moment.
_TAKE = f"""
    UPDATE payment_requests SET remaining_units = remaining_units - :units, {{counted}}
    WHERE id = :id AND deleted_at IS NULL
      AND (remaining_units IS NULL OR remaining_units >= :units)
      AND :units <= COALESCE(max_quantity, 1)
      AND (enabled_at IS NULL OR enabled_at <= :now)
      AND (expires_at IS NULL OR expires_at > :now)
      AND {payout_accounts.PAYABLE.format(request="payment_requests")} = 1
    RETURNING {COLUMNS}, 1 AS payable
"""  # noqa: S608 - our own words
TAKE = {RESERVED: _TAKE.format(counted=_RESERVE), SOLD: _TAKE.format(counted=_SELL)}
GIVE_BACK = """
    UPDATE payment_requests
    SET remaining_units = remaining_units + :units, reserved_units = reserved_units - :units
    WHERE id = :id
"""
UNDO_SALE = f"""
    UPDATE payment_requests
    SET remaining_units = remaining_units + :units, paid_count = paid_count - :units,
      sales_count = sales_count - 1, {_RAISE_BY}, {_add("volume", ":billions", ":rest")}
    WHERE id = :id
"""  # noqa: S608 - our own words
RAISE = f"UPDATE payment_requests SET {_RAISE_BY} WHERE id = :id"  # noqa: S608 - our own words
PAY = (
    f"UPDATE checkouts SET state = 'paid', {NOBODY}"  # noqa: S608 - our own words
    f" WHERE id = :id AND {one_of(before(CheckoutState.PAID))} AND lapses_at > :now"
)
LAPSE = (
    f"UPDATE checkouts SET state = 'lapsed', {NOBODY}"  # noqa: S608 - our own words
    f" WHERE request_id = :id AND {HOLDS} AND lapses_at <= :now RETURNING quantity"
)
TAKE_RESERVED = f"""
    UPDATE payment_requests SET reserved_units = reserved_units - :units, {_SELL}
    WHERE id = :id AND reserved_units >= :units
"""  # noqa: S608 - our own words
# Money for a checkout without units takes any that remain, also of an expired request.
TAKE_LATE = f"""
    UPDATE payment_requests SET remaining_units = remaining_units - :units, {_SELL}
    WHERE id = :id AND (remaining_units IS NULL OR remaining_units >= :units)
      AND EXISTS (SELECT 1 FROM checkouts WHERE id = :checkout AND {GIVEN_UP})
"""  # noqa: S608 - our own words
FINISH = f"UPDATE checkouts SET state = :state WHERE id = :id AND {GIVEN_UP}"  # noqa: S608 - our own words
OVERSELL = (
    f"UPDATE payment_requests SET oversold_count = oversold_count + 1, {_TAKE_IN} WHERE id = :id"  # noqa: S608 - our own words
)
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
    SET remaining_units = remaining_units - :units, reserved_units = reserved_units + :units
    WHERE id = :id AND deleted_at IS NULL AND (remaining_units IS NULL OR remaining_units >= :units)
"""
OVERDUE = (
    f"SELECT DISTINCT request_id FROM checkouts WHERE {HOLDS} AND lapses_at <= :now LIMIT :most"  # noqa: S608 - our own words
)


def return_lapsed(tx: Transaction, request_id: str, now: int) -> int:
    """Return the units of lapsed reservations to the request; return how many."""
    lapsed: int = sum(row["quantity"] for row in tx.query(LAPSE, id=request_id, now=now))
    if lapsed:
        tx.execute(GIVE_BACK, id=request_id, units=lapsed)
    return lapsed


def close_lapsed(tx: Transaction, now: int, most: int) -> int:
    """Close lapsed checkouts, with their holders, of up to `most` requests; return how many."""
    found = sorted(row["request_id"] for row in tx.query(OVERDUE, now=now, most=most))
    for request_id in found:
        lock(tx, request_id)
        return_lapsed(tx, request_id, now)
    return len(found)


def take(
    tx: Transaction, request_id: str, order: Order, column: str, now: int
) -> PaymentRequest | None:
    """Take the remaining units of an order, counted in RESERVED or SOLD, and lock the request.

    Return None, unchanged, if too few remain, they are more than one checkout may take, or the
    request can't be paid now. Units of lapsed reservations remain only once they are returned.
    """
    price = {"price": order.price} if column == SOLD else {}
    row = tx.one(TAKE[column], id=request_id, now=now, units=order.quantity, **price)
    if row is None:
        return None
    others = row[RESERVED] - (order.quantity if column == RESERVED else 0)
    lapsed = return_lapsed(tx, request_id, now) if others else 0
    return read_row({**row, "lapsed": lapsed})


def give_back(tx: Transaction, request: PaymentRequest, order: Order, column: str) -> None:
    """Return the units that `take` took to those that remain."""
    if column == RESERVED:
        tx.execute(GIVE_BACK, id=request.id, units=order.quantity)
        return
    billions, rest = split_amount(-order.amount(request.terms))
    tx.execute(UNDO_SALE, id=request.id, units=order.quantity, billions=billions, rest=rest)


def count_raised(tx: Transaction, payment: Payment, *, back: bool) -> None:
    """Take a payment out of the sum that was raised, with `back`, or count it again.

    Nothing changes for one that took no unit, which was never counted. Callers hold the request's
    row, and change the payment's own mark in the same transaction.
    """
    if payment.took_unit:
        billions, rest = split_amount(-payment.amount if back else payment.amount)
        tx.execute(RAISE, id=payment.request_id, billions=billions, rest=rest)


def end(
    tx: Transaction, checkout: Checkout, state: CheckoutState, now: int, failure: str | None = None
) -> bool:
    """End a checkout without its money and return its units at once.

    Return False, unchanged, if it is in a state that `state` can't follow.
    """
    if not tx.execute(END[state], id=checkout.id, now=now, failure=failure):
        return False
    tx.execute(GIVE_BACK, id=checkout.request_id, units=checkout.quantity)
    tx.count("checkouts", checkout.kind, state.value)
    return True


def claim(tx: Transaction, checkout: Checkout, now: int, until: int) -> bool:
    """Hold the units of an open checkout until a time; False, unchanged, in any other state."""
    if not tx.execute(CLAIM, id=checkout.id, now=now, until=until):
        return False
    tx.count("checkouts", checkout.kind, CheckoutState.CLAIMED.value)
    return True


def claim_again(tx: Transaction, checkout: Checkout, now: int, until: int) -> bool:
    """Reserve other units for a lapsed checkout until a time.

    Return False if too few are left; they are reserved only in a transaction that succeeds.
    """
    return_lapsed(tx, checkout.request_id, now)
    if not tx.execute(RESERVE_AGAIN, id=checkout.request_id, units=checkout.quantity):
        return False
    if not tx.execute(CLAIM_AGAIN, id=checkout.id, now=now, until=until):
        raise RuntimeError(f"checkout {checkout.id} has not lapsed")
    tx.count("checkouts", checkout.kind, CheckoutState.CLAIMED.value)
    return True


def take_units(tx: Transaction, checkout: Checkout, now: int) -> PaymentState:
    """Turn the checkout's units into sold ones; return the state of its payment.

    A checkout that was given up takes other units if enough remain. Otherwise, and for a second
    payment of one checkout, none is taken: the payment is oversold as a whole.
    """
    sold = {"id": checkout.request_id, "units": checkout.quantity, "price": checkout.price}
    if tx.execute(PAY, id=checkout.id, now=now):
        if not tx.execute(TAKE_RESERVED, **sold):
            raise RuntimeError(f"checkout {checkout.id} had reserved nothing")
        tx.count("checkouts", checkout.kind, CheckoutState.PAID.value)
        return PaymentState.PAID
    return_lapsed(tx, checkout.request_id, now)
    taken = tx.execute(TAKE_LATE, **sold, checkout=checkout.id)
    state = PaymentState.LATE if taken else PaymentState.OVERSOLD
    if tx.execute(FINISH, id=checkout.id, state=state.value):
        tx.count("checkouts", checkout.kind, state.value)
    if not taken:
        tx.execute(OVERSELL, **sold)
    return state
