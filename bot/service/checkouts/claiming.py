"""Decisions about a checkout: its payer claims or cancels it, its seller confirms or rejects it."""

from __future__ import annotations

from bot.core import errors
from bot.core.database import database
from bot.core.ops import audit
from bot.service.checkouts import checkout_rows, inventory
from bot.service.checkouts.checkout import (
    SETTLED,
    UNKNOWN_HOLDER,
    Checkout,
    Claim,
    Holder,
    Settlement,
    State,
    may_claim,
    over_budget,
)
from bot.service.notifications import notification_queues, payer_letters
from bot.service.payments import settling
from bot.service.requests import request_rows
from bot.service.requests.request import RESERVED, TOO_FEW, PaymentRequest

UNKNOWN = "There is no such checkout."


def claim(
    tx: database.Transaction,
    context: settling.PaymentContext,
    request_id: str,
    checkout_id: str,
    now: int,
    holder: Holder = UNKNOWN_HOLDER,
) -> Checkout:
    """Record the payer's claim that the money was sent, for the seller to confirm.

    Its units are held until then if `find_promise` allows it, otherwise for the ordinary time. A
    lapsed checkout gets other units. A repeat changes nothing. Raises NotFound, WrongState, and
    NotPayable if too few units are left.
    """
    request_rows.lock(tx, request_id)
    checkout = _found(tx, checkout_id)
    if checkout.request_id != request_id:
        raise errors.NotFound
    state = checkout.state(now)
    if state is State.CLAIMED:
        return checkout
    if checkout.automatic or state not in {State.OPEN, State.LAPSED}:
        raise errors.WrongState(state)
    inventory.return_lapsed(tx, request_id, now)
    request = _request(tx, checkout, now)
    return record_claim(tx, context, request, checkout, context.holder(holder, request), now)


def record_claim(
    tx: database.Transaction,
    context: settling.PaymentContext,
    request: PaymentRequest,
    checkout: Checkout,
    holder: Holder,
    now: int,
) -> Checkout:
    """Claim an open or lapsed checkout, and notify its seller. Raises what `claim` raises."""
    room = find_promise(tx, context, request, checkout, holder, now)
    inventory.take_back(tx, request.id, room or ())
    until, promised = now + context.claims, room is not None
    is_lapsed = checkout.state(now) is State.LAPSED
    if is_lapsed and not promised and (refusal := _refusal(tx, checkout, now)):
        raise refusal
    if not inventory.claim(tx, checkout, holder, now, until, promised=promised):
        raise _refusal(tx, checkout, now) or errors.NotPayable(RESERVED)
    claimed = _found(tx, checkout.id)
    notification_queues.queue_claim(tx, _request(tx, claimed, now), claimed)
    return claimed


def cancel(tx: database.Transaction, request_id: str, checkout_id: str, now: int) -> bool:
    """Cancel an open checkout and release its units; return False if it isn't open."""
    request_rows.lock(tx, request_id)
    checkout = checkout_rows.find(tx, checkout_id)
    if checkout is None or checkout.request_id != request_id:
        return False
    return inventory.end(tx, checkout, State.CANCELLED, now)


def confirm(tx: database.Transaction, app_id: str, checkout_id: str, now: int) -> Checkout:
    """Record a payment that the seller confirms; a paid checkout stays as it is.

    An underpaid payment counts as complete, with the amount that arrived. If the rail reports the
    same money later, no second payment is recorded. Raises NotFound, and WrongState while the
    checkout is opening.
    """
    checkout_rows.lock_request(tx, checkout_id)
    checkout = find_own(tx, app_id, checkout_id, now)
    state = checkout.state(now)
    if state in SETTLED:
        return checkout
    if state is State.OPENING:
        raise errors.WrongState(state, "Confirm it once it's open.")
    settlement = Settlement(checkout.kind, checkout.id, checkout.settles_as, confirmed=True)
    settling.record_settlement(tx, settlement, now)
    _audit(tx, app_id, "checkout.confirmed", checkout, now)
    return _found(tx, checkout_id)


def reject(tx: database.Transaction, app_id: str, checkout_id: str, now: int) -> Checkout:
    """Record that a claimed payment didn't arrive, release its units and email the payer.

    A repeat changes nothing. Raises NotFound and WrongState.
    """
    checkout_rows.lock_request(tx, checkout_id)
    checkout = find_own(tx, app_id, checkout_id, now)
    state = checkout.state(now)
    if state is State.REJECTED:
        return checkout
    if not inventory.end(tx, checkout, State.REJECTED, now):
        raise errors.WrongState(state, "Only one that's claimed can be rejected.")
    _audit(tx, app_id, "checkout.rejected", checkout, now)
    payer_letters.queue_rejection(tx, _request(tx, checkout, now), checkout, now)
    return _found(tx, checkout_id)


def find_promise(
    tx: database.Transaction,
    context: settling.PaymentContext,
    request: PaymentRequest,
    checkout: Checkout,
    holder: Holder,
    now: int,
) -> list[Claim] | None:
    """Return the claims that must yield so that a checkout's units are held until the decision.

    None if the units can't be held that long, because the network has reached its limit of claims,
    or because claims hold half of the drop and no other network claims more.
    """
    if not context.holds or request.units is None:
        return []
    rival = checkout.quantity
    if holder.site is not None:
        counted = checkout_rows.count_held(tx, request.id, holder, now, but=checkout.id)
        own = counted.network, counted.site, context.holds, checkout.quantity
        if not may_claim(request.units, *own):
            return None
        rival += counted.site.claims
    promised = checkout_rows.count_promised(tx, request.id, now)
    lacking = over_budget(request.units, promised, checkout.quantity)
    if lacking <= 0:
        return []
    return inventory.find_yielding(tx, request.id, lacking, rival=rival) or None


def _refusal(tx: database.Transaction, checkout: Checkout, now: int) -> errors.NotPayable | None:
    """Return the error if too few units are left for a lapsed checkout, otherwise None.

    Raises NotFound for a deleted request.
    """
    request = request_rows.find(tx, checkout.request_id, now)
    if request is None:
        raise errors.NotFound
    left = request.units.remaining if request.units else checkout.quantity
    if left >= checkout.quantity:
        return None
    if left:
        return errors.NotPayable(TOO_FEW, left)
    return errors.NotPayable(request.hindrance(now) or RESERVED)


def find_own(tx: database.Transaction, app_id: str, checkout_id: str, now: int) -> Checkout:
    """Return a checkout of one of the application's requests. Raises NotFound."""
    checkout = _found(tx, checkout_id)
    if _request(tx, checkout, now).app_id != app_id:
        raise errors.NotFound(UNKNOWN)
    return checkout


def _found(tx: database.Transaction, checkout_id: str) -> Checkout:
    checkout = checkout_rows.find(tx, checkout_id)
    if checkout is None:
        raise errors.NotFound(UNKNOWN)
    return checkout


def _request(tx: database.Transaction, checkout: Checkout, now: int) -> PaymentRequest:
    request = request_rows.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} has no request")
    return request


def _audit(
    tx: database.Transaction, app_id: str, action: str, checkout: Checkout, now: int
) -> None:
    details = {"request": checkout.request_id, "was": checkout.state(now).value}
    audit.record(tx, audit.app(app_id), action, checkout.id, now, details)
