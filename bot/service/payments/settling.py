"""Records money that arrived: takes the units, stores the payment once, queues notifications.

Units, payment and notifications are committed together. No settlement is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import structlog

from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts
from bot.core.ops import log_setup
from bot.interface import vocabulary
from bot.service.checkouts import checkout_rows, inventory
from bot.service.checkouts.checkout import Checkout, Holder, Settlement
from bot.service.checkouts.order import ONE, Order, quote, split_amount, unconvertible
from bot.service.notifications import notification_queues, payer_letters
from bot.service.payments import account_rows, payment_rows
from bot.service.rails import exchange_rates, rail
from bot.service.requests import request_rows
from bot.service.requests.request import (
    UNPRICED,
    Marks,
    Payment,
    PaymentRequest,
    PaymentState,
    Quote,
)

log = structlog.get_logger()

CLAIMS_HELD = 168 * 3600 * 1000
"""Default of CLAIM_HOURS, in milliseconds."""


@dataclass(frozen=True, slots=True)
class PaymentContext:
    """Dependencies and settings of payments: rails, exchange rates and reservation times."""

    rails: rail.Rails
    exchange: exchange_rates.Exchange

    reservation: int
    """Milliseconds for which a checkout reserves its units."""

    holds: int = 0
    """PAYER_HOLDS, 0 for no limit."""

    claims: int = CLAIMS_HELD
    """Milliseconds that a payment awaiting the seller's confirmation keeps its units."""

    details_of: Callable[[account_rows.PayoutAccount], dict[str, Any]] = lambda _account: {}
    """Unseals the details of an account."""

    hint_url: Callable[[str], str | None] = lambda _checkout_id: None
    """Returns the address at which a wallet may announce the money of a checkout."""

    def holder(self, holder: Holder, request: PaymentRequest) -> Holder:
        """Return the holder to store for a request; it is counted if the request has caps."""
        site = holder.site or holder.network
        counted = self.holds > 0 and site is not None and request.units is not None
        return replace(holder, site=site, is_counted=counted)

    def quote(
        self, request: PaymentRequest, currency: str | None = None, order: Order = ONE
    ) -> Quote:
        """Return what a payer pays now, in `currency` or in the request's own currency.

        Raises NotPayable if the exchange rate is unknown, and InvalidBody if the chosen amount is
        too small or too large in the currency.
        """
        terms = order.terms(request.terms)
        if currency is not None:
            terms = replace(terms, instrument=currency, denomination=terms.currency)
        try:
            return quote(terms, self.exchange.rate(terms.currency, terms.instrument))
        except errors.MoneyError as error:
            raise (unconvertible(order, error) or errors.NotPayable(UNPRICED)) from None


def record_settlement(tx: database.Transaction, settlement: Settlement, now: int) -> Payment | None:
    """Record the payment of a settlement; return None if it was recorded before.

    A payment has one row and one transaction number. A report that completes or raises an underpaid
    payment replaces it. Locks the request. Raises NotFound if the checkout is unknown.
    """
    checkout_rows.lock_request(tx, settlement.checkout_id)
    checkout = checkout_rows.find(tx, settlement.checkout_id)
    if checkout is None:
        raise errors.NotFound(f"There is no checkout {settlement.checkout_id}.")
    known = payment_rows.of_settlement(tx, settlement.external_id)
    if known and known.checkout_id != checkout.id:
        raise RuntimeError(f"one payment was reported for two checkouts: {settlement}")
    paid, amount = checkout.quote, settlement.amount
    if known and settlement.confirmed:
        paid = known.paid
    elif amount is not None and amount != paid.amount:  # the rail reports another amount
        amount = min(max(amount, 0), amounts.MAX_MINOR)
        paid = replace(paid, amount=amount, shares=split_amount(paid.shares, amount))
    short = paid.amount < checkout.quote.amount and not settlement.confirmed
    if known and known.state is not PaymentState.UNDERPAID:
        return None
    if known and short and paid.amount <= known.paid.amount:
        return None  # it neither completes nor raises the underpaid payment
    state = PaymentState.UNDERPAID if short else inventory.take_units(tx, checkout, now)
    request = request_rows.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} has no request")
    payment = replace(_payment(request, checkout, settlement, state, now), paid=paid)
    if known:
        payment_rows.delete_underpaid(tx, known.id)
        marks = Marks(message_hidden=known.marks.message_hidden)
        payment = replace(payment, id=known.id, marks=marks)
    return _record(tx, request, checkout, payment)


def record_at_once(
    tx: database.Transaction,
    request: PaymentRequest,
    checkout: Checkout,
    settlement: Settlement,
    now: int,
) -> Payment:
    """Record the payment of a checkout just stored as paid; `request` counts its units as sold."""
    tx.count("checkouts", checkout.kind, vocabulary.CheckoutState.OPEN.value)
    payment = _payment(request, checkout, settlement, PaymentState.PAID, now)
    return _record(tx, request, checkout, payment)


def log_payment(payment: Payment) -> None:
    """Log a payment that was recorded."""
    write = log.info if payment.took_unit else log.warning
    write(
        "payment recorded",
        request=payment.request_id,
        payment=log_setup.shorten(payment.id),
        settlement=payment.state.value,
    )


def _payment(
    request: PaymentRequest,
    checkout: Checkout,
    settlement: Settlement,
    state: PaymentState,
    now: int,
) -> Payment:
    """Return a payment for the last units that `request` has sold."""
    terms = checkout.order.terms(request.terms)
    took = state in {PaymentState.PAID, PaymentState.LATE}
    return Payment(
        id=request_rows.new_id(now),
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
    tx: database.Transaction,
    request: PaymentRequest,
    checkout: Checkout,
    payment: Payment,
) -> Payment:
    """Store a payment and queue its notifications; `request` was read after the payment."""
    payment_rows.insert(tx, payment)
    tx.count("payments", payment.state.value)
    notification_queues.queue_notifications(tx, request, payment)
    if checkout.language is not None and payment.state is not PaymentState.UNDERPAID:
        test_money = payment.rail == vocabulary.SANDBOX
        payer_letters.queue_receipt(tx, request, payment, checkout.language, test_money=test_money)
    return payment
