"""Create, edit and delete payment requests (interface sections 4.1, 4.3 and 4.4)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.core.errors import (
    EmailUnavailable,
    FieldProblem,
    ForbiddenAddress,
    MoneyError,
    NotEnoughUnits,
    NotFound,
)
from bot.core.net.webhook_addresses import AllowList, check_url
from bot.core.text import links
from bot.service.goods import deliveries
from bot.service.model import changes, quote
from bot.service.model.goods.delivered import count_codes, served
from bot.service.model.order import Order
from bot.service.model.request import PAYOUT
from bot.service.store import idempotency, unit_moves
from bot.service.store import requests as store
from bot.service.usecases import request_audit
from bot.service.usecases.letters import recipient_consent, served_payers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core.database.database import Transaction
    from bot.service.goods.deliveries import AddedCodes
    from bot.service.model.changes import Creation, Edit
    from bot.service.model.request import PaymentRequest, Terms
    from bot.service.rails.exchange_rates import Exchange
    from bot.service.store.idempotency import CallKey

INTERNAL_HOST = "bot.internal"
"""Host of the bot's own receiver, resolved to the address on which it listens."""

CONVERTED = ("SAT", "BTC")
"""Currencies that prices are converted to where real money is offered."""

WEBHOOK_FIELD = "notifications.webhook.webhookUrl"

SECOND_OF_ID = 10
"""Bits of milliseconds for which ids begin alike: 1.024 seconds."""

TIME_DIGITS = 5
"""Hex digits of an id that tell the time; they begin again after twelve days."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows; only `embedded_app_id` may name the internal host.

    `mails`: email can be sent; `schemes`: those of apps to which payers may be redirected;
    `test_money`: no real money is offered.
    """

    allow: AllowList
    exchange: Exchange
    embedded_app_id: str | None = None
    mails: bool = False
    schemes: frozenset[str] = frozenset()
    test_money: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """The application that calls, and the time of its call in epoch ms.

    `owner` is the seller for whom it calls. `confirms`: anyone sells there, so the holders of email
    addresses that it names have to confirm them, and `account:` needs its owner.
    """

    app_id: str
    now: int
    policy: Policy
    owner: str = ""
    confirms: bool = False


