"""Pay a request (`pay`): a checkout reserves units for one of the request's ways to pay.

In the ordinary case `inventory.take` reserves the units and `_begin` stores and opens the checkout.
The rest of `pay` is for forms posted twice, payers with an earlier checkout, and too few units.

Test money and bank codes open in the transaction that reserves the units. Wallets are called by a
job.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.core import errors
from bot.core.database import database
from bot.interface import parts, vocabulary
from bot.service.checkouts import checkout_rows, claiming, inventory, wallet_calls
from bot.service.checkouts.checkout import (
    UNKNOWN_HOLDER,
    Checkout,
    Holder,
    Settlement,
    State,
    is_capped_without_cookie,
    may_reserve,
)
from bot.service.checkouts.order import Order, check_bounds, check_quantity, dearest_order
from bot.service.payments import account_rows, payment_rows, settling
from bot.service.rails import rail
from bot.service.requests import request_rows
from bot.service.requests.request import TOO_FEW, WAY_CLOSED, Payment, PaymentRequest, Quote

UNKNOWN_WAY = "The form names no way to pay that this payment link has. Open the link again."


@dataclass(frozen=True, slots=True)
class PaymentForm:
    """A payer's posted form, checked."""

    request_id: str

    token: str
    """Two forms with one token are one payment."""

    user_data: dict[vocabulary.PayerField, str]
    scenario: rail.SandboxScenario = rail.SandboxScenario.AT_ONCE
    holder: Holder = UNKNOWN_HOLDER

    language: str | None = None
    """Language of the emailed receipt, None if the payer wants no receipt."""

    way: str | None = None
    """The chosen way to pay, None for the seller's first way."""

    price: int | None = None
    """Minor units of the request's currency for one unit, None if the request's price applies."""

    quantity: int = 1

    payer_name: str | None = None
    """For the seller, like the message."""

    message: str | None = None

    another: bool = False
    """True if the payer has a pending claim and chose to buy more."""

    @property
    def order(self) -> Order:
        """Return the quantity and the price that the payer chose."""
        return Order(self.price, self.quantity)

    @property
    def words(self) -> parts.PayerWords:
        """Return the payer's words to the seller."""
        return parts.PayerWords(self.payer_name, self.message)


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """How far a payment is."""

    checkout_id: str

    payment: Payment | None
    """None until the money arrives."""

    fresh: bool = False
    """True if the payment was just stored."""

    is_claimed: bool = False
    """True if the payer posted a new form while this checkout is waiting for the seller."""


def pay(
    tx: database.Transaction, context: settling.PaymentContext, form: PaymentForm, now: int
) -> PaymentProgress:
    """Open a checkout, and record its payment if the money arrives immediately.

    If the form was posted before, or if the payer's checkout of the same order by this way holds
    units, return the progress of that checkout. Any other checkout of the payer is given up unless
    it is claimed; a form that asks for `another` then opens a second checkout. Raises NotFound,
    InvalidBody, NotPayable with the state that prevents it, and TooManyHolds.
    """
    if earlier := _posted_before(tx, form):
        return earlier
    check_bounds(form.order)
    column = inventory.SOLD if _is_at_once(context, form) else inventory.RESERVED
    request = inventory.take(tx, form.request_id, form.order, column, now)
    if request is None:  # nothing was taken, and so nothing is locked yet
        request_rows.lock(tx, form.request_id)
        if earlier := _posted_before(tx, form):
            return earlier
    held = checkout_rows.find_by_holder(tx, form.request_id, form.holder, now)
    is_claimed = held is not None and held.stored_state is State.CLAIMED
    if is_claimed and form.another:
        held = None
    if held and not _give_up(tx, held, form, now):
        if request is not None:
            inventory.give_back(tx, request, form.order, column)
        if not is_claimed and form.words not in {parts.NO_WORDS, held.words}:
            checkout_rows.write_words(tx, held.id, form.words)
        return PaymentProgress(held.id, None, is_claimed=is_claimed)
    if held and request is not None:
        request = request_rows.find(tx, form.request_id, now)  # with the released units
    if request is None and (inventory.return_lapsed(tx, form.request_id, now) or held):
        request = inventory.take(tx, form.request_id, form.order, column, now)
    if request is None and inventory.make_room(tx, form.request_id, form.quantity):
        request = inventory.take(tx, form.request_id, form.order, column, now)
    if request is None:
        raise _refusal(tx, form, now)
    holder = context.holder(form.holder, request)
    if column == inventory.RESERVED:
        _check_holds(tx, context, request, form, holder, now, but=held.id if held else "")
    return _begin(tx, context, request, form, holder, now)


