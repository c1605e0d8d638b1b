"""Paying a request: a checkout reserves a unit, and the rail's money pays for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.errors import MoneyError, NotFound, NotPayable, TooManyHolds
from bot.service.model import quote
from bot.service.model.checkout import UNKNOWN_HOLDER, Checkout, Holder, Settlement, may_reserve
from bot.service.model.payout import SANDBOX
from bot.service.model.rail_answers import Asked, Manner
from bot.service.model.request import UNPRICED, Payment
from bot.service.store import checkouts, payments, requests, unit_moves
from bot.service.usecases import looking, settling
from bot.service.usecases.request_commands import new_id

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.request import PayerField, PaymentRequest, Quote
    from bot.service.rails.exchange_rates import Exchange
    from bot.service.rails.rail import Rails


CLAIMS_HELD = 168 * 3600 * 1000
"""Milliseconds for which a claimed unit is held unless CLAIM_HOURS says otherwise."""


@dataclass(frozen=True, slots=True)
class PaymentContext:
    """How payments are taken: a checkout reserves its unit for `reservation` ms.

    `holds` is PAYER_HOLDS, 0 for no limit; a payment that its seller has to confirm keeps its unit
    for `claims` ms.
    """

    rails: Rails
    exchange: Exchange
    reservation: int
    holds: int = 0
    claims: int = CLAIMS_HELD

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
    request = unit_moves.reserve(tx, form.request_id, now)
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
    opened = context.rails.of(SANDBOX).open_offline(_asked(request, checkout, form.manner))
    if opened is None:
        raise RuntimeError("test money opens without a wallet")
    looking.queue_looks(tx, checkout, opened)
    if opened.arrived is None:
        return PaymentProgress(checkout.id, None)
    settlement = Settlement(SANDBOX, checkout.id, opened.external_id)
    payment = settling.record_at_once(tx, request, checkout, settlement, now)
    return PaymentProgress(checkout.id, payment, fresh=True)


def _asked(request: PaymentRequest, checkout: Checkout, manner: Manner) -> Asked:
    return Asked(
        checkout_id=checkout.id,
        request_id=request.id,
        amount=checkout.quote.amount,
        currency=checkout.quote.currency,
        memo=request.terms.product.name,
        reference="",
        created_at=checkout.created_at,
        lapses_at=checkout.lapses_at,
        manner=manner,
    )


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


def _refusal(tx: Transaction, request_id: str, now: int) -> NotFound | NotPayable:
    request = requests.find(tx, request_id, now)
    state = request and request.hindrance(now)
    return NotPayable(state) if state else NotFound()
