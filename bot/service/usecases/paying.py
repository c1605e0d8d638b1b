"""Pay a request: a checkout reserves a unit, the rail's money takes it.

Unit, payment and what is owed of it commit together; no money that arrived is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.errors import MoneyError, NotFound, NotPayable, TooManyHolds
from bot.service.model import quote
from bot.service.model.checkout import Checkout
from bot.service.model.checkout_limits import NOBODY, Holder, may_hold
from bot.service.model.request import UNPRICED, Payment, Settlement
from bot.service.rails.rail import Attempt, Manner
from bot.service.store import checkouts, payments, requests
from bot.service.store.payments import Source
from bot.service.usecases import delivery_queues
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.request import PayerField, PaymentRequest, Quote
    from bot.service.rails.exchange_rates import Exchange
    from bot.service.rails.rail import Notice, Rail


@dataclass(frozen=True, slots=True)
class Till:
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
class Order:
    """A payer's posted form, checked; two of the same token are one payment."""

    request_id: str
    token: str
    user_data: dict[PayerField, str]
    manner: Manner = Manner.AT_ONCE
    holder: Holder = NOBODY


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a payer stands; `payment` None while the money is awaited, `fresh` where just made."""

    checkout_id: str
    payment: Payment | None
    fresh: bool = False


def pay(tx: Transaction, till: Till, order: Order, now: int) -> Standing:
    """Open a checkout and take its money where it is here at once.

    A form that was posted before stands where it stood, and so does a payer who holds an open
    checkout of the request. Raises NotFound, NotPayable with the state that stands in the way, and
    TooManyHolds.
    """
    earlier = checkouts.of_form(tx, order.request_id, order.token)
    if earlier:
        return Standing(earlier.id, payments.first_of_checkout(tx, earlier.id))
    held = checkouts.of_holder(tx, order.request_id, order.holder, now)
    if held:
        return Standing(held.id, None)
    request = checkouts.reserve(tx, order.request_id, now)
    if request is None:
        raise _refusal(tx, order.request_id, now)
    _check_holds(tx, till, request, order, now)
    checkout = _open(tx, till, request, order, now)
    notice = till.rail.begin(tx, Attempt(checkout.id, now, checkout.lapses_at, order.manner))
    if notice is None:
        return Standing(checkout.id, None)
    taken = checkouts.take_unit(tx, checkout, now)
    source = Source(checkout.id, till.rail.name, notice.external_id)
    payment = _book(tx, request.paid(), checkout, source, (taken, now))
    return Standing(checkout.id, payment, fresh=True)


def take(tx: Transaction, rail: str, notice: Notice, now: int) -> Payment | None:
    """Book the money that a rail says arrived; None where the rail had said so before.

    Raises NotFound for a checkout that never was.
    """
    checkout = checkouts.find(tx, notice.checkout_id)
    if checkout is None:
        raise NotFound(f"There is no checkout {notice.checkout_id}.")
    known = payments.checkout_of(tx, rail, notice.external_id)
    if known:
        if known != checkout.id:
            raise RuntimeError(f"{rail} gives one payment to two checkouts: {notice}")
        return None
    taken = checkouts.take_unit(tx, checkout, now)
    request = requests.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} is of no request")
    source = Source(checkout.id, rail, notice.external_id)
    return _book(tx, request, checkout, source, (taken, now))


def _check_holds(
    tx: Transaction, till: Till, request: PaymentRequest, order: Order, now: int
) -> None:
    """Raise TooManyHolds, which undoes the reservation, where the payer's network holds enough.

    Counted after the guarded statement: until this commits nobody else gets past that one.
    """
    if not till.holds or order.holder.network is None:
        return
    held, until = checkouts.held(tx, request.id, order.holder.network, now)
    units = request.units
    unsold = units.remaining + units.reserved if units else None
    if not may_hold(order.holder, held, unsold, till.holds):
        raise TooManyHolds(max(1, (until - now + 999) // 1000))


def _open(tx: Transaction, till: Till, request: PaymentRequest, order: Order, now: int) -> Checkout:
    checkout = Checkout(
        id=new_id(),
        request_id=request.id,
        token=order.token,
        user_data=order.user_data,
        quote=till.quote(request),
        created_at=now,
        lapses_at=now + till.reservation,
    )
    checkouts.insert(tx, checkout, order.holder)
    return checkout


def _book(
    tx: Transaction,
    request: PaymentRequest,
    checkout: Checkout,
    source: Source,
    taken: tuple[Settlement, int],
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
    delivery_queues.put(tx, request, payment)
    return payment


def _refusal(tx: Transaction, request_id: str, now: int) -> NotFound | NotPayable:
    request = requests.find(tx, request_id, now)
    state = request and request.hindrance(now)
    return NotPayable(state) if state else NotFound()