def new_id(now: int, digits: int = 24) -> str:
    """Return an id of lower-case hex characters of which nobody can guess all but the first five.

    Those of the same second begin alike, so that an index has new rows on a few of its pages,
    however many rows it has (docs/decisions/0087-ids-that-begin-with-the-time.md).
    """
    time = f"{now >> SECOND_OF_ID:0{TIME_DIGITS}x}"[-TIME_DIGITS:]
    return time + secrets.token_hex(digits // 2)[TIME_DIGITS:]


def create(
    tx: Transaction, caller: Caller, creation: Creation, key: CallKey | None
) -> PaymentRequest:
    """Create a request, or return the request that the same key created before.

    Raises InvalidBody, EmailUnavailable and IdempotencyMismatch.
    """
    new = new_id(caller.now)
    return idempotency.once(
        tx, key, lambda: _create(tx, caller, creation, new),
        lambda made: find_own(tx, caller, made), made=new,
    )  # fmt: skip


def _create(tx: Transaction, caller: Caller, creation: Creation, new: str) -> PaymentRequest:
    terms = creation.terms
    _check(caller, terms.webhook and terms.webhook.url, terms.email, terms.redirect_url)
    _check_owner(caller, terms)
    if caller.policy.test_money:
        _check_price(caller.policy.exchange, terms)
    else:
        _check_real_money(terms)
    request = changes.create(creation, new, caller.app_id, caller.now)
    request = _with_recipient(tx, caller, replace(request, owner=caller.owner))
    store.insert(tx, request)
    if creation.goods is not None:
        request = deliveries.begin(tx, request, creation.goods)
    request_audit.record_created(tx, request)
    # With real money, whether it can be paid depends on the accounts of its owner.
    return request if caller.policy.test_money else find_own(tx, caller, request.id)


def edit(tx: Transaction, caller: Caller, request_id: str, edited: Edit) -> PaymentRequest:
    """Change the fields that the edit names, all of them or none.

    Raises NotFound, InvalidBody, EmailUnavailable, NotLimited, NotEnoughUnits and BuyersWait.
    """
    _check(caller, edited.webhook_url, edited.email, edited.redirect_url)
    store.lock(tx, request_id)
    request = find_own(tx, caller, request_id)
    unit_moves.return_lapsed(tx, request_id, caller.now)
    if edited.decrease:
        unit_moves.make_room(tx, request_id, edited.decrease)
    changed = changes.edit(request, edited)
    if edited.email is not changes.KEEP:
        changed = _with_recipient(tx, caller, changed)
    if not store.write_edit(tx, request, changed, edited.decrease):
        raise NotEnoughUnits
    goods = edited.goods
    delivers = not isinstance(goods, changes.Keep) and deliveries.change(
        tx, request, goods, caller.now
    )
    after = find_own(tx, caller, request_id)
    if delivers and caller.policy.mails:
        got = range(served(request) + 1, served(after) + 1)  # they waited for codes until now
        served_payers.queue_served(tx, after, got, caller.now)
    request_audit.record_edited(tx, request, after, caller.now, delivers=delivers)
    return after


def add_codes(
    tx: Transaction,
    caller: Caller,
    request_id: str,
    listed: Sequence[str],
    key: CallKey | None = None,
) -> AddedCodes:
    """Add the codes that a request does not have yet, and tell who waited for them by email.

    Those who bought from a deleted request still wait. The call's `key` keeps their number for
    repeats. Raises NotFound, NoCodes and InvalidBody.
    """
    store.lock(tx, request_id)
    request = _find_own_ever(tx, caller, request_id)
    added = deliveries.add_codes(tx, request, listed)
    if caller.policy.mails:
        served_payers.queue_served(tx, request, added.served, caller.now)
    request_audit.record_codes(tx, request, added.added, caller.now)
    idempotency.keep(tx, key, str(added.added))
    return added


def count_added(tx: Transaction, caller: Caller, request_id: str, added: int) -> AddedCodes:
    """Return the codes of a request to which so many were added before. Raises NotFound."""
    counts = count_codes(_find_own_ever(tx, caller, request_id))
    return deliveries.AddedCodes(counts, added, range(0))


def delete(tx: Transaction, caller: Caller, request_id: str) -> None:
    """Delete a request for good. Raises NotFound if the application has none of this id."""
    store.lock(tx, request_id)
    request = find_own(tx, caller, request_id)
    store.delete(tx, request_id, caller.now)
    deliveries.end(tx, request_id, caller.now)
    request_audit.record_deleted(tx, request, caller.now)


def _with_recipient(tx: Transaction, caller: Caller, request: PaymentRequest) -> PaymentRequest:
    return replace(
        request,
        recipient=recipient_consent.find_or_ask(tx, request, caller.now, confirms=caller.confirms),
    )


def find_own(tx: Transaction, caller: Caller, request_id: str) -> PaymentRequest:
    """Return the application's request. Raises NotFound."""
    request = store.find_of_app(tx, caller.app_id, request_id, caller.now)
    if request is None:
        raise NotFound
    return request


def _find_own_ever(tx: Transaction, caller: Caller, request_id: str) -> PaymentRequest:
    """Return the application's request, also a deleted one. Raises NotFound."""
    request = store.find_ever(tx, request_id, caller.now)
    if request is None or request.app_id != caller.app_id:
        raise NotFound
    return request


def _check(caller: Caller, webhook: object, email: object, redirect: object) -> None:
    """Check the addresses of a body. Raises InvalidBody and EmailUnavailable."""
    if isinstance(webhook, str):
        _check_webhook(caller, webhook)
    if isinstance(redirect, str):
        _check_redirect(caller, redirect)
    if isinstance(email, str) and not caller.policy.mails:
        raise EmailUnavailable(info=[FieldProblem("notifications.email", "is not available")])


def _check_owner(caller: Caller, terms: Terms) -> None:
    """Refuse a receiver that names payout accounts of anyone but the caller's seller.

    Test money is no exception: the kind of money may change after the create. An application that
    vouches for its sellers need not name one.
    """
    for place, receiver in enumerate(terms.receivers):
        named = PAYOUT.fullmatch(receiver.destination)
        if named and named[1] != caller.owner and (caller.owner or caller.confirms):
            field = f"receivers.{place}.destination"
            raise changes.invalid_field(field, "names the payout accounts of another owner")


def _check_price(exchange: Exchange, terms: Terms) -> None:
    """Refuse a price or share that rounds to nothing in the instrument currency.

    Where the payer chooses, it is the least that can be chosen.
    """
    least = Order(terms.choice.minimum if terms.choice else None).terms(terms)
    try:
        rate = exchange.rate(terms.currency, terms.instrument)
        shares = quote.quote(least, rate).shares
        place = shares.index(0) if 0 in shares else None
        if terms.choice and len(shares) > 1:
            place = quote.unsure_share(terms, least.amount, rate)
    except MoneyError as error:
        raise changes.invalid_field("denominationCurrencyCode", str(error)) from None
    if place is not None:
        field = f"receivers.{place}.sendAmount"
        raise changes.invalid_field(field, f"comes to nothing in {terms.instrument}")


def _check_real_money(terms: Terms) -> None:
    """Refuse what real money can't do: it goes to one receiver, in its price's currency or BTC.

    The price is not converted here: no request fails because of a rate that is unknown today.
    """
    if len(terms.receivers) > 1:
        raise changes.invalid_field("receivers", "must be one: real money goes to one account")
    if terms.instrument not in {terms.currency, *CONVERTED}:
        others = ", ".join((terms.currency, *CONVERTED))
        raise changes.invalid_field("instrumentCurrencyCode", f"must be one of {others}")


def _check_webhook(caller: Caller, url: str) -> None:
    try:
        host = check_url(url, caller.policy.allow)
    except ForbiddenAddress as error:
        raise changes.invalid_field(WEBHOOK_FIELD, str(error)) from None
    if host == INTERNAL_HOST and caller.app_id != caller.policy.embedded_app_id:
        message = f"Webhooks may not go to {INTERNAL_HOST}: it is the bot's own"
        raise changes.invalid_field(WEBHOOK_FIELD, message)


def _check_redirect(caller: Caller, url: str) -> None:
    try:
        links.check_app(url, caller.policy.schemes)
    except ValueError as error:
        raise changes.invalid_field("redirectUrl", str(error)) from None
