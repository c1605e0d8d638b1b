"""Pay a request: a checkout reserves a unit, the rail's money takes it.

Unit, payment and what is owed of it commit together; no money that arrived is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.errors import MoneyError, NotFound, NotPayable, TooManyHolds
from bot.service.model import quote
from bot.service.model.checkout import Checkout
from bot.service.model.checkout_limits import UNKNOWN_HOLDER, Holder, may_reserve
from bot.service.model.request import UNPRICED, Payment, PaymentState
from bot.service.rails.rail import Charge, Manner
from bot.service.store import checkouts, payments, requests
from bot.service.store.payments import Source
from bot.service.usecases import delivery_queues
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.request import PayerField, PaymentRequest, Quote
    from bot.service.rails.exchange_rates import Exchange
    from bot.service.rails.rail import Rail, Settlement


@dataclass(frozen=True, slots=True)
class PaymentContext:
    """How payments are taken; a checkout holds its unit for `reservation` ms.

    `holds` is PAYER_HOLDS, 0 for no cap.
    """

    rail: Rail
    exchange: Exchange
    reservation: int
    holds: int = 0

    def quote(self, request: PaymentRequest) -> Quote:
        """Give what a payer pays now; NotPayable where nothing tells the rate."""
        terms = request.terms
        try:
            return quote.quote(terms, self.exchange.rate(terms.currency, terms.instrument))
        except MoneyError:
            raise NotPayable(UNPRICED) from None


@dataclass(frozen=True, slots=True)
class PaymentForm:
    """A payer's posted form, checked; two of the same token are one payment."""

    request_id: str
    token: str
    user_data: dict[PayerField, str]
    manner: Manner = Manner.AT_ONCE
    holder: Holder = UNKNOWN_HOLDER


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """Where a payer stands; `payment` None while the money is awaited, `fresh` where just made."""

    checkout_id: str
    payment: Payment | None
    fresh: bool = False


def pay(tx: Transaction, context: PaymentContext, form: PaymentForm, now: int) -> PaymentProgress:
    """Open a checkout and take its money where it is here at once.

    A form that was posted before stands where it stood, and so does a payer who holds an open
    checkout of the request. Raises NotFound, NotPayable with the state that stands in the way, and
    TooManyHolds.
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
    _check_holds(tx, context, request, form, now)
    checkout = _open(tx, context, request, form, now)
    settlement = context.rail.begin(tx, Charge(checkout.id, now, checkout.lapses_at, form.manner))
    if settlement is None:
        return PaymentProgress(checkout.id, None)
    taken = checkouts.take_unit(tx, checkout, now)
    source = Source(checkout.id, context.rail.name, settlement.external_id)
    payment = _book(tx, request.paid(), checkout, source, (taken, now))
    return PaymentProgress(checkout.id, payment, fresh=True)


def record_settlement(
    tx: Transaction, rail: str, settlement: Settlement, now: int
) -> Payment | None:
    """Book the money that a rail says arrived; None where the rail had said so before.

    Raises NotFound for a checkout that never was.
    """
    checkout = checkouts.find(tx, settlement.checkout_id)
    if checkout is None:
        raise NotFound(f"There is no checkout {settlement.checkout_id}.")
    known = payments.checkout_of(tx, rail, settlement.external_id)
    if known:
        if known != checkout.id:
            raise RuntimeError(f"{rail} gives one payment to two checkouts: {settlement}")
        return None
    taken = checkouts.take_unit(tx, checkout, now)
    request = requests.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} is of no request")
    source = Source(checkout.id, rail, settlement.external_id)
    return _book(tx, request, checkout, source, (taken, now))


def _check_holds(
    tx: Transaction, context: PaymentContext, request: PaymentRequest, form: PaymentForm, now: int
) -> None:
    """Raise TooManyHolds, which undoes the reservation, where the payer's network holds enough.

    Counted after the guarded statement: until this commits nobody else gets past that one.
    """
    if not context.holds or form.holder.network is None:
        return
    held, until = checkouts.count_held(tx, request.id, form.holder.network, now)
    units = request.units
    unsold = units.remaining + units.reserved if units else None
    if not may_reserve(form.holder, held, unsold, context.holds):
        raise TooManyHolds(max(1, (until - now + 999) // 1000))


def _open(
    tx: Transaction, context: PaymentContext, request: PaymentRequest, form: PaymentForm, now: int
) -> Checkout:
    checkout = Checkout(
        id=new_id(),
        request_id=request.id,
        token=form.token,
        user_data=form.user_data,
        quote=context.quote(request),
        created_at=now,
        lapses_at=now + context.reservation,
    )
    checkouts.insert(tx, checkout, form.holder)
    return checkout


def _book(
    tx: Transaction,
    request: PaymentRequest,
    checkout: Checkout,
    source: Source,
    taken: tuple[PaymentState, int],
) -> Payment:
    """Write the payment and owe what is to be told of it; `request` as it is after the unit."""
    state, now = taken
    payment = Payment(
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
    payments.insert(tx, payment, source)
    tx.count("payments", state.value)
    delivery_queues.queue_deliveries(tx, request, payment)
    return payment


def _refusal(tx: Transaction, request_id: str, now: int) -> NotFound | NotPayable:
    request = requests.find(tx, request_id, now)
    state = request and request.hindrance(now)
    return NotPayable(state) if state else NotFound()
