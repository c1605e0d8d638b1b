"""Money that arrived: it takes its units and is stored with its queued deliveries, once.

Units, payment and deliveries commit together; every settlement is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from bot.core.errors import NotFound
from bot.core.money.amounts import MAX_MINOR
from bot.core.ops.log_setup import shorten
from bot.service.model import quote
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.payout import SANDBOX
from bot.service.model.request import Marks, Payment, PaymentState
from bot.service.store import checkouts, payments, requests, unit_moves
from bot.service.usecases import delivery_queues
from bot.service.usecases.letters import payer_receipts
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.checkout import Checkout, Settlement
    from bot.service.model.request import PaymentRequest, Quote

log = structlog.get_logger()


def record_settlement(tx: Transaction, settlement: Settlement, now: int) -> Payment | None:
    """Record the payment of a settlement; return None if it was recorded before.

    One payment is one row and one transaction number: what completes an underpaid payment, or
    raises it, takes its place. Locks the request. Raises NotFound for an unknown checkout.
    """
    checkouts.lock_request(tx, settlement.checkout_id)
    checkout = checkouts.find(tx, settlement.checkout_id)
    if checkout is None:
        raise NotFound(f"There is no checkout {settlement.checkout_id}.")
    known = payments.of_settlement(tx, settlement)
    if known and known.checkout_id != checkout.id:
        raise RuntimeError(f"one payment was reported for two checkouts: {settlement}")
    paid = known.paid if known and settlement.confirmed else _paid(checkout, settlement.amount)
    short = paid.amount < checkout.quote.amount and not settlement.confirmed
    if known and not _adds(known, paid, short=short):
        return None
    state = PaymentState.UNDERPAID if short else unit_moves.take_units(tx, checkout, now)
    request = requests.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} has no request")
    payment = replace(_payment(request, checkout, settlement, state, now), paid=paid)
    if known:
        payments.delete_underpaid(tx, known.id)
        marks = Marks(message_hidden=known.marks.message_hidden)
        payment = replace(payment, id=known.id, marks=marks)
    return _record(tx, request, checkout, settlement, payment)


def _adds(known: Payment, paid: Quote, *, short: bool) -> bool:
    """Return whether a report of `paid` in all completes a recorded payment, or raises it."""
    return known.state is PaymentState.UNDERPAID and (not short or paid.amount > known.paid.amount)


def record_at_once(
    tx: Transaction, request: PaymentRequest, checkout: Checkout, settlement: Settlement, now: int
) -> Payment:
    """Record the payment of a checkout just stored as paid; `request` has its units as sold."""
    tx.count("checkouts", checkout.kind, CheckoutState.OPEN.value)
    payment = _payment(request, checkout, settlement, PaymentState.PAID, now)
    return _record(tx, request, checkout, settlement, payment)


def log_payment(payment: Payment) -> None:
    """Log a payment that was recorded."""
    write = log.info if payment.took_unit else log.warning
    write(
        "payment recorded",
        request=payment.request_id,
        payment=shorten(payment.id),
        settlement=payment.state.value,
    )


def _paid(checkout: Checkout, amount: int | None) -> Quote:
    """Return what a payer gave: exactly what was asked unless the rail knows another amount."""
    asked = checkout.quote
    if amount is None or amount == asked.amount:
        return asked
    return quote.with_amount(asked, min(max(amount, 0), MAX_MINOR))


def _payment(
    request: PaymentRequest,
    checkout: Checkout,
    settlement: Settlement,
    state: PaymentState,
    now: int,
) -> Payment:
    """Return a payment; its units are the last that `request` has sold."""
    terms = checkout.order.terms(request.terms)
    took = state in {PaymentState.PAID, PaymentState.LATE}
    return Payment(
        id=new_id(now),
        request_id=request.id,
        amount=terms.amount,
        currency=terms.currency,
        receivers=terms.receivers,
        user_data=checkout.user_data,
        completed_at=now,
        paid=checkout.quote,
        state=state,
        rail=settlement.rail,
        external_id=settlement.external_id,
        checkout_id=checkout.id,
        quantity=checkout.quantity,
        first_unit=request.paid_count - checkout.quantity + 1 if took else None,
        words=checkout.words,
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
    if checkout.language is not None and payment.state is not PaymentState.UNDERPAID:
        test_money = settlement.rail == SANDBOX
        payer_receipts.queue_receipt(tx, request, payment, checkout.language, test_money=test_money)
    return payment