def _posted_before(tx: database.Transaction, form: PaymentForm) -> PaymentProgress | None:
    earlier = checkout_rows.find_by_form(tx, form.request_id, form.token)
    if earlier is None:
        return None
    return PaymentProgress(earlier.id, payment_rows.first_of_checkout(tx, earlier.id))


def _is_at_once(context: settling.PaymentContext, form: PaymentForm) -> bool:
    """Return whether the money arrives with the form; only test money can."""
    return context.rails.test_money and form.scenario.is_at_once


def _give_up(tx: database.Transaction, held: Checkout, form: PaymentForm, now: int) -> bool:
    """End a payer's checkout so that another can open; return False if it stays.

    A checkout of the same order by the same way stays; any order matches a fixed price. A claimed
    checkout stays too, because the seller decides about it.
    """
    is_same = (
        form.way in {None, held.way}
        and form.quantity == held.quantity
        and (held.price is None or form.price in {None, held.price})
    )
    if is_same or held.stored_state is State.CLAIMED:
        return False
    is_open = held.stored_state is State.OPEN
    return inventory.end(tx, held, State.CANCELLED if is_open else State.LAPSED, now)


def _refusal(
    tx: database.Transaction, form: PaymentForm, now: int
) -> errors.NotFound | errors.NotPayable:
    """Return why no units were taken. Raises InvalidBody if a checkout may not have so many."""
    request = request_rows.find(tx, form.request_id, now)
    if request is None:
        return errors.NotFound()
    if state := request.hindrance(now):
        return errors.NotPayable(state)
    check_quantity(request.terms, form.quantity)
    if request.units is None:
        return errors.NotFound()
    return errors.NotPayable(TOO_FEW, request.units.remaining)


