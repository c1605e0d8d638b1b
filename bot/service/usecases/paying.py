"""Paying a request: a checkout reserves a unit, and the rail's money pays for it.

The unit, the payment and its queued deliveries commit together; every settlement is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bot.core.errors import MoneyError, NotFound, NotPayable, TooManyHolds
from bot.core.outbox import outbox
from bot.core.outbox.worker import Job
from bot.service.model import quote
from bot.service.model.checkout import UNKNOWN_HOLDER, Checkout, Holder, Settlement, may_reserve
from bot.service.model.rail_answers import Manner
from bot.service.model.request import UNPRICED, Payment, PaymentState
from bot.service.rails.rail import SETTLEMENTS, SandboxRail
from bot.service.store import checkouts, payments, requests
from bot.service.usecases import delivery_queues, payer_receipts
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message
    from bot.service.model.request import PayerField, PaymentRequest, Quote
    from bot.service.rails.exchange_rates import Exchange
    from bot.service.rails.rail import Rail

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PaymentContext:
    """How payments are taken: a checkout reserves its unit for `reservation` ms.

    `holds` is PAYER_HOLDS, 0 for no limit.
    """

    rail: Rail
    exchange: Exchange
    reservation: int
    holds: int = 0

    def quote(self, request: PaymentRequest) -> Quote:
        """Return what a payer pays now. Raises NotPayable if the exchange rate is unknown."""
        terms = request.terms
        try:
            return quote.quote(terms, self.exchange.rate(terms.currency, terms.instrument))
        except MoneyError:
            raise NotPayable(UNPRICED) from None


@dataclass(frozen=True, slots=True)
class PaymentForm:
    """A payer's posted form, checked; two forms with one token are one payment.

    `language` is that of the receipt to email, None if none is.
    """

    request_id: str
    token: str
    user_data: dict[PayerField, str]
    manner: Manner = Manner.AT_ONCE
    holder: Holder = UNKNOWN_HOLDER
    language: str | None = None


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """How far a payment is: `payment` is None until the money arrives, `fresh` if just stored."""

    checkout_id: str
    payment: Payment | None
    fresh: bool = False


def pay(tx: Transaction, context: PaymentContext, form: PaymentForm, now: int) -> PaymentProgress:
    """Open a checkout, and record its payment if the rail has the money at once.

    A form posted before, or a payer with an open checkout of the request, gets the progress of
    that checkout. Raises NotFound, NotPayable with the state that prevents it, and TooManyHolds.
    """
    earlier = checkouts.find_by_form(tx, form.request_id, form.token)
    if earlier:
        return PaymentProgress(earlier.id, payments.first_of_checkout(tx, earlier.id))
    held = checkouts.find_by_holder(tx, form.request_id, form.holder, now)
    if held:
        return PaymentProgress(held.id, None)
    request = checkouts.reserve(tx, form.request_id, now)
    if request is None:
        raise _refusal(tx, form.request_id, now)
    _check_holds(tx, context, request, form.holder, now)
    checkout = Checkout(
        id=new_id(),
        request_id=request.id,
        token=form.token,
        user_data=form.user_data,
        quote=context.quote(request),
        created_at=now,
        lapses_at=now + context.reservation,
        language=form.language,
    )
    checkouts.insert(tx, checkout, form.holder)
    settlement = context.rail.begin(tx, checkout, form.manner)
    if settlement is None:
        return PaymentProgress(checkout.id, None)
    payment = _payment(request, checkout, checkouts.take_unit(tx, checkout, now), now)
    _record(tx, request.paid(), payment, settlement, checkout.language)
    return PaymentProgress(checkout.id, payment, fresh=True)


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
    state = checkouts.take_unit(tx, checkout, now)
    request = requests.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} has no request")
    payment = _payment(request, checkout, state, now)
    _record(tx, request, payment, settlement, checkout.language)
    return payment


def _check_holds(
    tx: Transaction, context: PaymentContext, request: PaymentRequest, holder: Holder, now: int
) -> None:
    """Raise TooManyHolds, which undoes the reservation, if the payer's network holds enough.

    Counted after the guarded statement, which no other transaction passes until this one commits.
    """
    if not context.holds or holder.network is None:
        return
    held, until = checkouts.count_held(tx, request.id, holder.network, now)
    units = request.units
    unsold = units.remaining + units.reserved if units else None
    if not may_reserve(holder, held, unsold, context.holds):
        raise TooManyHolds(max(1, (until - now + 999) // 1000))


def _payment(request: PaymentRequest, checkout: Checkout, state: PaymentState, now: int) -> Payment:
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
    )


def _record(
    tx: Transaction,
    request: PaymentRequest,
    payment: Payment,
    settlement: Settlement,
    language: str | None,
) -> None:
    """Store a payment and queue its deliveries; `request` is as it is after the payment."""
    payments.insert(tx, payment, settlement)
    tx.count("payments", payment.state.value)
    delivery_queues.queue_deliveries(tx, request, payment)
    if language is not None:
        test_money = settlement.rail == SandboxRail.name
        payer_receipts.queue_receipt(tx, request, payment, language, test_money=test_money)


def _refusal(tx: Transaction, request_id: str, now: int) -> NotFound | NotPayable:
    request = requests.find(tx, request_id, now)
    state = request and request.hindrance(now)
    return NotPayable(state) if state else NotFound()


class SettlementHandler:
    """Records the settlements that a rail reports later; a worker performs its `job`."""

    def __init__(self, db: Database, now: Callable[[], int]) -> None:
        self._db = db
        self._now = now
        self.job = Job(SETTLEMENTS, self.handle)

    async def handle(self, message: Message) -> None:
        """Record one settlement and settle its message in one transaction."""
        payment = await self._db.transaction(lambda tx: self._record(tx, message))
        if payment is None:
            log.info("payment reported again", checkout=message.body.checkout_id)
            return
        write = log.warning if payment.oversold else log.info
        write(
            "payment recorded",
            request=payment.request_id,
            payment=payment.id,
            settlement=payment.state.value,
        )

    def _record(self, tx: Transaction, message: Message) -> Payment | None:
        payment = record_settlement(tx, message.body, self._now())
        outbox.done(tx, SETTLEMENTS, message, self._now())
        return payment
