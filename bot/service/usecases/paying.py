"""Pay a request: checkout, payment, unit and webhook in one transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.errors import NotFound, NotPayable
from bot.service.model import payer
from bot.service.model.request import Kind, Payment
from bot.service.store import payments, requests
from bot.service.usecases import deliveries
from bot.service.usecases.requests import new_id

if TYPE_CHECKING:
    from bot.core.db import Transaction
    from bot.service.model.request import PayerField, PaymentRequest
    from bot.service.rails import Rail


@dataclass(frozen=True, slots=True)
class Till:
    """How payments are taken; a checkout holds its unit for `reservation` ms."""

    rail: Rail
    reservation: int


@dataclass(frozen=True, slots=True)
class Order:
    """A payer's posted form, checked; two of the same token are one payment."""

    request_id: str
    token: str
    user_data: dict[PayerField, str]


def pay(tx: Transaction, till: Till, order: Order, now: int) -> Payment:
    """Pay one unit, or give the payment that the same form made before.

    Raises NotFound, and NotPayable with the state that stands in the way.
    """
    earlier = payments.paid_with(tx, order.request_id, order.token)
    if earlier:
        return earlier
    checkout = payments.Checkout(
        id=new_id(),
        request_id=order.request_id,
        token=order.token,
        user_data=json.dumps(order.user_data),
        created_at=now,
        lapses_at=now + till.reservation,
    )
    request = payments.open_checkout(tx, checkout)
    if request is None:
        raise _refusal(tx, order.request_id, now)
    return _settle(tx, till.rail, request, (checkout, order), now)


def _settle(
    tx: Transaction,
    rail: Rail,
    request: PaymentRequest,
    paying: tuple[payments.Checkout, Order],
    now: int,
) -> Payment:
    checkout, order = paying
    payment = Payment(
        id=new_id(),
        request_id=request.id,
        amount=request.terms.amount,
        currency=request.terms.currency,
        receivers=request.terms.receivers,
        user_data=order.user_data,
        completed_at=now,
    )
    by = (rail.name, rail.settle(checkout.id))
    remaining = payments.settle(tx, checkout, payment, by, payer.name(order.user_data))
    if request.terms.webhook:
        limited = request.terms.kind is Kind.LIMIT
        deliveries.put(tx, request, payment, remaining if limited else None)
    return payment


def _refusal(tx: Transaction, request_id: str, now: int) -> NotFound | NotPayable:
    request = requests.find(tx, request_id, now)
    state = request and request.hindrance(now)
    return NotPayable(state) if state else NotFound()