def _check_holds(
    tx: database.Transaction,
    context: settling.PaymentContext,
    request: PaymentRequest,
    form: PaymentForm,
    holder: Holder,
    now: int,
    *,
    but: str,
) -> None:
    """Raise TooManyHolds, which rolls back the reservation, if the payer's network is at its limit.

    The count follows the guarded statement, which blocks other transactions until this one commits.
    It excludes the checkout `but`, which is being replaced.
    """
    if not context.holds or holder.site is None:
        return
    counted = checkout_rows.count_held(tx, request.id, holder, now, but)
    held, cap, units = counted.network, context.holds, request.units
    unsold = units.remaining + units.reserved if units else None
    if may_reserve(holder, held, counted.site, unsold, cap, form.quantity):
        return
    frees = unsold is None or is_capped_without_cookie(holder, held, cap, form.quantity)
    until = (counted.lapses_at if frees else counted.room_at) or now
    raise errors.TooManyHolds(max(1, (until - now + 999) // 1000))


def _begin(
    tx: database.Transaction,
    context: settling.PaymentContext,
    request: PaymentRequest,
    form: PaymentForm,
    holder: Holder,
    now: int,
) -> PaymentProgress:
    """Store the checkout of units just reserved; it is open unless a wallet must answer first.

    Raises InvalidBody and NotPayable.
    """
    order = form.order.settled(request.terms)
    account = _account(tx, context, request, form.way)
    details = context.details_of(account) if account else {}
    rail = context.rails.of(account.kind if account else vocabulary.SANDBOX)
    checkout = Checkout(
        id=request_rows.new_id(now),
        request_id=request.id,
        token=form.token,
        user_data=form.user_data,
        quote=context.quote(request, _payer_currency(request, account) if account else None, order),
        created_at=now,
        lapses_at=now + context.reservation,
        stored_state=State.OPENING,
        language=form.language,
        host=rail.host(details),
        price=order.price,
        quantity=order.quantity,
        words=form.words,
        **_paid_to(tx, account, form),
    )
    opened = rail.open_offline(checkout.charge(request.terms.product.name, details, form.scenario))
    if opened is None:
        checkout_rows.insert(tx, checkout, holder)
        wallet_calls.queue_opening(tx, checkout, form.holder.peer)
        return PaymentProgress(checkout.id, None)
    payment = None
    if _is_at_once(context, form):  # its units are sold already
        checkout = checkout.open(opened, now, State.PAID)
        checkout_rows.insert(tx, checkout, UNKNOWN_HOLDER)
        settlement = Settlement(checkout.kind, checkout.id, opened.external_id)
        payment = settling.record_at_once(tx, request, checkout, settlement, now)
    else:
        checkout = checkout.open(opened, now)
        checkout = replace(checkout, automatic=checkout.automatic and not opened.claimed)
        checkout_rows.insert(tx, checkout, holder)
        if opened.claimed:
            claiming.record_claim(tx, context, request, checkout, holder, now)
    wallet_calls.queue_polls(tx, checkout, opened, "", now)
    return PaymentProgress(checkout.id, payment, fresh=payment is not None)


def _account(
    tx: database.Transaction,
    context: settling.PaymentContext,
    request: PaymentRequest,
    way: str | None,
) -> account_rows.PayoutAccount | None:
    """Return the account of the chosen way, None for test money.

    Raises NotPayable if there is no account or if the seller removed it after the page was opened,
    and InvalidBody if the way is unknown.
    """
    if context.rails.test_money:
        if way not in {None, vocabulary.SANDBOX}:
            raise errors.InvalidBody(UNKNOWN_WAY)
        return None
    account_rows.keep(tx, request.app_id, request.payout or "")
    accounts = [
        account
        for account in account_rows.ways(tx, request.app_id, request.payout or "")
        if account.takes(request.terms.currency)
    ]
    if not accounts:
        raise errors.NotPayable(vocabulary.NO_PAYOUT)
    for account in accounts:
        if way is None or way == account.way:
            return account
    if way and way.partition(":")[0] in vocabulary.PAYOUT_KINDS:
        raise errors.NotPayable(WAY_CLOSED)
    raise errors.InvalidBody(UNKNOWN_WAY)


def _paid_to(
    tx: database.Transaction, account: account_rows.PayoutAccount | None, form: PaymentForm
) -> dict[str, Any]:
    """Return the checkout fields that identify the payout account.

    There is a reference only if the seller has to confirm the money.
    """
    if account is None:
        is_claimed = form.scenario is rail.SandboxScenario.CLAIMED
        return {"reference": _free_reference(tx)} if is_claimed else {}
    return {
        "kind": account.kind,
        "way": account.way,
        "account_id": account.id,
        "automatic": account.automatic,
        "reference": None if account.automatic else _free_reference(tx),
    }


def _free_reference(tx: database.Transaction) -> str:
    """Return an unused reference, so that the seller can tell payments apart."""
    from bot.service.rails import bank  # noqa: PLC0415 - costs memory

    reference = bank.new_reference()
    while checkout_rows.is_known(tx, "reference", reference):
        reference = bank.new_reference()
    return reference


@dataclass(frozen=True, slots=True)
class Way:
    """A way to pay a request."""

    account: account_rows.PayoutAccount

    quote: Quote | None
    """What the payer pays, None while the rate is unknown. If the payer chooses the amount, the
    quote is for the highest amount, because the lowest may round to 0 sats.
    """


async def read_ways(
    db: database.Database, context: settling.PaymentContext, request: PaymentRequest
) -> list[Way]:
    """Return the ways to pay a request in its seller's order, [] with test money."""
    if context.rails.test_money or request.payout is None:
        return []
    app_id, owner = request.app_id, request.payout
    accounts = await db.read(lambda tx: account_rows.ways(tx, app_id, owner))
    return [
        Way(account, _quote(context, request, account))
        for account in accounts
        if account.takes(request.terms.currency)
    ]


def _quote(
    context: settling.PaymentContext, request: PaymentRequest, account: account_rows.PayoutAccount
) -> Quote | None:
    order = dearest_order(request.terms)
    try:
        return context.quote(request, _payer_currency(request, account), order)
    except (errors.InvalidBody, errors.NotPayable):
        return None


def _payer_currency(request: PaymentRequest, account: account_rows.PayoutAccount) -> str:
    """Return the currency paid to an account: the price's currency if the account takes it."""
    price = request.terms.currency
    return price if price in account.currencies else account.currencies[0]
