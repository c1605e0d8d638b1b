"""Money that arrived: it takes its unit and is stored with its queued deliveries, once.

Unit, payment and deliveries commit together; every settlement is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import NotFound
from bot.service.model.payout import SANDBOX
from bot.service.model.request import Payment, PaymentState
from bot.service.store import checkouts, payments, requests, unit_moves
from bot.service.usecases import delivery_queues, payer_receipts
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.checkout import Checkout, Settlement
    from bot.service.model.request import PaymentRequest


def record_settlement(tx: Transaction, settlement: Settlement, now: int) -> Payment | None:
    """Record the payment of a settlement; return None if it was recorded before.

    Raises NotFound for an unknown checkout.
    """
    checkout = checkouts.find(tx, settlement.checkout_id)
    if checkout is None:
        raise NotFound(f"There is no checkout {settlement.checkout_id}.")
    known = payments.checkout_of(tx, settlement)
    if known:
        if known != checkout.id:
            raise RuntimeError(f"one payment was reported for two checkouts: {settlement}")
        return None
    state = unit_moves.take_unit(tx, checkout, now)
    request = requests.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} has no request")
    payment = _payment(request, checkout, settlement, state, now)
    return _record(tx, request, checkout, settlement, payment)


def record_at_once(
    tx: Transaction, request: PaymentRequest, checkout: Checkout, settlement: Settlement, now: int
) -> Payment:
    """Record the payment of a checkout just opened, whose money came with it."""
    state = unit_moves.take_unit(tx, checkout, now)
    payment = _payment(request, checkout, settlement, state, now)
    return _record(tx, request.paid(), checkout, settlement, payment)


def _payment(
    request: PaymentRequest,
    checkout: Checkout,
    settlement: Settlement,
    state: PaymentState,
    now: int,
) -> Payment:
    return Payment(
        id=new_id(),
        request_id=request.id,
        amount=request.terms.amount,
        currency=request.terms.currency,
        receivers=request.terms.receivers,
        user_data=checkout.user_data,
        completed_at=now,
        paid=checkout.quote,
        state=state,
        rail=settlement.rail,
        external_id=settlement.external_id,
        checkout_id=checkout.id,
    )


def _record(
    tx: Transaction,
    request: PaymentRequest,
    checkout: Checkout,
    settlement: Settlement,
    payment: Payment,
) -> Payment:
    """Store a payment and queue its deliveries; `request` is as it is after the payment."""
    payments.insert(tx, payment, settlement)
    tx.count("payments", payment.state.value)
    delivery_queues.queue_deliveries(tx, request, payment)
    if checkout.language is not None:
        test_money = settlement.rail == SANDBOX
        payer_receipts.queue_receipt(tx, request, payment, checkout.language, test_money=test_money)
    return payment
