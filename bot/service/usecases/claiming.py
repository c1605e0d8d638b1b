"""What people decide about a checkout: its payer claims or cancels it, its seller confirms it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.core.errors import NotFound, NotPayable, WrongState
from bot.core.ops import audit
from bot.service.model.checkout import UNKNOWN_HOLDER, Settlement, may_claim, over_budget
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.request import RESERVED, TOO_FEW
from bot.service.store import checkouts, requests, unit_moves
from bot.service.usecases import delivery_queues, settling
from bot.service.usecases.letters import payer_receipts

if TYPE_CHECKING:
    from bot.core.database.database import Transaction
    from bot.service.model.checkout import Checkout, Claim, Holder
    from bot.service.model.request import PaymentRequest
    from bot.service.usecases.payment_context import PaymentContext

UNKNOWN = "There is no such checkout."


def claim(
    tx: Transaction,
    context: PaymentContext,
    request_id: str,
    checkout_id: str,
    now: int,
    holder: Holder = UNKNOWN_HOLDER,
) -> Checkout:
    """Record a payer's word that the money was sent, for the seller to confirm.

    Its units are held until then as far as `is_promised` allows, and else for the ordinary time. A
    lapsed checkout gets other units. Repeated, it answers the same. Raises NotFound, WrongState,
    and NotPayable where too few units are left.
    """
    requests.lock(tx, request_id)
    checkout = _found(tx, checkout_id)
    if checkout.request_id != request_id:
        raise NotFound
    state = checkout.state(now)
    if state is CheckoutState.CLAIMED:
        return checkout
    if checkout.automatic or state not in {CheckoutState.OPEN, CheckoutState.LAPSED}:
        raise WrongState(state)
    unit_moves.return_lapsed(tx, request_id, now)
    request = _request(tx, checkout, now)
    return record_claim(tx, context, request, checkout, context.holder(holder, request), now)


def record_claim(
    tx: Transaction,
    context: PaymentContext,
    request: PaymentRequest,
    checkout: Checkout,
    holder: Holder,
    now: int,
) -> Checkout:
    """Claim a checkout that is open or has lapsed, and tell its seller. Raises as `claim` does."""
    room = find_promise(tx, context, request, checkout, holder, now)
    unit_moves.take_back(tx, request.id, room or ())
    until, promised = now + context.claims, room is not None
    if checkout.state(now) is CheckoutState.OPEN:
        if not unit_moves.claim(tx, checkout, holder, now, until, promised=promised):
            raise RuntimeError(f"checkout {checkout.id} was changed beside the lock")
    elif not promised and (refusal := _refusal(tx, checkout, now)):
        raise refusal
    elif not unit_moves.claim_again(tx, checkout, holder, now, until, promised=promised):
        raise _refusal(tx, checkout, now) or NotPayable(RESERVED)
    claimed = _found(tx, checkout.id)
    delivery_queues.queue_claim(tx, _request(tx, claimed, now), claimed)
    return claimed


def cancel(tx: Transaction, request_id: str, checkout_id: str, now: int) -> bool:
    """Cancel an open checkout and return its units; return False, unchanged, for any other."""
    requests.lock(tx, request_id)
    checkout = checkouts.find(tx, checkout_id)
    if checkout is None or checkout.request_id != request_id:
        return False
    return unit_moves.end(tx, checkout, CheckoutState.CANCELLED, now)


def confirm(tx: Transaction, app_id: str, checkout_id: str, now: int) -> Checkout:
    """Record the payment of a checkout by its seller's word; a paid one stays as it is.

    An underpaid payment counts as the whole one, with the amount that arrived. If the rail reports
    the same money later, it is this payment. Raises NotFound, and WrongState while the checkout is
    opening.
    """
    checkouts.lock_request(tx, checkout_id)
    checkout = find_own(tx, app_id, checkout_id, now)
    state = checkout.state(now)
    if state.is_settled:
        return checkout
    if state is CheckoutState.OPENING:
        raise WrongState(state, "Confirm it once it's open.")
    settlement = Settlement(checkout.kind, checkout.id, checkout.settles_as, confirmed=True)
    settling.record_settlement(tx, settlement, now)
    _audit(tx, app_id, "checkout.confirmed", checkout, now)
    return _found(tx, checkout_id)


def reject(tx: Transaction, app_id: str, checkout_id: str, now: int) -> Checkout:
    """Record that a claimed payment did not arrive, return its units and tell its payer by email.

    Repeated, it answers the same. Raises NotFound and WrongState.
    """
    checkouts.lock_request(tx, checkout_id)
    checkout = find_own(tx, app_id, checkout_id, now)
    state = checkout.state(now)
    if state is CheckoutState.REJECTED:
        return checkout
    if not unit_moves.end(tx, checkout, CheckoutState.REJECTED, now):
        raise WrongState(state, "Only one that's claimed can be rejected.")
    _audit(tx, app_id, "checkout.rejected", checkout, now)
    payer_receipts.queue_rejection(tx, _request(tx, checkout, now), checkout, now)
    return _found(tx, checkout_id)


def find_promise(
    tx: Transaction,
    context: PaymentContext,
    request: PaymentRequest,
    checkout: Checkout,
    holder: Holder,
    now: int,
) -> list[Claim] | None:
    """Return the claims that have to yield so that a checkout's units are held until it's decided.

    None if they can't be: its network claims enough, or the claims of a drop hold half of it, and
    none of a network that claims more.
    """
    if not context.holds or request.units is None:
        return []
    rival = checkout.quantity
    if holder.site is not None:
        counted = checkouts.count_held(tx, request.id, holder, now, but=checkout.id)
        own = counted.network, counted.site, context.holds, checkout.quantity
        if not may_claim(request.units, *own):
            return None
        rival += counted.site.claims
    promised = checkouts.count_promised(tx, request.id, now)
    lacking = over_budget(request.units, promised, checkout.quantity)
    if lacking <= 0:
        return []
    return unit_moves.find_yielding(tx, request.id, lacking, rival=rival) or None


def _refusal(tx: Transaction, checkout: Checkout, now: int) -> NotPayable | None:
    """Return why too few units are left for a lapsed checkout, None if enough are.

    Raises NotFound for a deleted request.
    """
    request = requests.find(tx, checkout.request_id, now)
    if request is None:
        raise NotFound
    left = request.units.remaining if request.units else checkout.quantity
    if left >= checkout.quantity:
        return None
    return NotPayable(TOO_FEW, left) if left else NotPayable(request.hindrance(now) or RESERVED)


def find_own(tx: Transaction, app_id: str, checkout_id: str, now: int) -> Checkout:
    """Return a checkout of one of the application's requests. Raises NotFound."""
    checkout = _found(tx, checkout_id)
    if _request(tx, checkout, now).app_id != app_id:
        raise NotFound(UNKNOWN)
    return checkout


def _found(tx: Transaction, checkout_id: str) -> Checkout:
    checkout = checkouts.find(tx, checkout_id)
    if checkout is None:
        raise NotFound(UNKNOWN)
    return checkout


def _request(tx: Transaction, checkout: Checkout, now: int) -> PaymentRequest:
    request = requests.find_ever(tx, checkout.request_id, now)
    if request is None:
        raise RuntimeError(f"checkout {checkout.id} has no request")
    return request


def _audit(tx: Transaction, app_id: str, action: str, checkout: Checkout, now: int) -> None:
    details = {"request": checkout.request_id, "was": checkout.state(now).value}
    audit.record(tx, audit.app(app_id), action, checkout.id, now, details)
